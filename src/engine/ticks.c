/* ticks.c - what the watcher's thread does about once a second. */
#include "base/clock.h"
#include "base/log.h"
#include "db/servers.h"
#include "engine/database_clock.h"
#include "engine/engine_state.h"
#include "engine/feature.h"
#include "engine/job_cost.h"
#include "engine/watcher.h"
#include "engine/writer.h"

enum { TRIAL_S = 2 }; /* how often a commit is tried */

/* A message in the server's log: it locks nothing and leaves nothing, and its commit is as much as
 * that of a report. */
static int trial_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    /* clang-format off */
    static const struct db_query say = {
        .sqlite = "SELECT 0", /* not asked */
        .postgres = "SELECT CAST(pg_logical_emit_message(true, 'muster', '') AS TEXT)",
    };
    /* clang-format on */

    (void)job;
    return db_exec(txn->db, &say, DB_NO_ARGS, NULL, NULL, err);
}

static void trial_done(struct writer_job *job, const struct error *err)
{
    struct engine *e = CONTAINER_OF(job, struct engine, trial);

    (void)err; /* a circuit breaker has noted it */
    atomic_store(&e->tries, false);
}

/* A node that has nothing to store would not find out that no commit succeeds: without its
 * synchronous standby a server lets those wait that have written something, and reads go on. */
static void try_to_commit(struct engine *e)
{
    static struct job_cost cost = JOB_COST(50);
    const int64_t now_us = clock_raw_us();

    if (!e->shared || !e->options.serves || space_is_full(&e->space) ||
        now_us - e->tried_us < (int64_t)TRIAL_S * USEC_PER_SEC || atomic_exchange(&e->tries, true))
        return;
    e->tried_us = now_us;
    e->trial = (struct writer_job){ .apply = trial_apply,
                                    .done = trial_done,
                                    .cost = &cost,
                                    .exclusive = true,
                                    .keeps_caches = true,
                                    .writes_first = true,
                                    .unbounded = true };
    if (writer_submit(e->writer, &e->trial, NULL) != 0)
        atomic_store(&e->tries, false);
}

void engine_tick(void *ctx, bool healthy)
{
    struct engine *e = ctx;
    const bool timed = e->shared && healthy && database_clock_learn(e->watch_db, NULL) == 0;
    const bool whole = (timed || !e->shared) && !db_any_is_away(e->watch_db);
    struct tick tick = engine_now(e, healthy && whole);
    struct error trouble = { 0 };

    try_to_commit(e);
    if (timed && db_learn_places(e->watch_db, &trouble) != 0)
        log_write(LOG_INFO, "database", "does not say which server has whom: %s", trouble.text);
    space_measure(&e->space);
    for (size_t f = 0; f < e->n_opened; f++) {
        const struct feature *feature = e->options.features[f];
        struct error err = { 0 };

        if (feature->tick == NULL || feature->tick(e, &tick, &err) == 0)
            continue;
        log_write(LOG_WARNING, feature->name, "tick failed: %s", err.text);
        if (err.code == ERR_UNAVAILABLE) /* those after it would wait as long */
            tick = engine_now(e, false);
    }
}
