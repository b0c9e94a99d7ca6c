/* shapes.h - agents and workflows, as front ends read them.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "features/agents/schedules/schedules.h"
#include "shape/shape.h"
#include "shape/timerange.h"

struct agent_model;
struct agent_schedule;
struct command_policy;
struct config_schema_decl;

enum agents_order { AGENTS_BY_NAME, AGENTS_BY_TROUBLE, AGENTS_BY_AGENT, AGENTS_BY_LAST_SEEN };

extern const char *const agents_order_names[]; /* in that order, ends in NULL */

struct agents_query {
    int64_t limit;
    struct str cursor; /* null: from the first name */
    int order;         /* enum agents_order */
    bool reverse;      /* of AGENTS_BY_AGENT and AGENTS_BY_LAST_SEEN */
    int64_t offset;    /* but by name: agents left out before the page */
    int state;         /* enum liveness_state; -1: any */
    struct str q;      /* null: any name */
    bool include_runs;
};

/* A run in brief. */
struct agent_run {
    struct str run_id;
    struct str status; /* one of run_status_names */
    int64_t started_at;
    int64_t ended_at; /* TIME_NULL */
    struct opt_int duration_ms;
};

struct agent_listed {
    struct str agent_name, agent_version, description;
    bool enabled;
    struct str state; /* one of liveness_names */
    struct opt_int interval_seconds;
    struct agent_schedule *schedule; /* NULL */
    int64_t maintenance_until;       /* TIME_NULL */
    int64_t first_seen_at;
    int64_t last_seen_at, next_expected_at, silent_at, registered_at, muted_until; /* TIME_NULL */
    int64_t open_runs;
    struct agent_run *last_run; /* NULL */
    struct list recent_runs;    /* of struct agent_run; left out when items is NULL */
};

struct agent_counts {
    int64_t up, late, silent, unscheduled, never_reported, disabled;
};

struct agent_list {
    struct list agents;          /* of struct agent_listed */
    struct str next;             /* cursor; null on the last page, and without one */
    struct agent_counts *counts; /* NULL by name */
};

struct agent_version {
    struct str agent_version;
    int64_t runs, first_run_at, last_run_at;
};

struct run_counts {
    int64_t runs, in_progress, completed, failed;
    int64_t counted_since; /* TIME_NULL: all of the agent's runs are counted */
    int64_t newest_at;     /* TIME_NULL: it has no runs */
    struct opt_int median_duration_ms;
};

struct agent_detail {
    struct agent_listed agent;
    struct str telemetry_doc;
    struct list business_kpis;                /* of struct business_kpi_decl */
    struct list inputs, outputs;              /* of struct io_field */
    struct config_schema_decl *config_schema; /* NULL */
    struct list versions;                     /* of struct agent_version, newest first */
    struct run_counts *counts;
    struct agent_model *model;
    struct str last_model; /* null */
    int64_t last_model_at; /* TIME_NULL */
    struct command_policy *command_policy;
};

struct run_totals_query {
    struct str time_range;
    struct str agent_name;   /* null: of all agents */
    struct time_range range; /* the same, resolved when the query was read */
};

/* Runs that started in an hour or a day. */
struct run_period {
    int64_t t;
    int64_t completed, failed, in_progress;
    struct opt_int p50_ms, p95_ms; /* of one agent only */
};

enum { ERROR_TOTALS_MAX = 10 };

struct error_total {
    struct str error_type; /* empty: the runs named none */
    int64_t runs, last_at;
};

struct run_totals {
    struct str bucket;   /* one of bucket_names */
    struct list periods; /* of struct run_period, oldest first */
    struct list errors;  /* of struct error_total, most frequent first */
    bool truncated;
    int64_t counted_since; /* TIME_NULL: all runs of the range are counted */
};

/* An output and an input of the same key with different types. */
struct type_mismatch {
    struct str key, output_type, input_type;
};

struct workflow_step {
    struct str run_id, agent_name;
};

/* From one step of a workflow to the next. */
struct workflow_link {
    struct workflow_step *from, *to;
    struct opt_bool compatible; /* null: one side declares nothing */
    struct list missing;        /* of struct str: required inputs that no earlier step outputs */
    struct list mismatched;     /* of struct type_mismatch */
    struct list provides;       /* of struct str: inputs that come from the earlier run's agent */
};

struct workflow {
    struct str workflow_run_id;
    struct str status; /* one of run_status_names */
    int64_t started_at;
    int64_t ended_at;  /* TIME_NULL */
    struct list runs;  /* of struct run_summary, by start */
    struct list links; /* of struct workflow_link */
    bool truncated;    /* it has more runs */
    bool links_truncated;
};

struct workflows_query {
    struct str since, until; /* null */
    int64_t limit;

    struct time_range range; /* since and until, resolved when the query was read */
};

enum { WORKFLOW_AGENTS_MAX = 10 };

struct workflow_listed {
    struct str workflow_run_id;
    struct str status; /* one of run_status_names */
    int64_t started_at;
    int64_t ended_at;     /* TIME_NULL */
    int64_t runs, failed; /* of the newest 1,000 */
    bool truncated;       /* it may have more */
    struct list agents;   /* of struct str */
};

struct workflow_list {
    struct list workflows; /* of struct workflow_listed, the latest first */
    bool more;
    int64_t examined_since; /* TIME_NULL: all runs of the range were examined */
};

struct workflow_path {
    struct str slug, workflow_run_id;
};

extern const struct shape run_totals_query_shape, run_totals_shape, agents_query_shape,
    agent_list_shape, agent_detail_shape, workflows_query_shape, workflow_list_shape,
    workflow_shape, workflow_path_shape;
