/* test_migrate_turns.c - nodes pause for a migration that waits for their locks, and for no other.
 */
#include <string.h>

#include "db/driver.h"
#include "db/migrate.h"
#include "test.h"

/* A database that has all steps but the last, and is busy for some tries of one statement. */
struct fake {
    struct db base;
    const char *busy; /* a part of the statement */
    unsigned tries;   /* that are left */
    unsigned skipped; /* before these: the first transaction is that of the table of versions */
    bool migrated;
    unsigned n_pauses, n_ends;
};

struct row {
    struct db_row base;
    int64_t number;
};

static int64_t get_int(const struct db_row *row, unsigned column)
{
    (void)column;
    return ((const struct row *)row)->number;
}

static const struct db_row_methods row_methods = { .get_int = get_int };

static int succeed(struct db *db, struct error *err)
{
    (void)db;
    (void)err;
    return 0;
}

static void rollback(struct db *db)
{
    (void)db;
}

static int ask(struct fake *fake, const char *sql, struct error *err)
{
    if (strstr(sql, fake->busy) == NULL || fake->tries == 0)
        return 0;
    if (fake->skipped > 0) {
        fake->skipped--;
        return 0;
    }
    fake->tries--;
    return err_set(err, ERR_BUSY, "told to be busy");
}

static int exec(struct db *db, const struct db_query *q, struct db_args args, db_row_fn *on_row,
                void *ctx, struct error *err)
{
    struct fake *fake = (struct fake *)db;
    const char *sql = q->postgres != NULL ? q->postgres : q->sql;
    struct row row = { { &row_methods }, 1 }; /* the lock to build an index */

    (void)args;
    if (ask(fake, sql, err) != 0)
        return -1;
    fake->migrated = fake->migrated || strstr(sql, "INSERT INTO schema_version") != NULL;
    if (strstr(sql, "MAX(number)") != NULL)
        row.number = (int64_t)n_migrations - (fake->migrated ? 0 : 1);
    if (on_row != NULL)
        (void)on_row(ctx, &row.base);
    return 0;
}

static int script(struct db *db, const char *sql, struct error *err)
{
    (void)sql;
    return ask((struct fake *)db, "script", err);
}

static int notify(struct db *db, struct str text, struct error *err)
{
    struct fake *fake = (struct fake *)db;

    (void)err;
    fake->n_pauses += str_eq_c(text, MIGRATE_BEGINS);
    fake->n_ends += str_eq_c(text, MIGRATE_ENDS);
    return 0;
}

static const struct db_driver driver = {
    .dialect = "postgres",
    .begin = succeed,
    .commit = succeed,
    .rollback = rollback,
    .exec = exec,
    .script = script,
    .notify = notify,
};

TEST(nodes_pause_for_a_migration_that_waits_for_their_locks)
{
    struct fake fake = { .base = { .driver = &driver }, .busy = "script", .tries = 1 };

    CHECK(store_migrate(&fake.base, NULL) == 0);
    CHECK(fake.migrated);
    CHECK_INT(fake.tries, 0);
    CHECK_INT(fake.n_pauses, 1);
    CHECK_INT(fake.n_ends, 1);
}

TEST(nodes_do_not_pause_for_a_migration_that_waits_for_another)
{
    struct fake fake = {
        .base = { .driver = &driver }, .busy = "pg_advisory_xact_lock", .tries = 2, .skipped = 1
    };

    CHECK(store_migrate(&fake.base, NULL) == 0);
    CHECK(fake.migrated);
    CHECK_INT(fake.tries, 0);
    CHECK_INT(fake.n_pauses, 0);
}
