/* migrate.c - the schema's version is a row in the database; each step commits with its number. */
#include "db/migrate.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "db/db.h"
#include "db/distribution.h"

/* clang-format off */
static const struct db_query create_table = {
    .sql = "CREATE TABLE IF NOT EXISTS schema_version ("
           " number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)",
};
static const struct db_query select_newest = {
    .sql = "SELECT COALESCE(MAX(number), 0) FROM schema_version",
};
static const struct db_query insert_version = {
    .sql = "INSERT INTO schema_version (number, name, applied_at) VALUES ($1, $2, $3)",
};
/* SQLite's write transaction is lock enough; PostgreSQL takes one that ends with the transaction. */
static const struct db_query take_lock = {
    .sqlite = "SELECT 1",
    .postgres = "SELECT pg_advisory_xact_lock(7211980251)",
};
/* clang-format on */

/* Begins a transaction that holds the migration lock. */
static int begin_locked(struct db *db, struct error *err)
{
    if (db_begin(db, err) != 0)
        return -1;
    if (db_run(db, &take_lock, DB_NO_ARGS, err) != 0) {
        db_rollback(db);
        return -1;
    }
    return 0;
}

static int check_known(int64_t newest, struct error *err)
{
    if (newest <= (int64_t)n_migrations)
        return 0;
    return err_set(err, ERR_SCHEMA,
                   "the database has schema version %lld, from a newer muster; this one supports "
                   "versions up to %zu: run the newer muster",
                   (long long)newest, n_migrations);
}

/* Applies the step after `*newest`, if there is one, and says whether it did. */
static int apply_next(struct db *db, bool *ret_applied, struct error *err)
{
    bool postgres = strcmp(db_dialect(db), "postgres") == 0;
    const struct migration *m;
    int64_t newest = 0;
    size_t moved;
    int r = -1;

    *ret_applied = false;
    if (begin_locked(db, err) != 0)
        return -1;
    if (db_exec(db, &select_newest, DB_NO_ARGS, db_read_int, &newest, err) != 0 ||
        check_known(newest, err) != 0)
        goto out;
    if (newest == (int64_t)n_migrations) {
        db_rollback(db);
        return 0;
    }
    m = &migrations[newest];
    assert(m->number == newest + 1);
    if (db_is_distributed(db) && distribution_prepare(db, err) != 0)
        goto out;
    if (db_script(db, postgres ? m->postgres : m->sqlite, err) != 0) {
        err_wrap(err, "migration %04d_%s", m->number, m->name);
        goto out;
    }
    /* New tables are distributed before anyone uses them. */
    if (db_is_distributed(db) && distribution_run(db, &moved, err) != 0)
        goto out;
    if (db_run(db, &insert_version,
               DB_ARGS(db_int(m->number), db_text(str_of(m->name)), db_int(clock_wall_us())),
               err) != 0)
        goto out;
    r = db_commit(db, err);
    *ret_applied = r == 0;
out:
    if (r != 0)
        db_rollback(db);
    return r;
}

static int create_version_table(struct db *db, struct error *err)
{
    if (begin_locked(db, err) != 0)
        return -1;
    if (db_run(db, &create_table, DB_NO_ARGS, err) != 0) {
        db_rollback(db);
        return -1;
    }
    if (db_commit(db, err) != 0) {
        db_rollback(db);
        return -1;
    }
    return 0;
}

int store_migrate(struct db *db, struct error *err)
{
    bool applied;

    if (create_version_table(db, err) != 0)
        return -1;
    do {
        if (apply_next(db, &applied, err) != 0)
            return -1;
    } while (applied);
    return 0;
}

int store_schema_check(struct db *db, struct error *err)
{
    int64_t newest = 0;

    if (db_exec(db, &select_newest, DB_NO_ARGS, db_read_int, &newest, err) != 0 || newest < 1)
        return err_set(err, ERR_SCHEMA, "not a muster database");
    return check_known(newest, err);
}
