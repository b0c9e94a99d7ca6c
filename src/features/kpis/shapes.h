/* shapes.h - business KPIs as front ends read them.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

struct kpi_entry {
    struct str agent_name, key, label, unit, agg; /* as declared */
};

struct kpi_catalog {
    struct list kpis; /* of struct kpi_entry */
    struct opt_bool truncated;
};

/* A value is JSON text: an integer, a real or a string; STR_NULL: no value. */
struct kpi_summary_row {
    struct str agent_name, key;
    struct str label, unit, agg; /* null when not declared */
    bool declared;
    struct str value;
    int64_t reports;
    struct str previous;
};

struct kpi_summary {
    int64_t since; /* TIME_NULL: from the beginning */
    int64_t until;
    struct list kpis; /* of struct kpi_summary_row */
    bool truncated;
};

struct kpi_point {
    int64_t t;
    struct str value;
};

struct kpi_series_answer {
    struct str agent_name; /* null: all agents */
    struct str key;
    struct str unit, agg; /* null when not declared */
    struct str bucket;
    struct list points; /* of struct kpi_point */
};

struct kpi_breakdown {
    struct str metric;
    struct list by; /* of struct str */
    struct str agg;
    struct list dimensions; /* of struct str */
    struct list rows;       /* of struct breakdown_row */
    bool truncated;
};

/* A value that a run reported. */
struct run_kpi {
    struct str agent_name, key;
    struct str label, unit; /* null: not declared */
    struct str value;       /* JSON: a number or a string */
    int64_t at;
};

/* A value of one KPI, and the run that reported it. */
struct kpi_report {
    struct str run_id;
    struct str value; /* JSON: a number or a string */
    int64_t at;
};

struct kpi_reports {
    struct list reports; /* of struct kpi_report, newest first */
    bool truncated;
};

struct run_kpis_path {
    struct str slug, run_id;
};

struct summary_query {
    struct str time_range;
};

struct kpi_reports_query {
    struct str agent_name, key, time_range;
    int64_t limit;
};

struct series_query {
    struct str agent_name; /* null: all agents that report the key */
    struct str key, time_range;
    struct str bucket; /* null: chosen to suit the range */
};

enum { BREAKDOWN_BY_MAX = 32 }; /* names in `by` */

struct breakdown_query {
    struct str metric;
    struct str by;         /* comma list of non-empty dimensions; null: no rows */
    struct str agent_name; /* null */
    struct str time_range;
};

extern const struct shape kpi_catalog_shape, kpi_summary_shape, kpi_series_shape,
    kpi_breakdown_shape, summary_query_shape, series_query_shape, breakdown_query_shape,
    kpi_reports_query_shape, kpi_reports_shape, run_kpis_path_shape, run_kpis_shape;
