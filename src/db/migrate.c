/* migrate.c - the schema's version is a row in the database; each step commits with its number.
 *
 * Nodes of the previous version keep running meanwhile. So a step gives up waiting for a lock after
 * LOCK_TIMEOUT, because other users of the table, such as ingest, queue behind it; it is retried
 * after they had their turn. Around a retry the nodes are asked to begin no transaction: with Citus
 * a step needs the locks of all shards at once, and would never get them while reports are being
 * stored. PostgreSQL cancels an autovacuum that has blocked a session for a second
 * (deadlock_timeout): if one is running, a step waits a little longer than that.
 *
 * An index of a large table is built without blocking its writers (CONCURRENTLY), which PostgreSQL
 * does only outside of a transaction. Such a step first drops the leftovers of an interrupted
 * attempt, so it can be repeated until its number is stored. The building session holds an advisory
 * lock; other processes wait until it is released.
 */
#include "db/migrate.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "db/db.h"
#include "db/distribution.h"
#include "db/servers.h"

#define LOCK_TIMEOUT        "500ms"
#define LOCK_TIMEOUT_VACUUM "1300ms"

enum {
    TURN_US = 500000,       /* between two tries */
    PAUSE_US = 100000,      /* for nodes to receive the NOTIFY and end their transactions */
    PATIENCE_US = 60000000, /* how long a step is retried while others hold locks */
    SAY_US = 60000000,      /* between two log lines about the same wait */
};

/* clang-format off */
DB_QUERY(create_table,
    "CREATE TABLE IF NOT EXISTS schema_version ("
    " number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL,"
    " oldest INTEGER NOT NULL)"); /* programs with fewer migrations cannot use the database */
DB_QUERY(select_newest, "SELECT COALESCE(MAX(number), 0) FROM schema_version");
DB_QUERY(insert_version,
    "INSERT INTO schema_version (number, name, applied_at, oldest) VALUES ($1, $2, $3, $4)");
DB_QUERY(select_oldest, "SELECT MAX(oldest) FROM schema_version WHERE number > $1");
static const struct db_query count_tables = {
    .postgres = "SELECT COUNT(to_regclass('schema_version'))",
};
static const struct db_query count_moved = {
    .postgres = "SELECT COUNT(*) FROM pg_catalog.pg_dist_partition"
                " WHERE logicalrelid = to_regclass('schema_version')",
};
/* Vacuums, and little else, hold this lock. */
static const struct db_query limit_waits = {
    .sqlite = "SELECT 1",
    .postgres = "SELECT set_config('lock_timeout', CASE WHEN EXISTS (SELECT 1 FROM pg_locks"
                " WHERE granted AND locktype = 'relation' AND mode = 'ShareUpdateExclusiveLock'"
                " AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"
                " THEN '" LOCK_TIMEOUT_VACUUM "' ELSE '" LOCK_TIMEOUT "' END, true)",
};
/* SQLite's write transaction is lock enough; PostgreSQL takes one that ends with the transaction. */
static const struct db_query take_lock = {
    .sqlite = "SELECT 1",
    .postgres = "SELECT pg_advisory_xact_lock(7211980251)",
};
/* Held by the session that builds an index. Others do not wait for it in a statement: the build
 * would wait for that statement to end. */
static const struct db_query try_build_lock = {
    .sqlite = "SELECT 1",
    .postgres = "SELECT CAST(pg_try_advisory_lock(7211980252) AS INTEGER)",
};
static const struct db_query release_build_lock = {
    .sqlite = "SELECT 1",
    .postgres = "SELECT pg_advisory_unlock(7211980252)",
};
/* clang-format on */

static const struct timespec turn = { .tv_nsec = TURN_US * 1000L };

static bool is_postgres(const struct db *db)
{
    return strcmp(db_dialect(db), "postgres") == 0;
}

/* Is it a step that runs outside of a transaction? */
static bool is_built_beside(const struct db *db, const struct migration *m)
{
    return is_postgres(db) && strstr(m->postgres, " CONCURRENTLY ") != NULL;
}

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

/* May this program use a database of version `newest`? It may if every newer step allows that
 * (`oldest`). */
static int check_known(struct db *db, int64_t newest, struct error *err)
{
    int64_t oldest = newest;

    if (newest <= (int64_t)n_migrations)
        return 0;
    if (db_exec(db, &select_oldest, DB_ARGS(db_int((int64_t)n_migrations)), db_read_int, &oldest,
                err) != 0)
        return -1;
    if (oldest <= (int64_t)n_migrations)
        return 0;
    return err_set(err, ERR_SCHEMA,
                   "the database has schema version %lld, from a newer muster; this one supports "
                   "versions up to %zu: run the newer muster",
                   (long long)newest, n_migrations);
}

