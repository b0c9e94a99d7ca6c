/* ticks.c - what the watcher's thread does about once a second. */
#include "base/clock.h"
#include "base/log.h"
#include "db/db.h"
#include "engine/database_clock.h"
#include "engine/engine_state.h"
#include "engine/feature.h"
#include "engine/parts.h"
#include "engine/watcher.h"
#include "engine/writer.h"

/* How long a tick may wait for a distributed database of which a server hangs: the watcher has to
 * ask its own server again before that counts as not answering. */
enum { HUNG_S = 3 };

static int probe_run(struct reader_job *job, struct db *db, struct error *err)
{
    (void)job;
    (void)db;
    (void)err;
    return 0;
}

static void probe_done(struct reader_job *job, const struct error *err)
{
    struct engine *e = CONTAINER_OF(job, struct engine, probe);

    (void)err;
    atomic_store(&e->probes, false);
}

/* Asks the primary how far it is and, if the standby was not good enough, tries that again with a
 * read of nothing, so that no caller has to wait for a connection. */
static void look_at_standby(struct engine *e)
{
    struct error err = { 0 };

    if (e->standby_readers == NULL)
        return;
    if (standby_ask(&e->standby, e->watch_db, &err) != 0) /* then its last answer gets old */
        log_write(LOG_INFO, "standby", "the primary does not say how far it is: %s", err.text);
    if (standby_is_usable(&e->standby) || atomic_exchange(&e->probes, true))
        return;
    e->probe = (struct reader_job){ .run = probe_run, .done = probe_done };
    if (readers_submit(e->standby_readers, &e->probe, NULL) != 0)
        atomic_store(&e->probes, false);
}

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
        look_at_standby(e);
    if (timed && engine_look_at_parts(e, &trouble) != 0)
        log_write(LOG_INFO, "database", "does not say which server has whom: %s", trouble.text);
    space_measure(&e->space);
    for (size_t f = 0; f < e->n_opened; f++) {
        tick_feature(e, e->options.features[f], &tick);
        if (mend_connection(e, &asked)) /* those after it do without reads over all tenants now */
            tick = engine_now(e, false);
    }
}
