/* shapes.c - the shapes of business KPIs, as front ends read them. */
#include "features/kpis/shapes.h"

#include "features/kpis/report_shapes.h"
#include "shape/table.h"
#include "shape/timerange.h"

static const char *series_rule_bucket(struct str *text, struct arena *arena)
{
    enum bucket bucket;

    (void)arena;
    return timerange_parse_bucket(*text, &bucket);
}

static const char *breakdown_rule_by(struct str *text, struct arena *arena)
{
    struct str rest = *text;
    bool empty = false;
    int n = 0;

    (void)arena;
    for (; !str_is_null(rest); n++)
        empty |= str_split(&rest, ',').len == 0;
    if (empty)
        return "Should be one dimension name, or several separated by commas";
    return n > BREAKDOWN_BY_MAX ? "Should be at most 32 dimension names" : NULL;
}

/* clang-format off */
STATIC_SHAPE(kpi_entry, "Kpi", (.doc = "A KPI as its agent declared it.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "key": "invoices", "label": "Invoices read", "unit": "count", "agg": "sum"})),
    STR(agent_name, .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    STR(key,        .flags = F_REQUIRED, .doc = "Key of the KPI."),
    STR(label,      .flags = F_REQUIRED, .doc = "Display name."),
    STR(unit,       .flags = F_REQUIRED, .doc = "count, money:<ISO currency code>, percent or duration (seconds)."),
    STR(agg,        .flags = F_REQUIRED, .doc = "Aggregation over a period: sum, last, avg or max."));

SHAPE(kpi_catalog, "KpiCatalog", (.doc = "The declared KPIs, by agent and key."),
    LIST(kpis, kpi_entry_shape, .flags = F_REQUIRED, .doc = "The KPIs."),
    OPT_BOOL(truncated,         .flags = F_OMIT, .doc = "True: there are more KPIs than listed."));

STATIC_SHAPE(kpi_summary_row, "KpiTotal", (.doc = "A KPI of an agent, totalled by its declared aggregation.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "key": "invoices", "label": "Invoices read", "unit": "count", "agg": "sum", "declared": true, "value": 1260, "reports": 30, "previous": 1190})),
    STR(agent_name, .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    STR(key,        .flags = F_REQUIRED, .doc = "Key of the KPI."),
    STR(label,      .flags = F_REQUIRED | F_NULL, .doc = "Display name. Null: not declared."),
    STR(unit,       .flags = F_REQUIRED | F_NULL, .doc = "Unit of the value. Null: not declared."),
    STR(agg,        .flags = F_REQUIRED | F_NULL, .doc = "Null: not declared; the value is the last one."),
    BOOL(declared,  .flags = F_REQUIRED, .doc = "Whether the agent declares it."),
    JSON(value,     .flags = F_REQUIRED | F_NULL, .doc = "A number or a string. Null: no value."),
    INT(reports,    .flags = F_REQUIRED, .doc = "Number of runs that reported it."),
    JSON(previous,  .flags = F_REQUIRED | F_NULL, .doc = "Value over the preceding range of the same length."));

SHAPE(kpi_summary, "KpiSummary", (.doc = "KPIs over a time range, by agent and key.",
      .example = EXAMPLE({"since": "2025-12-16T09:30:00Z"})),
    TIME(since,                       .flags = F_REQUIRED | F_NULL, .doc = "Inclusive; null: from the beginning."),
    TIME(until,                       .flags = F_REQUIRED, .doc = "Exclusive."),
    LIST(kpis, kpi_summary_row_shape, .flags = F_REQUIRED, .doc = "The totals."),
    BOOL(truncated,                   .flags = F_REQUIRED, .doc = "There are more KPIs than listed."));

STATIC_SHAPE(kpi_point, "KpiPoint", (.doc = "The total of one bucket.",
      .example = EXAMPLE({"t": "2026-01-15T00:00:00Z", "value": 42})),
    TIME(t,     .flags = F_REQUIRED, .doc = "Start of the bucket."),
    JSON(value, .flags = F_REQUIRED, .doc = "A number or a string."));

SHAPE_TABLE(, kpi_series_shape, struct kpi_series_answer, "KpiSeries", (.doc = "One KPI over time.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "key": "invoices", "unit": "count", "agg": "sum", "bucket": "day"})),
    STR(agent_name,               .flags = F_REQUIRED | F_NULL, .doc = "Null: all agents."),
    STR(key,                      .flags = F_REQUIRED, .doc = "Key of the KPI."),
    STR(unit,                     .flags = F_REQUIRED | F_NULL, .doc = "Unit of the values. Null: not declared."),
    STR(agg,                      .flags = F_REQUIRED | F_NULL, .doc = "Aggregation within a bucket. Null: not declared."),
    STR(bucket,                   .flags = F_REQUIRED, .choices = bucket_names, .doc = "Length of a bucket, UTC."),
    LIST(points, kpi_point_shape, .flags = F_REQUIRED, .doc = "Buckets without a value are left out."));

SHAPE(kpi_breakdown, "KpiBreakdown", (.doc = "One KPI split by dimensions.",
      .example = EXAMPLE({"metric": "invoices", "by": ["region"], "agg": "sum", "dimensions": ["region"]})),
    STR(metric,                     .flags = F_REQUIRED, .doc = "Key of the KPI."),
    LIST_STR(by,                    .flags = F_REQUIRED, .doc = "Dimensions that the rows are split by."),
    STR(agg,                        .flags = F_REQUIRED, .doc = "Aggregation of the rows."),
    LIST_STR(dimensions,            .flags = F_REQUIRED, .doc = "All dimensions reported in the range, ordered by their bytes."),
    LIST(rows, breakdown_row_shape, .flags = F_REQUIRED, .doc = "Largest value first."),
    BOOL(truncated,                 .flags = F_REQUIRED, .doc = "There are more rows than listed."));

SHAPE(summary_query, "SummaryQuery", (.row_rules = true),
    STR(time_range, .rule = rule_time_range, .pattern = TIME_RANGE_PATTERN, .absent = "\"30d\"", .doc = TIME_RANGE_DOC));

SHAPE(series_query, "SeriesQuery", (.row_rules = true,
      .example = EXAMPLE({"key": "invoices", "time_range": "7d"})),
    STR(agent_name, .flags = F_NULL, .doc = "If omitted: all agents that report the key."),
    STR(key,        .flags = F_REQUIRED, .doc = "Key of the KPI."),
    STR(time_range, .rule = rule_time_range, .pattern = TIME_RANGE_PATTERN, .absent = "\"30d\"", .doc = TIME_RANGE_DOC),
    STR(bucket,     .rule = series_rule_bucket, .pattern = "^(minute|hour|day|week|month)$", .flags = F_NULL, .doc = "minute, hour, day, week (from Monday) or month, UTC. If omitted, the finest that gives at most 200 points."));

SHAPE(breakdown_query, "BreakdownQuery", (.row_rules = true,
      .example = EXAMPLE({"metric": "invoices", "by": "region"})),
    STR(metric,     .flags = F_REQUIRED, .doc = "Key of the KPI."),
    STR(by,         .rule = breakdown_rule_by, .pattern = "^[^,]+(,[^,]+){0,31}$", .flags = F_NULL, .doc = "Dimension names separated by commas. If omitted, only the dimensions are listed, without rows."),
    STR(agent_name, .flags = F_NULL, .doc = "Only this agent. If omitted: all agents."),
    STR(time_range, .rule = rule_time_range, .pattern = TIME_RANGE_PATTERN, .absent = "\"30d\"", .doc = TIME_RANGE_DOC));

STATIC_SHAPE(run_kpi, "RunKpi", (.doc = "A value that a run reported.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "key": "invoices", "label": "Invoices read", "unit": "count", "value": 42, "at": "2026-01-15T09:31:12Z"})),
    STR(agent_name, .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    STR(key,        .flags = F_REQUIRED, .doc = "Key of the KPI."),
    STR(label,      .flags = F_REQUIRED | F_NULL, .doc = "Name for people. Null: not declared."),
    STR(unit,       .flags = F_REQUIRED | F_NULL, .doc = "Unit of the value. Null: not declared."),
    JSON(value,     .flags = F_REQUIRED, .doc = "A number or a string."),
    TIME(at,        .flags = F_REQUIRED, .doc = "Of the report that has the value."));

LIST_SHAPE(run_kpis, "RunKpis", (.doc = "The KPIs of a run."),
    ITEMS("kpis", run_kpi_shape, .flags = F_REQUIRED, .doc = "By agent and key, at most 1,000."));

STATIC_SHAPE(kpi_report, "KpiReport", (.doc = "A value of one KPI.",
      .example = EXAMPLE({"run_id": "0b8f7a52-4c1e-4f0a-9d53-6a2e8c1f7b90", "value": 42, "at": "2026-01-15T09:31:12Z"})),
    UUID(run_id, .flags = F_REQUIRED, .doc = "The run that reported it."),
    JSON(value,  .flags = F_REQUIRED, .doc = "A number or a string."),
    TIME(at,     .flags = F_REQUIRED, .doc = "Of the report that has the value."));

SHAPE(kpi_reports, "KpiReports", (.doc = "The values of one KPI, with the runs that reported them."),
    LIST(reports, kpi_report_shape, .flags = F_REQUIRED, .doc = "One per run, newest first."),
    BOOL(truncated,                 .flags = F_REQUIRED, .doc = "There are older ones in the range."));

SHAPE(kpi_reports_query, "KpiReportsQuery", (.row_rules = true,
      .example = EXAMPLE({"agent_name": "invoice-reader", "key": "invoices", "time_range": "7d"})),
    STR(agent_name, .flags = F_REQUIRED, .doc = "Name of the agent."),
    STR(key,        .flags = F_REQUIRED, .doc = "Key of the KPI."),
    STR(time_range, .rule = rule_time_range, .pattern = TIME_RANGE_PATTERN, .absent = "\"30d\"", .doc = TIME_RANGE_DOC),
    INT(limit,      .absent = "100", .least = 1, .most = 1000, .doc = "How many are listed at most."));

SHAPE(run_kpis_path, "RunKpisPath", (.example = EXAMPLE({"slug": "acme", "run_id": "0b8f7a52-4c1e-4f0a-9d53-6a2e8c1f7b90"})),
    STR(slug,    .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    UUID(run_id, .flags = F_REQUIRED, .doc = "Identifies the run."));
/* clang-format on */
