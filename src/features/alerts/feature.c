/* feature.c - starts and ticks the alert watches, and publishes the alerts of each transaction. */
#include "engine/feature.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "features/agents/agent_cache.h"
#include "features/agents/agents.h"
#include "features/agents/directives/directives.h"
#include "features/alerts/alerts.h"
#include "features/alerts/budget_stops.h"
#include "features/alerts/failing.h"
#include "features/alerts/silence/silent_alert.h"
#include "features/alerts/watch.h"
#include "features/cost/prices.h"
#include "features/features.h"
#include "features/live/feed.h"
#include "features/metrics.h"

enum { COUNT_PERIOD_TICKS = 10 };

/* In the order of a tick. */
enum { SILENCE = 1 };
static const struct watch *const watches[] = {
    &budget_stops_watch, [SILENCE] = &silence_watch, &stuck_watch,         &threshold_watch,
    &failing_watch,      &due_messages_watch,        &closed_alerts_watch,
};

struct alerts {
    void *states[COUNT_OF(watches)]; /* NULL: this engine serves no agents */
    struct budget_stops *stops;
    unsigned ticks;       /* only the tick uses it */
    _Atomic int64_t open; /* when last counted */
};

int64_t alerts_count_open(const struct engine *e)
{
    const struct alerts *alerts = engine_state(e, &alerts_feature);

    return atomic_load(&alerts->open);
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
        const int64_t epoch_us = silence_epoch_us(alerts->states[SILENCE]);
        struct error err = { 0 };

        if ((!tick->healthy && !watches[i]->without_database) ||
            watches[i]->tick(alerts->states[i], tick, epoch_us, &err) == 0)
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
    if (alerts->states[SILENCE] != NULL)
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
        alerts->states[i] = watches[i]->begin(&env, &now);
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
        if (watches[i]->end != NULL)
            watches[i]->end(alerts->states[i]);
    budget_stops_free(alerts->stops);
    free(alerts);
}

static void alerts_txn_open(struct engine *e, struct txn *txn)
{
    (void)e;
    txn_set_part(txn, alert_notes_part, alert_notes_new());
}

static void alerts_txn_close(struct txn *txn)
{
    alert_notes_free(alert_notes_of(txn));
}

static void alerts_txn_committed(struct txn *txn)
{
    alert_notes_publish(alert_notes_of(txn), feed_of(txn));
    alert_notes_clear(alert_notes_of(txn));
}

static void alerts_txn_rolled_back(struct txn *txn)
{
    alert_notes_clear(alert_notes_of(txn));
}

const struct feature alerts_feature = {
    .name = "alerts",
    .about = "Alerts, the rules that raise them, and mutes.",
    .routes = { alert_routes, handling_routes, rule_routes },
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
