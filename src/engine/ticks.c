/* ticks.c - what the watcher's thread does about once a second. */
#include "base/clock.h"
#include "base/log.h"
#include "db/db.h"
#include "engine/database_clock.h"
#include "engine/engine_state.h"
#include "engine/feature.h"
#include "engine/job_cost.h"
#include "engine/parts.h"
#include "engine/watcher.h"
#include "engine/writer.h"

/* How long a tick may wait for a distributed database of which a server hangs: the watcher has to
 * ask its own server again before that counts as not answering. */
enum { HUNG_S = 3 };

/* How often a commit is tried, and how long it may take. */
enum { TRIAL_S = 2, COMMIT_S = 5 };

int engine_look_at_parts(struct engine *e, struct error *err)
{
    struct parts parts;
    int r;

    if (!e->options.serves || !db_is_distributed(e->watch_db))
        return 0;
    r = parts_load(e->watch_db, &parts, err);
    if (r == 0)
        writer_set_parts(e->writer, &parts);
    parts_done(&parts);
    return r;
}

/* If a server that has some tenants does not even answer a small question, it hangs, and reads over
 * all tenants have to wait until it is back. If all do, a read took too long. */
static void look_for_hung(struct engine *e)
{
    struct error err = { 0 };

    if (writer_probe(e->writer, e->watch_db, 0, PARTS_PROBE_US) == PART_HUNG)
        writer_note_hung(e->writer);
    if (db_is_silent(e->watch_db) && db_ping(e->watch_db, &err) != 0) /* by that question */
        log_write(LOG_INFO, "database", "does not answer the watch again: %s", err.text);
}

/* Something of a tick was not answered. If the server of this connection answers, it says so, and
 * once in a tick, since it may take seconds, the others are asked. */
static bool mend_connection(struct engine *e, bool *asked)
{
    if (!db_is_distributed(e->watch_db) || !db_is_silent(e->watch_db) ||
        db_ping(e->watch_db, NULL) != 0)
        return false;
    watcher_note_answer(e->watcher);
    if (!*asked)
        look_for_hung(e);
    *asked = true;
    return true;
}

bool engine_commits_nothing(const struct engine *e)
{
    const int64_t doubted_us = atomic_load(&e->doubted_us);

    return doubted_us != 0 && clock_raw_us() - doubted_us > (int64_t)COMMIT_S * USEC_PER_SEC;
}

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

    if (err == NULL || err->code == ERR_INTERNAL) /* a server that refuses it is not judged */
        atomic_store(&e->doubted_us, 0);
    atomic_store(&e->tries, false);
}

/* A node that has nothing to store would not find out that no commit succeeds: without its
 * synchronous standby a server lets those wait that have written something, and reads go on. A job
 * of a tenant says less: it may have written nothing. It has no limit, since the session of a
 * connection that is given up stays with the server until its commit succeeds. */
static void try_to_commit(struct engine *e)
{
    static struct job_cost cost = JOB_COST(50);
    const int64_t now_us = clock_raw_us();

    if (!e->options.serves || db_is_distributed(e->watch_db) || space_is_full(&e->space) ||
        now_us - e->tried_us < (int64_t)TRIAL_S * USEC_PER_SEC || atomic_exchange(&e->tries, true))
        return;
    e->tried_us = now_us;
    if (atomic_load(&e->doubted_us) == 0)
        atomic_store(&e->doubted_us, now_us);
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

static void tick_feature(struct engine *e, const struct feature *feature, const struct tick *tick)
{
    const bool distributed = db_is_distributed(e->watch_db);
    struct error err = { 0 };

    if (feature->tick == NULL)
        return;
    if (distributed)
        db_set_patience(e->watch_db, clock_raw_us() + (int64_t)HUNG_S * USEC_PER_SEC);
    if (feature->tick(e, tick, &err) != 0)
        log_write(LOG_WARNING, feature->name, "tick failed: %s", err.text);
    if (distributed)
        db_set_patience(e->watch_db, 0);
}

void engine_tick(void *ctx, bool healthy)
{
    struct engine *e = ctx;
    const bool timed = e->shared && healthy && database_clock_learn(e->watch_db, NULL) == 0;
    const bool whole = (timed || !e->shared) && !writer_hangs(e->writer);
    struct tick tick = engine_now(e, healthy && whole);
    struct error trouble = { 0 };
    bool asked = false;

    if (timed)
        try_to_commit(e);
    if (timed && engine_look_at_parts(e, &trouble) != 0)
        log_write(LOG_INFO, "database", "does not say which server has whom: %s", trouble.text);
    space_measure(&e->space);
    for (size_t f = 0; f < e->n_opened; f++) {
        tick_feature(e, e->options.features[f], &tick);
        if (mend_connection(e, &asked)) /* those after it do without reads over all tenants now */
            tick = engine_now(e, false);
    }
}
