/* shapes.c - the shapes of business reports, and how breakdowns become rows; the shapes of KPIs as
 * front ends read them.
 *
 * A body may hold very many dimensions, slices and points, so every step is linear in its size:
 * a map finds names, and repeated dimensions are dropped before rows are built.
 */
#include "features/kpis/shapes.h"

#include "base/map.h"
#include "shape/problems.h"
#include "shape/table.h"
#include "shape/timerange.h"

static const char *const verdicts[] = { "accepted", "rejected", NULL };

enum { NAME_SHOWN_MAX = 100 }; /* longest name in bytes that a sentence quotes */

/* The names in `by` without repeats, and the map that finds a name in them. */
static void drop_repeated_names(struct list *by, struct map *names)
{
    struct str *items = by->items;
    size_t n = 0;

    for (size_t i = 0; i < by->n; i++) {
        if (map_get(names, items[i]) != NULL)
            continue;
        items[n] = items[i];
        (void)map_put(names, items[n], &items[n]);
        n++;
    }
    by->n = n;
}

/* Appends a row per slice of the only dimension, `name`. */
static void add_slices(struct business_breakdown *b, const struct list *slices, struct str name,
                       struct arena *arena)
{
    struct breakdown_row *rows = b->rows.items;
    const struct named_value *values = slices->items;

    for (size_t i = 0; i < slices->n; i++) {
        struct named_value *dimension = ARENA_NEW(arena, struct named_value);

        dimension->name = name;
        dimension->kind = VALUE_STR;
        dimension->string = values[i].name;
        rows[b->rows.n++] =
            (struct breakdown_row){ .dimensions = { dimension, 1 }, .value = values[i].real };
    }
}

static const char *missing_dimension(struct str name, size_t index, struct arena *arena)
{
    if (name.len > NAME_SHOWN_MAX)
        return arena_printf(arena, "The point has no entry for dimension %zu of 'by'", index).data;
    return arena_printf(arena, "The point has no entry for dimension '%.*s'", STR_ARG(name)).data;
}

/* The sentence about the first dimension that the point lacks; it lacks one. */
static const char *first_missing(const struct list *point, const struct list *by,
                                 const struct map *names, struct arena *arena)
{
    const struct named_value *entries = point->items;
    const struct str *first = by->items;

    /* A point with fewer entries than dimensions lacks one of the first point->n + 1 of them, so
     * its memory need not grow with the number of dimensions. */
    size_t n = by->n <= point->n ? by->n : point->n + 1, missing = 0;
    bool *there = ARENA_ARRAY(arena, bool, n);

    for (size_t i = 0; i < point->n; i++) {
        const struct str *name = map_get(names, entries[i].name);

        if (name != NULL && (size_t)(name - first) < n)
            there[name - first] = true;
    }
    while (missing + 1 < n && there[missing])
        missing++;
    return missing_dimension(first[missing], missing, arena);
}

/* Brings the entries of the dimensions to the front, in the order of `by`: all are there, each
 * once. In place, since a report may have a million of them. */
static void sort_entries(const struct list *point, const struct list *by, const struct map *names)
{
    struct named_value *entries = point->items;
    const struct str *first = by->items;

    for (size_t i = 0; i < point->n;) {
        const struct str *name = map_get(names, entries[i].name);
        size_t to = name == NULL ? i : (size_t)(name - first);

        if (to == i) {
            i++;
        } else {
            const struct named_value moved = entries[to];

            entries[to] = entries[i];
            entries[i] = moved;
        }
    }
}

/* Fills `row`, or returns a sentence about what the point lacks. */
static const char *point_to_row(const struct list *point, const struct list *by,
                                const struct map *names, struct arena *arena,
                                struct breakdown_row *row)
{
    const struct named_value *entries = point->items;
    bool has_value = false;
    size_t found = 0;

    for (size_t i = 0; i < point->n; i++) {
        found += map_get(names, entries[i].name) != NULL;
        if (str_eq_c(entries[i].name, "value") && entries[i].kind != VALUE_STR) {
            row->value = entries[i].real;
            has_value = true;
        }
    }
    if (found < by->n)
        return first_missing(point, by, names, arena);
    if (!has_value)
        return "The point has no number named 'value'";
    sort_entries(point, by, names);
    row->dimensions = (struct list){ point->items, by->n };
    return NULL;
}

/* The point as sent, for the problem's input; STR_NULL when it is too long. */
static struct str point_text(const struct list *point, struct arena *arena)
{
    struct str text = STR_NULL;
    BUF_SCOPED(out, PROBLEM_INPUT_MAX);

    shape_write_values(point, &out);
    if (!out.overflown)
        text = arena_copy(arena, buf_str(&out));
    return text;
}

