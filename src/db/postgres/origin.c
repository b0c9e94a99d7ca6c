/* origin.c - which history the server of a connection has, and whether it goes on elsewhere.
 *
 * When a standby takes over, its timeline grows. Should the old primary come back and still take
 * writes, because no one has fenced it, what it confirms will be lost. A process that has been
 * connected to the new one knows, and uses the old one no longer, by any of its connections.
 */
#include <stdatomic.h>

#include "base/clock.h"
#include "base/log.h"
#include "db/postgres/postgres.h"

enum { SYSTEMS_MAX = 16 }; /* a process has one, with Citus a few */

/* The latest timeline that this process has seen of each system. */
static struct {
    _Atomic int64_t system; /* 0: free */
    _Atomic int64_t timeline;
} latest[SYSTEMS_MAX];

/* NULL: there are too many. */
static _Atomic int64_t *latest_of(int64_t system)
{
    for (size_t i = 0; i < SYSTEMS_MAX; i++) {
        int64_t found = 0;

        if (atomic_compare_exchange_strong(&latest[i].system, &found, system) || found == system)
            return &latest[i].timeline;
    }
    return NULL;
}

/* The servers of Citus may be copies of one, which then all have its identifier. */
static int64_t system_of(const struct postgres *pg, int64_t identifier)
{
    return (int64_t)((uint64_t)identifier ^ (uint64_t)pg->group * 0x9e3779b97f4a7c15U);
}

static bool read_origin(void *ctx, const struct db_row *row)
{
    struct postgres *pg = ctx;
    struct db_origin *origin = &pg->base.origin;
    int64_t known;

    *origin = (struct db_origin){ .system = system_of(pg, db_get_int(row, 0)),
                                  .timeline = db_get_int(row, 1),
                                  .started = db_get_int(row, 2),
                                  .database = db_get_int(row, 3) };
    pg->latest = pg->mode == DB_MAINTENANCE ? NULL : latest_of(origin->system);
    known = pg->latest == NULL ? INT64_MAX : atomic_load(pg->latest);
    while (known < origin->timeline &&
           !atomic_compare_exchange_weak(pg->latest, &known, origin->timeline))
        continue;
    return false;
}

/* Once a minute: the operator has to know, and each attempt to connect fails so. */
static void log_refusal(const char *text)
{
    static _Atomic int64_t from_us;
    const int64_t now_us = clock_raw_us();
    int64_t from = atomic_load(&from_us);

    if (now_us >= from &&
        atomic_compare_exchange_strong(&from_us, &from, now_us + 60 * (int64_t)USEC_PER_SEC))
        log_write(LOG_ERROR, "database", "%s", text);
}

int db_postgres_check_origin(struct postgres *pg, struct error *err)
{
    struct error refusal;

    if (pg->latest == NULL || pg->base.origin.timeline >= atomic_load(pg->latest))
        return 0;
    db_postgres_drop(pg);
    err_set(&refusal, ERR_UNAVAILABLE,
            "the database leads to a server whose place a standby took (timeline %lld after "
            "%lld): stop that server; if it was restored on purpose, restart this node",
            (long long)pg->base.origin.timeline, (long long)atomic_load(pg->latest));
    log_refusal(refusal.text);
    return err_set(err, refusal.code, "%s", refusal.text);
}

/* The timeline is in the name of the log that is written now; the control file learns of a new one
 * with the next checkpoint only. */
#define SELECT_ORIGIN                                                                              \
    "SELECT (SELECT system_identifier FROM pg_control_system()),"                                  \
    " CASE WHEN pg_is_in_recovery() THEN 0 ELSE CAST(CAST('x' ||"                                  \
    " left(pg_walfile_name(pg_current_wal_lsn()), 8) AS BIT(32)) AS BIGINT) END,"                  \
    " CAST(EXTRACT(EPOCH FROM pg_postmaster_start_time()) * 1000000 AS BIGINT),"                   \
    " (SELECT CAST(oid AS BIGINT) FROM pg_database WHERE datname = current_database())"

/* A provider may have taken the right to ask for it away: then a smaller change number is the only
 * sign of a loss. */
int db_postgres_learn_origin(struct postgres *pg, struct error *err)
{
    struct error why = { 0 };

    pg->latest = NULL;
    pg->base.origin = (struct db_origin){ 0 };
    if (db_postgres_run(pg, SELECT_ORIGIN, read_origin, pg, &why) == 0)
        return db_postgres_check_origin(pg, err);
    if (pg->conn == NULL || why.code != ERR_INTERNAL) /* such as one that is too busy */
        return err_set(err, why.code, "%s", why.text);
    log_write(LOG_WARNING, "database", "does not say which history it has: %s", why.text);
    return 0;
}
