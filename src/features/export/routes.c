/* routes.c - everything of a time range, as lines that are sent while they are read. */
#include "api/api.h"
#include "api/call.h"
#include "api/handlers.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "engine/engine.h"
#include "features/access/registry.h"
#include "features/export/exports.h"
#include "features/export/shapes.h"
#include "http/stream.h"
#include "shape/problems.h"
#include "shape/rule.h"

struct export_call {
    struct export_job job;
    struct api_call *call;
    bool begun;
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

static void begin(struct export_call *export)
{
    const struct export_job *job = &export->job;
    struct datetime_parts today = datetime_split(clock_wall_us());
    struct http_header file = { STR_LIT("Content-Disposition"), STR_NULL };

    file.value =
        arena_printf(export->call->arena, "attachment; filename=\"%.*s-%s-%04u%02u%02u.%s\"",
                     STR_ARG(job->tenant->slug), names[job->kind], (unsigned)today.year,
                     (unsigned)today.month, (unsigned)today.day, formats[job->format].suffix);
    export->begun = true;
    call_stream_begin(export->call, formats[job->format].content_type, &file, 1, STREAM_FINITE);
}

/* Nothing is sent before there is something: till then a failure can still have its status. */
static bool write_part(struct export_job *job, struct buf *part)
{
    struct export_call *export = CONTAINER_OF(job, struct export_call, job);

    if (!export->begun)
        begin(export);
    return http_stream_write(export->call->exchange, part);
}

static void done(struct export_job *job, const struct error *err)
{
    struct export_call *export = CONTAINER_OF(job, struct export_call, job);

    if (err != NULL && !export->begun) {
        call_reply_failure(export->call, err);
        return;
    }
    if (err != NULL)
        call_log_failure(export->call, err);
    if (!export->begun)
        begin(export);
    http_stream_end(export->call->exchange, err == NULL);
}

static void export_all(struct api_call *call, enum export_kind kind)
{
    const struct export_query *query = call->query;
    struct export_call *export = ARENA_NEW(call->arena, struct export_call);
    struct error err = { 0 };
    const char *sentence;

    export->call = call;
    export->job = (struct export_job){ .kind = kind,
                                       .format = (enum export_format)query->format,
                                       .tenant = call->tenant,
                                       .write = write_part,
                                       .done = done };
    sentence = timerange_parse(query->time_range, clock_wall_us(), &export->job.range);
    if (sentence != NULL) {
        struct problems *problems = problems_new(call->arena, "query");

        rule_refuse_text(problems, call->arena, "time_range", query->time_range, sentence);
        call_reply_problems(call, problems);
        return;
    }
    if (exports_submit(engine_exports(call->api->engine), &export->job, &err) != 0)
        call_reply_error(call, 503, "Enough exports are running already; please try again later");
}

void get_export_events(struct api_call *call)
{
    export_all(call, EXPORT_EVENTS);
}

void get_export_business(struct api_call *call)
{
    export_all(call, EXPORT_BUSINESS);
}

void get_export_llm(struct api_call *call)
{
    export_all(call, EXPORT_LLM);
}