static int record(struct db *db, const struct migration *m, struct error *err)
{
    const int oldest = is_postgres(db) ? m->postgres_oldest : m->sqlite_oldest;

    return db_run(db, &insert_version,
                  DB_ARGS(db_int(m->number), db_text(str_of(m->name)), db_int(clock_wall_us()),
                          db_int(oldest)),
                  err);
}

static int fail(const struct migration *m, struct error *err)
{
    err_wrap(err, "migration %04d_%s", m->number, m->name);
    return -1;
}

/* An index that is built beside others waits for each transaction that began before it, however
 * long that lasts, and meanwhile keeps no writer waiting. Given up, it would have to begin again.
 */
static int build_indexes(struct db *db, const struct migration *m, struct error *err)
{
    int r;

    if (db_script(db, "SET lock_timeout = 0", err) != 0)
        return -1;
    r = db_script(db, m->postgres, err);
    /* the value that each session begins with (db/postgres/postgres.h) */
    if (db_script(db, "SET lock_timeout = '10s'", r == 0 ? err : NULL) != 0)
        r = -1;
    return r;
}

/* Builds the step's indexes and stores its number, unless another process did meanwhile. */
static int build(struct db *db, const struct migration *m, struct error *err)
{
    int64_t newest = 0;

    if (db_exec(db, &select_newest, DB_NO_ARGS, db_read_int, &newest, err) != 0)
        return -1;
    if (newest >= m->number)
        return 0;
    if (build_indexes(db, m, err) != 0)
        return fail(m, err);
    if (begin_locked(db, err) != 0)
        return -1;
    if (record(db, m, err) == 0 && db_commit(db, err) == 0)
        return 0;
    db_rollback(db);
    return -1;
}

enum outcome {
    STEP_NONE, /* there is no other step */
    STEP_APPLIED,
    STEP_ELSEWHERE, /* another process builds its index; or, after a failure, migrates */
};

static int build_beside(struct db *db, const struct migration *m, enum outcome *ret,
                        struct error *err)
{
    int64_t mine = 0;
    int r;

    if (db_exec(db, &try_build_lock, DB_NO_ARGS, db_read_int, &mine, err) != 0)
        return -1;
    *ret = mine != 0 ? STEP_APPLIED : STEP_ELSEWHERE;
    if (mine == 0)
        return 0;
    r = build(db, m, err);
    if (db_run(db, &release_build_lock, DB_NO_ARGS, r == 0 ? err : NULL) != 0)
        r = -1;
    return r;
}

/* Applies the step after the newest one. */
static int apply_next(struct db *db, enum outcome *ret, struct error *err)
{
    const struct migration *m;
    int64_t newest = 0;
    size_t moved;
    int r = -1;

    *ret = STEP_ELSEWHERE;
    if (begin_locked(db, err) != 0)
        return -1;
    *ret = STEP_NONE;
    if (db_exec(db, &select_newest, DB_NO_ARGS, db_read_int, &newest, err) != 0 ||
        check_known(db, newest, err) != 0)
        goto out;
    if (newest >= (int64_t)n_migrations) {
        db_rollback(db);
        return 0;
    }
    m = &migrations[newest];
    assert(m->number == newest + 1);
    if (is_built_beside(db, m)) {
        db_rollback(db);
        return build_beside(db, m, ret, err);
    }
    if (db_is_distributed(db) && distribution_prepare(db, err) != 0)
        goto out;
    if (db_run(db, &limit_waits, DB_NO_ARGS, err) != 0 ||
        db_script(db, is_postgres(db) ? m->postgres : m->sqlite, err) != 0) {
        (void)fail(m, err);
        goto out;
    }
    /* New tables are distributed before anyone uses them. */
    if (db_is_distributed(db) && distribution_run(db, &moved, err) != 0)
        goto out;
    if (record(db, m, err) != 0)
        goto out;
    r = db_commit(db, err);
    *ret = STEP_APPLIED;
out:
    if (r != 0)
        db_rollback(db);
    return r;
}

static int create_version_table(struct db *db, struct error *err)
{
    if (begin_locked(db, err) != 0)
        return -1;
    if (db_run(db, &create_table, DB_NO_ARGS, err) == 0 && db_commit(db, err) == 0)
        return 0;
    db_rollback(db);
    return -1;
}

/* A hint: a node that does not receive it keeps writing. */
static void tell(struct db *db, const char *text)
{
    struct error why = { 0 };

    if (db_notify(db, str_of(text), &why) != 0)
        log_write(LOG_INFO, "migrate", "could not notify the nodes: %s", why.text);
}

