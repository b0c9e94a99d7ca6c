/* feature.c - exports: all rows of a time range, sent while they are read. */
#include "engine/feature.h"

#include "api/api.h"
#include "api/call.h"
#include "base/budget.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "cli/settings.h"
#include "engine/engine.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/access/shapes.h"
#include "features/cost/prices.h"
#include "features/events/event_log.h"
#include "features/events/shapes.h"
#include "features/export/export_run.h"
#include "features/export/exports.h"
#include "features/features.h"
#include "http/exchange.h"
#include "shape/timerange.h"

struct exports *export_exports(const struct engine *e)
{
    return engine_state(e, &export_feature);
}

enum { SESSION_CHECK_S = 2 };

struct export_call {
    struct export_job job;
    struct api_call *call;
    atomic_bool begun;
    int64_t checked_us; /* monotonic: when the session was last checked */
};

/* clang-format off */
static const struct {
    const char *content_type, *suffix;
} formats[] = {
    [EXPORT_NDJSON] = { "application/x-ndjson",    "ndjson" },
    [EXPORT_CSV]    = { "text/csv; charset=utf-8", "csv" },
};
static const char *const names[] = {
    [EXPORT_EVENTS]   = "events",
    [EXPORT_BUSINESS] = "business",
    [EXPORT_LLM]      = "llm",
};
/* clang-format on */

static void begin_stream(struct export_call *export)
{
    const struct export_job *job = &export->job;
    struct datetime_parts today = datetime_split(clock_wall_us());
    struct http_header file = { STR_LIT("Content-Disposition"), STR_NULL };

    file.value =
        arena_printf(export->call->arena, "attachment; filename=\"%.*s-%s-%04u%02u%02u.%s\"",
                     STR_ARG(job->tenant->slug), names[job->kind], (unsigned)today.year,
                     (unsigned)today.month, (unsigned)today.day, formats[job->format].suffix);
    call_stream_begin(export->call, formats[job->format].content_type, &file, 1, STREAM_FINITE);
    atomic_store(&export->begun, true);
}

/* Until the first part is there a failure can still have its status. */
static bool export_write(struct export_job *job, struct buf *part)
{
    struct export_call *export = CONTAINER_OF(job, struct export_call, job);

    if (!atomic_load(&export->begun))
        begin_stream(export);
    return http_stream_write(export->call->exchange, part);
}

static bool export_may_go_on(struct export_job *job)
{
    struct export_call *export = CONTAINER_OF(job, struct export_call, job);
    struct registry *registry = access_registry(export->call->api->engine);

    return registry_tenant(registry, job->tenant->slug) == job->tenant && /* not deleted */
           auth_may_go_on(export->call, &export->checked_us, SESSION_CHECK_S);
}

static void export_interrupt(struct export_job *job)
{
    struct export_call *export = CONTAINER_OF(job, struct export_call, job);

    if (atomic_load(&export->begun))
        http_stream_cancel(export->call->exchange);
}

static void export_done(struct export_job *job, const struct error *err)
{
    struct export_call *export = CONTAINER_OF(job, struct export_call, job);

    bool begun = atomic_load(&export->begun);

    if (err != NULL && !begun) {
        call_reply(export->call, err);
        return;
    }
    if (err != NULL)
        call_log_failure(export->call, err);
    if (!begun)
        begin_stream(export);
    http_stream_end(export->call->exchange, err == NULL);
}

static int begin_export(struct api_call *call, enum export_kind kind, struct error *err)
{
    const struct export_query *query = call->query;
    struct export_call *export = ARENA_NEW(call->arena, struct export_call);
    struct str range = query->time_range;
    const char *sentence;

    if (str_is_null(range))
        range = str_is_null(query->run_id) ? STR_LIT("30d") : STR_LIT("all");
    export->call = call;
    export->checked_us = clock_mono_us();
    export->job = (struct export_job){ .kind = kind,
                                       .format = (enum export_format)query->format,
                                       .tenant = call->tenant,
                                       .run_id = query->run_id,
                                       .skip_damaged = query->damaged == DAMAGED_SKIP,
                                       .write = export_write,
                                       .may_go_on = export_may_go_on,
                                       .interrupt = export_interrupt,
                                       .done = export_done };
    sentence = timerange_parse(range, clock_wall_us(), &export->job.range);
    if (sentence != NULL)
        return call_refuse_query(call, err, "time_range", range, sentence);
    if (exports_submit(export_exports(call->api->engine), &export->job, err) != 0)
        return call_refuse(call, err, 503, "Too many exports are running; retry later");
    return 0;
}

static int export_events(struct api_call *call, struct error *err)
{
    return begin_export(call, EXPORT_EVENTS, err);
}

static int export_business(struct api_call *call, struct error *err)
{
    return begin_export(call, EXPORT_BUSINESS, err);
}

static int export_llm(struct api_call *call, struct error *err)
{
    return begin_export(call, EXPORT_LLM, err);
}

/* clang-format off */
static const char *const export_media[] = { "application/x-ndjson", "text/csv", NULL };

static const struct route export_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/export/events", READ, 200), .handler = export_events, .sends = SENDS_FILE_NAME, .params = &tenant_path_shape, .query = &events_export_query_shape, .answer = &stored_event_shape, .media = export_media, .also = ALSO_NOT_FOUND,
      .id = "export_events", .summary = "Export run events of a time range",
      .description = "One line per event in order of arrival, sent while it is read. An export that fails midway ends without its last chunk. With `run_id` a run of any size can be read. A tenant runs one export at a time: more are 503." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/export/business", READ, 200), .handler = export_business, .sends = SENDS_FILE_NAME, .params = &tenant_path_shape, .query = &export_query_shape, .answer = &business_line_shape, .media = export_media,
      .id = "export_kpis", .summary = "Export business KPIs of a time range",
      .description = "One line per value, then one per cell of each breakdown, sent while it is read. A tenant runs one export at a time: more are 503." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/export/llm", READ, 200), .handler = export_llm, .sends = SENDS_FILE_NAME, .params = &tenant_path_shape, .query = &export_query_shape, .answer = &llm_line_shape, .media = export_media,
      .id = "export_llm_usage", .summary = "Export LLM usage of a time range",
      .description = "One line per report, sorted by timestamp, sent while it is read. A tenant runs one export at a time: more are 503." },
    { 0 },
};
/* clang-format on */

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
