/* feature.c - starts and ticks the alert watches, and publishes the alerts of each transaction. */
#include "engine/feature.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "features/agents/agent_cache.h"
#include "features/agents/agents.h"
#include "features/agents/directives/directives.h"
#include "features/alerts/alerts.h"
#include "features/alerts/silence.h"
#include "features/alerts/watch.h"
#include "features/cost/prices.h"
#include "features/features.h"
#include "features/metrics.h"

enum { COUNT_PERIOD_TICKS = 10 };

/* In the order of a tick. */
enum { SILENCE = 1 };
static const struct watch *const watches[] = {
    &budget_stops_watch, [SILENCE] = &silence_watch, &stuck_watch,         &threshold_watch,
    &failing_watch,      &due_messages_watch,        &closed_alerts_watch,
};

struct alerts {
    struct watching *watching[COUNT_OF(watches)]; /* NULL: this engine serves no agents */
    struct budget_stops *stops;
    unsigned ticks;       /* only the tick uses it */
    _Atomic int64_t open; /* when last counted */
};

int64_t alerts_count_open(const struct engine *e)
{
    const struct alerts *alerts = engine_state(e, &alerts_feature);

    return atomic_load(&alerts->open);
}

static int watch_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct watching *w = CONTAINER_OF(job, struct watching, job);

    return w->watch->apply(w, txn, err);
}

static void watch_done(struct writer_job *job, const struct error *err)
{
    struct watching *w = CONTAINER_OF(job, struct watching, job);

    if (w->watch->done != NULL)
        w->watch->done(w, err);
    busy_end(&w->busy);
}

struct watching *watch_new(const struct watch *watch, const struct watch_env *env,
                           const struct tick *now)
{
    struct watching *w = mem_new(watch->size);

    w->env = *env;
    w->watch = watch;
    w->checked_us = now->raw_us - watch->period_s * USEC_PER_SEC;
    arena_init(&w->arena);
    if (watch->begin != NULL)
        watch->begin(w, now);
    return w;
}

void watch_free(struct watching *w)
{
    if (w == NULL)
        return;
    if (w->watch->end != NULL)
        w->watch->end(w);
    arena_done(&w->arena);
    free(w);
}

int watch_tick(struct watching *w, const struct tick *now, int64_t epoch_us, struct error *err)
{
    const struct watch *watch = w->watch;

    w->epoch_us = epoch_us;
    if (watch->tick != NULL)
        return watch->tick(w, now, err);
    if (!now->healthy || now->raw_us - w->checked_us < watch->period_s * USEC_PER_SEC ||
        !busy_begin(&w->busy))
        return 0;
    w->checked_us = now->raw_us;
    w->job = (struct writer_job){ .apply = watch_apply, .done = watch_done, .unbounded = true };
    arena_reset(&w->arena);
    if (watch->find(w, now, err) != 0) {
        busy_end(&w->busy);
        return -1;
    }
    if (w->job.events == 0) {
        busy_end(&w->busy);
        return 0;
    }
    if (writer_submit(w->env.writer, &w->job, err) == 0)
        return 0;
    watch_done(&w->job, err);
    return -1;
}

static int alerts_feature_open(struct engine *e, void **ret_state, struct error *err)
{
    struct alerts *alerts = NEW(struct alerts);

    (void)err;
    alerts->stops = budget_stops_new();
    agent_cache_on_sightings(agents_cache(e), silent_alert_on_sightings);
    directives_cache_on_pull(agents_directives(e), budget_stops_find, alerts->stops);
    *ret_state = alerts;
    return 0;
}

static void count_open(struct engine *e, struct alerts *alerts)
{
    int64_t open;

    if (alert_store_count_open(engine_watch_db(e), &open, NULL) == 0)
        atomic_store(&alerts->open, open);
}

/* A watch that fails is logged, and does not keep the others from their work: what one tenant
 * stored must not silence the alerts of all. */
static void tick_watches(struct alerts *alerts, const struct tick *tick)
{
    bool failed = false;

    for (size_t i = 0; i < COUNT_OF(watches); i++) {
        const int64_t epoch_us = silence_epoch_us(alerts->watching[SILENCE]);
        struct error err = { 0 };

        if (watch_tick(alerts->watching[i], tick, epoch_us, &err) == 0)
            continue;
        failed = true;
        log_write(LOG_WARNING, "alerts", "tick failed: %s: %s", watches[i]->name, err.text);
    }
    if (tick->healthy && !failed)
        metric_add(METRIC_WATCH_LOOKS, 1);
}

static int alerts_tick(struct engine *e, const struct tick *tick, struct error *err)
{
    struct alerts *alerts = engine_state(e, &alerts_feature);

    (void)err;
    if (alerts->ticks++ % COUNT_PERIOD_TICKS == 0 && tick->healthy)
        count_open(e, alerts);
    if (alerts->watching[SILENCE] != NULL)
        tick_watches(alerts, tick);
    return 0;
}

static int alerts_start(struct engine *e, struct error *err)
{
    struct alerts *alerts = engine_state(e, &alerts_feature);
    const struct tick now = engine_now(e, true);
    const struct watch_env env = { .db = engine_watch_db(e),
                                   .readers = engine_readers(e),
                                   .writer = engine_writer(e),
                                   .agents = agents_cache(e),
                                   .prices = cost_prices(e),
                                   .stops = alerts->stops,
                                   .shared = engine_is_shared(e) };

    (void)err;
    count_open(e, alerts);
    if (!engine_serves(e))
        return 0;
    for (size_t i = 0; i < COUNT_OF(watches); i++)
        alerts->watching[i] = watch_new(watches[i], &env, &now);
    /* Before the first report arrives: reports must find the agents whose silence they end. A
     * failure is no reason not to start: the next tick tries again. */
    tick_watches(alerts, &now);
    return 0;
}

static void alerts_feature_close(void *state)
{
    struct alerts *alerts = state;

    if (alerts == NULL)
        return;
    for (size_t i = 0; i < COUNT_OF(watches); i++)
        watch_free(alerts->watching[i]);
    budget_stops_free(alerts->stops);
    free(alerts);
}

const struct feature alerts_feature = {
    .name = "alerts",
    .about = "Alerts, the rules that raise them, and mutes.",
    .routes = { alert_routes, rule_routes },
    .commands = { alert_commands },
    .open = alerts_feature_open,
    .start = alerts_start,
    .tick = alerts_tick,
    .close = alerts_feature_close,
    .txn = { .open = alerts_txn_open,
             .close = alerts_txn_close,
             .prepare = failures_alert,
             .committed = alerts_txn_committed,
             .rolled_back = alerts_txn_rolled_back },
};
