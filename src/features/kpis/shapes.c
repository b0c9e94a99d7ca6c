/* shapes.c - the tables of business KPIs as front ends read them. */
#include "features/kpis/shapes.h"

#include "features/kpis/report_shapes.h"
#include "shape/table.h"
#include "shape/timerange.h"

/* clang-format off */
#define MEMBER(m) m

#define OWNER struct kpi_entry
static const struct field kpi_entry_fields[] = {
    { STR(agent_name), .flags = F_REQUIRED },
    { STR(key),        .flags = F_REQUIRED },
    { STR(label),      .flags = F_REQUIRED },
    { STR(unit),       .flags = F_REQUIRED },
    { STR(agg),        .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct kpi_catalog
static const struct field kpi_catalog_fields[] = {
    { LIST(kpis, kpi_entry_shape), .flags = F_REQUIRED },
    { OPT_BOOL(truncated),         .flags = F_OMIT, .doc = "True: there are more KPIs than are told." },
};
#undef OWNER

#define OWNER struct kpi_summary_row
static const struct field kpi_summary_row_fields[] = {
    { STR(agent_name), .flags = F_REQUIRED },
    { STR(key),        .flags = F_REQUIRED },
    { STR(label),      .flags = F_REQUIRED | F_NULL },
    { STR(unit),       .flags = F_REQUIRED | F_NULL },
    { STR(agg),        .flags = F_REQUIRED | F_NULL, .doc = "Null when it was not declared: the value is the last one." },
    { BOOL(declared),  .flags = F_REQUIRED },
    { JSON(value),     .flags = F_REQUIRED | F_NULL, .doc = "A number or a string; null when there is none." },
    { INT(reports),    .flags = F_REQUIRED, .doc = "Runs that reported it." },
    { JSON(previous),  .flags = F_REQUIRED | F_NULL, .doc = "The same over the range just before." },
};
#undef OWNER

#define OWNER struct kpi_summary
static const struct field kpi_summary_fields[] = {
    { TIME(since),                       .flags = F_REQUIRED | F_NULL, .doc = "Inclusive; null: from the beginning." },
    { TIME(until),                       .flags = F_REQUIRED, .doc = "Exclusive." },
    { LIST(kpis, kpi_summary_row_shape), .flags = F_REQUIRED },
    { BOOL(truncated),                   .flags = F_REQUIRED, .doc = "There are more KPIs than are told." },
};
#undef OWNER

#define OWNER struct kpi_point
static const struct field kpi_point_fields[] = {
    { TIME(t),     .flags = F_REQUIRED, .doc = "Where the bucket begins." },
    { JSON(value), .flags = F_REQUIRED, .doc = "A number or a string." },
};
#undef OWNER

#define OWNER struct kpi_series_answer
static const struct field kpi_series_fields[] = {
    { STR(agent_name),               .flags = F_REQUIRED | F_NULL, .doc = "Null: over all agents." },
    { STR(key),                      .flags = F_REQUIRED },
    { STR(unit),                     .flags = F_REQUIRED | F_NULL },
    { STR(agg),                      .flags = F_REQUIRED | F_NULL },
    { STR(bucket),                   .flags = F_REQUIRED, .choices = bucket_names },
    { LIST(points, kpi_point_shape), .flags = F_REQUIRED, .doc = "Buckets without a value are absent." },
};
#undef OWNER

#define OWNER struct kpi_breakdown
static const struct field kpi_breakdown_fields[] = {
    { STR(metric),                     .flags = F_REQUIRED },
    { LIST_STR(by),                    .flags = F_REQUIRED },
    { STR(agg),                        .flags = F_REQUIRED },
    { LIST_STR(dimensions),            .flags = F_REQUIRED, .doc = "All that it was reported by in the range, by their bytes." },
    { LIST(rows, breakdown_row_shape), .flags = F_REQUIRED, .doc = "Largest value first." },
    { BOOL(truncated),                 .flags = F_REQUIRED, .doc = "There are more rows than are told." },
};
#undef OWNER

#undef MEMBER
/* clang-format on */

const struct shape kpi_entry_shape = {
    SHAPE_OF("Kpi", struct kpi_entry, kpi_entry_fields),
    .doc = "A KPI as its agent declared it.",
};

const struct shape kpi_catalog_shape = {
    SHAPE_OF("KpiCatalog", struct kpi_catalog, kpi_catalog_fields),
    .doc = "The declared KPIs, by agent and key.",
};

const struct shape kpi_summary_row_shape = {
    SHAPE_OF("KpiTotal", struct kpi_summary_row, kpi_summary_row_fields),
    .doc = "A KPI of an agent, totalled as it was declared.",
};

const struct shape kpi_summary_shape = {
    SHAPE_OF("KpiSummary", struct kpi_summary, kpi_summary_fields),
    .doc = "The KPIs over a time range, by agent and key.",
};

const struct shape kpi_point_shape = {
    SHAPE_OF("KpiPoint", struct kpi_point, kpi_point_fields),
    .doc = "The total of one bucket.",
};

const struct shape kpi_series_shape = {
    SHAPE_OF("KpiSeries", struct kpi_series_answer, kpi_series_fields),
    .doc = "One KPI over time.",
};

const struct shape kpi_breakdown_shape = {
    SHAPE_OF("KpiBreakdown", struct kpi_breakdown, kpi_breakdown_fields),
    .doc = "One KPI split by dimensions.",
};
