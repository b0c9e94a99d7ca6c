/* queries.c - the tables of query and path parameters. */
#include "api/queries.h"

#include "base/clock.h"
#include "features/events/shapes.h"
#include "shape/rule.h"
#include "shape/table.h"

static const char *const export_formats[] = { "ndjson", "csv", NULL };

enum { BREAKDOWN_BY_MAX = 32 };

/* Any moment does to check a grammar. */
static const int64_t some_now = 0;

static void check_moment(struct problems *problems, struct arena *arena, const char *name,
                         struct str text)
{
    int64_t moment;
    const char *sentence =
        str_is_null(text) ? NULL : timerange_parse_moment(text, some_now, &moment);

    if (sentence != NULL)
        rule_refuse_text(problems, arena, name, text, sentence);
}

static void check_range(struct problems *problems, struct arena *arena, struct str text)
{
    struct time_range range;
    const char *sentence = timerange_parse(text, some_now, &range);

    if (sentence != NULL)
        rule_refuse_text(problems, arena, "time_range", text, sentence);
}

static void check_runs(void *value, struct arena *arena, struct problems *problems)
{
    struct runs_query *q = value;
    size_t before = problems_count(problems);
    const char *sentence = NULL;

    check_moment(problems, arena, "since", q->since);
    check_moment(problems, arena, "until", q->until);
    if (problems_count(problems) == before)
        sentence = timerange_between(q->since, q->until, clock_wall_us(), &q->range);
    if (sentence != NULL)
        rule_refuse_text(problems, arena, "since", q->since, sentence);
    q->after = RUN_CURSOR_TOP;
    if (!str_is_null(q->cursor) && !run_cursor_parse(q->cursor, &q->after))
        rule_refuse_text(problems, arena, "cursor", q->cursor,
                         "Should be the next of a page of runs, as it was given");
}

static void check_summary(void *value, struct arena *arena, struct problems *problems)
{
    const struct summary_query *q = value;

    check_range(problems, arena, q->time_range);
}

static void check_series(void *value, struct arena *arena, struct problems *problems)
{
    const struct series_query *q = value;
    enum bucket bucket;
    const char *sentence;

    check_range(problems, arena, q->time_range);
    sentence = str_is_null(q->bucket) ? NULL : timerange_parse_bucket(q->bucket, &bucket);
    if (sentence != NULL)
        rule_refuse_text(problems, arena, "bucket", q->bucket, sentence);
}

static void check_breakdown(void *value, struct arena *arena, struct problems *problems)
{
    const struct breakdown_query *q = value;
    struct str rest = q->by;
    bool empty = false;
    int n = 0;

    for (; !str_is_null(rest); n++)
        empty |= str_split(&rest, ',').len == 0;
    if (empty)
        rule_refuse_text(problems, arena, "by", q->by,
                         "Should be one dimension name, or several separated by commas");
    else if (n > BREAKDOWN_BY_MAX)
        rule_refuse_text(problems, arena, "by", q->by, "Should be at most 32 dimension names");
    check_range(problems, arena, q->time_range);
}

static void check_usage(void *value, struct arena *arena, struct problems *problems)
{
    const struct usage_query *q = value;
    unsigned groups;
    const char *sentence;

    check_range(problems, arena, q->time_range);
    sentence = timerange_parse_groups(q->group_by, &groups);
    if (sentence != NULL)
        rule_refuse_text(problems, arena, "group_by", q->group_by, sentence);
    if (!str_is_null(q->run_id) && !str_is_null(q->kpi))
        rule_refuse_text(problems, arena, "kpi", q->kpi, "A KPI is summed up over all runs");
}

static void check_export(void *value, struct arena *arena, struct problems *problems)
{
    const struct export_query *q = value;

    check_range(problems, arena, q->time_range);
}

#define RANGE_DOC                                                                                  \
    "A span such as 24h, 7d, 30d; today, yesterday, this_month, last_month, all; or "              \
    "<date-time>/<date-time>."

/* clang-format off */
#define OWNER struct agent_query
SHAPE_BEGIN(agent_query_shape)
    { STR(agent_name), .flags = F_REQUIRED },
SHAPE_END(agent_query_shape, "AgentQuery");
#undef OWNER

#define OWNER struct heartbeat_query
SHAPE_BEGIN(heartbeat_query_shape)
    { STR(client_id), .max = 256, .flags = F_REQUIRED, .doc = "Names the process that is alive." },
SHAPE_END(heartbeat_query_shape, "HeartbeatQuery");
#undef OWNER

