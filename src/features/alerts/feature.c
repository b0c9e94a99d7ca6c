/* feature.c - starts and ticks the alert watches, and publishes the alerts of each transaction. */
#include "engine/feature.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "engine/engine.h"
#include "features/agents/agent_cache.h"
#include "features/agents/agents.h"
#include "features/agents/directives/directives.h"
#include "features/alerts/alerts.h"
#include "features/alerts/budget_stops.h"
#include "features/alerts/closed.h"
#include "features/alerts/due_messages.h"
#include "features/alerts/failing.h"
#include "features/alerts/silence/silence.h"
#include "features/alerts/silence/silent_alert.h"
#include "features/alerts/stuck.h"
#include "features/alerts/threshold_watch.h"
#include "features/cost/prices.h"
#include "features/features.h"

enum { COUNT_PERIOD_TICKS = 10 };

struct alerts {
    struct silence *silence; /* NULL, like the next five: this engine serves no agents */
    struct stuck *stuck;
    struct threshold_watch *thresholds;
    struct failing_watch *failing;
    struct due_messages *messages;
    struct closed_alerts *closed;
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

    if (store_alerts_open(engine_watch_db(e), &open, NULL) == 0)
        atomic_store(&alerts->open, open);
}

/* The parts of a tick, in their order. */
enum part { STOPS, SILENCE, STUCK, THRESHOLDS, FAILING, MESSAGES, CLOSED, N_PARTS };

static const char *const part_names[N_PARTS] = {
    "hard budgets",   "silence",           "stuck runs",    "rules with a limit",
    "failing agents", "repeated messages", "closed alerts",
};

static int run_part(struct engine *e, enum part part, const struct tick *tick, struct error *err)
{
    struct alerts *alerts = engine_state(e, &alerts_feature);

    switch (part) {
    case STOPS:
        return budget_stops_tick(alerts->stops, engine_watch_db(e), tick->raw_us, err);
    case SILENCE:
        return silence_tick(alerts->silence, tick, err);
    case STUCK:
        return stuck_tick(alerts->stuck, tick->wall_us, tick->mono_us,
                          silence_epoch_us(alerts->silence), err);
    case THRESHOLDS:
        return threshold_watch_tick(alerts->thresholds, tick->wall_us, tick->mono_us,
                                    silence_epoch_us(alerts->silence), err);
    case FAILING:
        return failing_watch_tick(alerts->failing, tick->raw_us, err);
    case MESSAGES:
        return due_messages_tick(alerts->messages, tick->wall_us, tick->raw_us, err);
    case CLOSED:
        return closed_alerts_tick(alerts->closed, tick->mono_us, err);
    case N_PARTS:
        break;
    }
    return 0;
}

/* A part that fails is logged, and does not keep the others from their work: what one tenant stored
 * must not silence the alerts of all. While the database does not answer, only silence looks: at
 * the time that passes. */
static void evaluate(struct engine *e, const struct tick *tick)
{
    bool failed = false;

    for (enum part part = 0; part < N_PARTS; part++) {
        struct error err = { 0 };

        if ((!tick->healthy && part != SILENCE) || run_part(e, part, tick, &err) == 0)
            continue;
        failed = true;
        log_write(LOG_WARNING, "alerts", "tick failed: %s: %s", part_names[part], err.text);
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
    if (alerts->silence != NULL)
        evaluate(e, tick);
    return 0;
}

static int alerts_start(struct engine *e, struct error *err)
{
    struct alerts *alerts = engine_state(e, &alerts_feature);
    const struct tick now = engine_now(e, true);
    const struct silence_options silence = { engine_watch_db(e), agents_cache(e), engine_writer(e),
                                             engine_is_shared(e) };
    const struct threshold_watch_options thresholds = { engine_readers(e), engine_writer(e),
                                                        cost_prices(e) };
    const struct closed_alerts_options closed = { engine_watch_db(e), engine_writer(e),
                                                  CLOSED_ALERTS_MAX };

    (void)err;
    count_open(e, alerts);
    if (!engine_serves(e))
        return 0;
    alerts->silence = silence_new(&silence, &now);
    alerts->stuck = stuck_new(engine_watch_db(e), engine_writer(e), now.wall_us, now.mono_us);
    alerts->thresholds = threshold_watch_new(&thresholds, now.mono_us);
    alerts->failing = failing_watch_new(engine_watch_db(e), engine_writer(e));
    alerts->messages = due_messages_new(engine_watch_db(e), engine_writer(e));
    alerts->closed = closed_alerts_new(&closed, now.mono_us);
    /* Before the first report arrives: reports must find the agents whose silence they end. A
     * failure is no reason not to start: the next tick tries again. */
    evaluate(e, &now);
    return 0;
}

static void alerts_feature_close(void *state)
{
    struct alerts *alerts = state;

    if (alerts == NULL)
        return;
    silence_free(alerts->silence);
    stuck_free(alerts->stuck);
    threshold_watch_free(alerts->thresholds);
    failing_watch_free(alerts->failing);
    due_messages_free(alerts->messages);
    closed_alerts_free(alerts->closed);
    budget_stops_free(alerts->stops);
    free(alerts);
}

static void alerts_txn_open(struct engine *e, struct txn *txn)
{
    (void)e;
    txn->notes = alert_notes_new();
}

static void alerts_txn_close(struct txn *txn)
{
    alert_notes_free(txn->notes);
}

static void alerts_txn_committed(struct txn *txn)
{
    alert_notes_publish(txn->notes, txn->feed);
    alert_notes_clear(txn->notes);
}

static void alerts_txn_rolled_back(struct txn *txn)
{
    alert_notes_clear(txn->notes);
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
