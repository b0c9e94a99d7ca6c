/* feature.c - the threads of exports. */
#include "engine/feature.h"

#include "base/budget.h"
#include "base/clock.h"
#include "cli/settings.h"
#include "engine/engine.h"
#include "features/cost/prices.h"
#include "features/events/event_log.h"
#include "features/export/exports.h"
#include "features/export/routes.h"
#include "features/features.h"

struct exports *export_exports(const struct engine *e)
{
    return engine_state(e, &export_feature);
}

static int export_open(struct engine *e, void **ret_state, struct error *err)
{
    const struct settings *settings = engine_settings(e);
    const struct exports_options options = {
        .database = engine_database(e),
        .events = events_log(e),
        .prices = cost_prices(e),
        .max_us = 3600 * (int64_t)USEC_PER_SEC, /* then it is cut off */
    };
    struct budgets *budgets = engine_budgets(e);

    (void)err;
    budgets->service_level.max[BUDGET_EXPORTS] = settings->max_exports;
    budgets->tenant_level.max[BUDGET_EXPORTS] =
        settings->max_exports < 8 ? 1 : settings->max_exports / 4;
    *ret_state = exports_new(&options);
    return 0;
}

static int export_tick(struct engine *e, const struct tick *tick, struct error *err)
{
    (void)tick;
    (void)err;
    exports_check(export_exports(e));
    return 0;
}

/* Those that run are ended before they are whole. */
static void export_stop(struct engine *e)
{
    exports_stop(export_exports(e));
}

static void export_close(void *state)
{
    exports_free(state);
}

const struct feature export_feature = {
    .name = "export",
    .about = "All data of a time range, as NDJSON or CSV.",
    .routes = { export_routes },
    .commands = { export_commands },
    .open = export_open,
    .tick = export_tick,
    .stop = export_stop,
    .close = export_close,
};
