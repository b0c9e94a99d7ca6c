/* queries.h - the parameters of query strings and paths.
 *
 * Ranges, buckets and groups stay text here: their meaning depends on "now"
 * and is given by timerange.h. Their grammar is checked with the shape, so
 * that a handler's own parse fails only on what depends on "now". The runs'
 * since and until are resolved with the shape, so that a reversed range is
 * refused with everything else.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "features/events/run_cursor.h"
#include "shape/shape.h"
#include "shape/timerange.h"

struct agent_query {
    struct str agent_name;
};

struct heartbeat_query {
    struct str client_id; /* names a process, not a tenant */
};

struct runs_query {
    bool include_steps;
    struct str since, until; /* null */
    int64_t limit;
    struct str cursor, agent_name; /* null */
    int status;                    /* enum run_status; -1: any */
    struct str workflow_run_id;    /* null */

    struct time_range range; /* what since and until meant when the query was read */
    struct run_cursor after; /* what the cursor means; RUN_CURSOR_TOP without one */
};

struct summary_query {
    struct str time_range;
};

struct series_query {
    struct str agent_name; /* null: all agents that report the key */
    struct str key, time_range;
    struct str bucket; /* null: chosen by the range */
};

struct breakdown_query {
    struct str metric;
    struct str by;         /* comma list of dimensions, none of them empty; null: none */
    struct str agent_name; /* null */
    struct str time_range;
};

struct usage_query {
    struct str time_range;
    struct str group_by;   /* comma list; timerange_parse_groups() */
    struct str agent_name; /* null: of all agents */
    struct str run_id;     /* null: of all runs */
    struct str kpi;        /* null: none */
};

enum export_format { EXPORT_NDJSON, EXPORT_CSV };

struct export_query {
    int format; /* enum export_format */
    struct str time_range;
};

extern const struct shape agent_query_shape;     /* "AgentQuery" */
extern const struct shape heartbeat_query_shape; /* "HeartbeatQuery" */
extern const struct shape runs_query_shape;      /* "RunsQuery" */
extern const struct shape summary_query_shape;   /* "SummaryQuery" */
extern const struct shape series_query_shape;    /* "SeriesQuery" */
extern const struct shape breakdown_query_shape; /* "BreakdownQuery" */
extern const struct shape usage_query_shape;     /* "UsageQuery" */
extern const struct shape export_query_shape;    /* "ExportQuery" */

struct tenant_path {
    struct str slug;
};

struct run_path {
    struct str slug, run_id;
};

struct agent_path {
    struct str slug, agent_name;
};

struct workflow_path {
    struct str slug, workflow_run_id;
};

struct key_path {
    struct str slug, key_id;
};

extern const struct shape tenant_path_shape;   /* "TenantPath" */
extern const struct shape run_path_shape;      /* "RunPath" */
extern const struct shape agent_path_shape;    /* "AgentPath" */
extern const struct shape workflow_path_shape; /* "WorkflowPath" */
extern const struct shape key_path_shape;      /* "KeyPath" */
