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

/* One cell of a breakdown, sent as a slice or a point. */
struct breakdown_row {
    struct list dimensions; /* of struct named_value: one per name in `by`, in that order */
    double value;
};

struct business_breakdown {
    struct str metric;
    struct list by;     /* of struct str; after the rules without repeats */
    struct str slices;  /* T_DICT_NUM, as sent */
    struct list points; /* T_POINTS, as sent */
    struct list rows;   /* of struct breakdown_row, made of slices and points by the rules; rows
                           with the same dimensions are kept as they came */
};

struct business_telemetry {
    struct str agent_name, agent_version, client_id, run_id;
    int64_t timestamp;
    struct list metrics;        /* of struct named_value */
    struct list breakdowns;     /* of struct business_breakdown */
    struct str workflow_run_id; /* null */
};

struct business_verdict {
    struct str status; /* accepted, rejected */
    struct str run_id;
    struct list undeclared;    /* of struct str: keys not declared at registration */
    bool replaced;             /* any stored value or breakdown */
    struct str reason, detail; /* null (left out) unless rejected */
};

extern const struct shape breakdown_row_shape, business_breakdown_shape, business_telemetry_shape,
    business_verdict_shape;
