/* report_shapes.h - business KPIs of a run, and their splits by dimension.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

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