/* Applies the step after the newest one; `pauses`: while nodes pause. */
static int try_next(struct db *db, bool pauses, enum outcome *ret, struct error *err)
{
    static const struct timespec heard = { .tv_nsec = PAUSE_US * 1000L };
    int r;

    if (!pauses)
        return apply_next(db, ret, err);
    tell(db, MIGRATE_BEGINS);
    (void)nanosleep(&heard, NULL);
    r = apply_next(db, ret, err);
    tell(db, MIGRATE_ENDS);
    return r;
}

/* The same, retried for up to PATIENCE_US while others hold its locks. While another process builds
 * an index, waits without a limit until that has ended or its process has gone; nodes are not
 * paused for that wait. */
static int apply_in_turn(struct db *db, enum outcome *ret, struct error *err)
{
    int64_t began_us = clock_raw_us(), said_us = 0;
    bool pauses = false;

    for (;;) {
        struct error why = { 0 };
        const int r = try_next(db, pauses, ret, &why);
        const bool busy = r != 0 && is_postgres(db) && why.code == ERR_BUSY;
        const int64_t now_us = clock_raw_us();

        if (r == 0 && *ret != STEP_ELSEWHERE)
            return 0;
        if (r == 0)
            began_us = now_us;
        else if (!busy || now_us - began_us > PATIENCE_US)
            return err_set(
                err, why.code, "%s%s", why.text,
                busy ? ": others, such as reports, a dump or a vacuum of the database, hold a lock"
                     : "");
        if (busy) {
            log_write(LOG_INFO, "migrate", "waiting for a lock: %s", why.text);
        } else if (said_us == 0 || now_us - said_us >= SAY_US) {
            log_write(LOG_INFO, "migrate", "waiting for another process that builds an index");
            said_us = now_us;
        }
        pauses = busy && *ret != STEP_ELSEWHERE;
        (void)nanosleep(&turn, NULL);
    }
}

static int migrate_here(struct db *db, struct error *err)
{
    enum outcome outcome;

    if (create_version_table(db, err) != 0)
        return -1;
    do {
        if (apply_in_turn(db, &outcome, err) != 0)
            return -1;
    } while (outcome == STEP_APPLIED);
    return 0;
}

/* A worker of Citus refuses changes of distributed tables, and what it creates is its alone. */
static int migrate_on_coordinator(struct db *db, struct error *err)
{
    struct error why = { 0 };
    struct db *coordinator;
    int64_t newest = 0;
    int r;

    if (db_exec(db, &select_newest, DB_NO_ARGS, db_read_int, &newest, err) != 0 ||
        check_known(db, newest, err) != 0)
        return -1;
    if (newest >= (int64_t)n_migrations)
        return 0;
    if (db_open_coordinator(db, DB_WRITER, &coordinator, &why) != 0)
        return err_set(
            err, why.code,
            "start a node with the coordinator's URL first: the database must be migrated "
            "there, and from this worker's it cannot be: %s",
            why.text);
    r = migrate_here(coordinator, err);
    db_close(coordinator);
    if (r != 0 || db_exec(db, &select_newest, DB_NO_ARGS, db_read_int, &newest, err) != 0)
        return -1;
    if (newest >= (int64_t)n_migrations)
        return 0;
    return err_set(err, ERR_SCHEMA,
                   "the coordinator that this worker names is that of another database: start a "
                   "node with the coordinator's URL first");
}

int store_migrate(struct db *db, struct error *err)
{
    int64_t tables = 1, moved = 0;

    if (!db_is_worker(db))
        return migrate_here(db, err);
    if (db_is_distributed(db))
        return migrate_on_coordinator(db, err);
    if (db_exec(db, &count_moved, DB_NO_ARGS, db_read_int, &moved, err) != 0 ||
        db_exec(db, &count_tables, DB_NO_ARGS, db_read_int, &tables, err) != 0)
        return -1;
    if (moved > 0)
        return err_set(err, ERR_SCHEMA,
                       "the tables are being distributed: start when `muster cluster enable` has "
                       "ended, or run it again if it broke off");
    if (tables == 0)
        return err_set(err, ERR_SCHEMA,
                       "this server is a worker of Citus, and the tables are not distributed: run "
                       "`muster cluster enable` with the coordinator's URL");
    return migrate_here(db, err); /* a database of the worker's own */
}

int store_schema_check(struct db *db, struct error *err)
{
    struct error why = { 0 };
    int64_t newest = 0;

    if (db_exec(db, &select_newest, DB_NO_ARGS, db_read_int, &newest, &why) != 0 &&
        (why.code == ERR_UNAVAILABLE || why.code == ERR_BUSY)) /* it did not say */
        return err_set(err, why.code, "%s", why.text);
    if (newest < 1)
        return err_set(err, ERR_SCHEMA, "not a muster database");
    return check_known(db, newest, err);
}