static void add_points(struct business_breakdown *b, const struct map *names, struct arena *arena,
                       struct problems *problems)
{
    struct breakdown_row *rows = b->rows.items;
    const struct list *points = b->points.items;

    for (size_t i = 0; i < b->points.n; i++) {
        struct breakdown_row row = { 0 };
        const char *sentence = point_to_row(&points[i], &b->by, names, arena, &row);
        struct path_step path[] = { { .name = STR_LIT("points") }, { .index = i } };

        if (sentence == NULL) {
            rows[b->rows.n++] = row;
            continue;
        }
        problems_add_rule(problems, path, COUNT_OF(path), point_text(&points[i], arena), sentence);
        if (problems->n >= PROBLEMS_MAX)
            return; /* further ones are not shown */
    }
}

static void normalise(void *value, struct arena *arena, struct problems *problems)
{
    static const struct path_step at_slices = { .name = STR_INIT("slices") };
    struct business_breakdown *b = value;
    struct list slices = shape_parse_values(b->slices, arena);
    struct map names;

    map_init(&names);
    drop_repeated_names(&b->by, &names);
    b->rows = (struct list){ ARENA_ARRAY(arena, struct breakdown_row, slices.n + b->points.n), 0 };
    if (slices.n > 0 && b->by.n != 1)
        problems_add_rule(problems, &at_slices, 1, b->slices,
                          "Slices need exactly one name in 'by'; use points for several");
    else if (slices.n > 0)
        add_slices(b, &slices, *(const struct str *)b->by.items, arena);
    add_points(b, &names, arena, problems);
    map_done(&names);
}

/* clang-format off */
SHAPE(breakdown_row, "BreakdownRow", (.doc = "One cell of a breakdown.",
      .example = EXAMPLE({"dimensions": {"region": "north"}, "value": 30})),
    VALUES(dimensions, .flags = F_REQUIRED, .doc = "Value of each dimension."),
    NUMBER(value,      .flags = F_REQUIRED, .doc = "Total of the cell."));

SHAPE(business_breakdown, "BusinessBreakdown", (.doc = "One KPI of one run, split by dimensions.", .rules = normalise,
      .example = EXAMPLE({"metric": "invoices", "by": "region", "slices": {"north": 30, "south": 12}})),
    STR(metric,      .max = 256, .flags = F_REQUIRED, .doc = "Ties the breakdown to a KPI key in metrics."),
    BY(by,                       .flags = F_REQUIRED, .doc = "Dimension name or names."),
    DICT_NUM(slices, .max = 1000, .absent = "{}", .doc = "For one dimension: its values, each with the number."),
    POINTS(points,   .max = 1000, .absent = "[]", .doc = "For any number of dimensions: an entry per dimension, and the number as value."));

SHAPE(business_telemetry, "BusinessTelemetry", (.doc = "The business KPIs of one run.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "agent_version": "1.4.0", "client_id": "acme", "metrics": {"invoices": 42}})),
    STR(agent_name,      .min = 1, .max = 256, .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    STR(agent_version,   .max = 256, .absent = "\"\"", .doc = "Version of the agent, as it reports it."),
    STR(client_id,       .max = 256, .absent = "\"\"", .doc = "Tenant slug; optional but recommended."),
    UUID(run_id,                     .flags = F_REQUIRED, .doc = "May equal the run_id of the execution run, to correlate them."),
    TIME(timestamp,                  .flags = F_REQUIRED, .doc = "When the values were measured, by the clock of the agent."),
    VALUES(metrics,      .max = 100, .absent = "{}", .doc = "Keys should match KPIs declared at registration."),
    LIST(breakdowns, business_breakdown_shape, .max = 100, .absent = "[]",
      .doc = "Additive; the scalar totals still travel in metrics."),
    STR(workflow_run_id, .max = 256, .flags = F_NULL, .doc = "The workflow that the run is part of. Null: none."));

SHAPE(business_verdict, "BusinessVerdict", (.doc = "Result of a business report."),
    STR(status,          .flags = F_REQUIRED, .choices = verdicts, .doc = "accepted: stored; rejected: not stored."),
    UUID(run_id,         .flags = F_REQUIRED, .doc = "Identifies the run."),
    LIST_STR(undeclared, .flags = F_REQUIRED, .doc = "Keys stored without label, unit and aggregation."),
    BOOL(replaced,       .flags = F_REQUIRED, .doc = "Whether this report replaced a stored value or breakdown."),
    STR(reason,          .flags = F_OMIT, .doc = "Why it was rejected."),
    STR(detail,          .flags = F_OMIT, .doc = "The reason as a sentence."));
/* clang-format on */

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