#define OWNER struct runs_query
SHAPE_BEGIN(runs_query_shape)
    { BOOL(include_steps),  .absent = "false", .doc = "Adds the in_progress events." },
    { STR(since),           .flags = F_NULL, .doc = "Runs that started then or later: a date-time, or a span back from now (90m, 24h, 7d, 4w)." },
    { STR(until),           .flags = F_NULL, .doc = "Runs that started before: a date-time or a span back from now." },
    { INT(limit),           .absent = "50", .least = 1, .most = 1000 },
    { STR(cursor),          .flags = F_NULL, .doc = "The next of the page before." },
    { STR(agent_name),      .flags = F_NULL },
    { ENUM(status),         .flags = F_NULL, .choices = run_status_names },
    { STR(workflow_run_id), .flags = F_NULL },
SHAPE_END(runs_query_shape, "RunsQuery", .rules = check_runs);
#undef OWNER

#define OWNER struct summary_query
SHAPE_BEGIN(summary_query_shape)
    { STR(time_range), .absent = "\"30d\"", .doc = RANGE_DOC },
SHAPE_END(summary_query_shape, "SummaryQuery", .rules = check_summary);
#undef OWNER

#define OWNER struct series_query
SHAPE_BEGIN(series_query_shape)
    { STR(agent_name), .flags = F_NULL, .doc = "Left out: over all agents that report the key." },
    { STR(key),        .flags = F_REQUIRED },
    { STR(time_range), .absent = "\"30d\"", .doc = RANGE_DOC },
    { STR(bucket),     .flags = F_NULL, .doc = "minute, hour, day, week (from Monday) or month, UTC; left out: chosen for at most 200 points." },
SHAPE_END(series_query_shape, "SeriesQuery", .rules = check_series);
#undef OWNER

#define OWNER struct breakdown_query
SHAPE_BEGIN(breakdown_query_shape)
    { STR(metric),     .flags = F_REQUIRED },
    { STR(by),         .flags = F_NULL, .doc = "Dimension names, separated by commas; left out: no rows, only what dimensions there are." },
    { STR(agent_name), .flags = F_NULL },
    { STR(time_range), .absent = "\"30d\"", .doc = RANGE_DOC },
SHAPE_END(breakdown_query_shape, "BreakdownQuery", .rules = check_breakdown);
#undef OWNER

#define OWNER struct usage_query
SHAPE_BEGIN(usage_query_shape)
    { STR(time_range), .absent = "\"30d\"", .doc = RANGE_DOC },
    { STR(group_by),   .absent = "\"model\"", .doc = "model, agent, run, day, or several of them separated by commas." },
    { STR(agent_name), .flags = F_NULL, .doc = "Of this agent alone." },
    { UUID(run_id),    .flags = F_NULL, .doc = "Of this run alone." },
    { STR(kpi),        .flags = F_NULL, .doc = "A KPI that is summed up: adds what one unit of it cost." },
SHAPE_END(usage_query_shape, "UsageQuery", .rules = check_usage);
#undef OWNER

#define OWNER struct export_query
SHAPE_BEGIN(export_query_shape)
    { ENUM(format),    .absent = "\"ndjson\"", .choices = export_formats },
    { STR(time_range), .absent = "\"30d\"", .doc = RANGE_DOC },
SHAPE_END(export_query_shape, "ExportQuery", .rules = check_export);
#undef OWNER

#define OWNER struct tenant_path
SHAPE_BEGIN(tenant_path_shape)
    { STR(slug), .flags = F_REQUIRED },
SHAPE_END(tenant_path_shape, "TenantPath");
#undef OWNER

#define OWNER struct run_path
SHAPE_BEGIN(run_path_shape)
    { STR(slug),    .flags = F_REQUIRED },
    { UUID(run_id), .flags = F_REQUIRED },
SHAPE_END(run_path_shape, "RunPath");
#undef OWNER

#define OWNER struct agent_path
SHAPE_BEGIN(agent_path_shape)
    { STR(slug),       .flags = F_REQUIRED },
    { STR(agent_name), .flags = F_REQUIRED },
SHAPE_END(agent_path_shape, "AgentPath");
#undef OWNER

#define OWNER struct workflow_path
SHAPE_BEGIN(workflow_path_shape)
    { STR(slug),            .flags = F_REQUIRED },
    { STR(workflow_run_id), .flags = F_REQUIRED },
SHAPE_END(workflow_path_shape, "WorkflowPath");
#undef OWNER

#define OWNER struct key_path
SHAPE_BEGIN(key_path_shape)
    { STR(slug),   .flags = F_REQUIRED },
    { STR(key_id), .flags = F_REQUIRED },
SHAPE_END(key_path_shape, "KeyPath");
#undef OWNER
/* clang-format on */
