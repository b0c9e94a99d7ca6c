/* shapes.h - run events as agents send them, and as they are read back. */
#pragma once
#include "features/events/cursors.h"
#include "shape/shape.h"
#include "shape/timerange.h"

enum run_event { EVENT_STARTED, EVENT_COMPLETED, EVENT_FAILED, EVENT_IN_PROGRESS };

extern const char *const run_event_names[]; /* in that order, ends in NULL */

struct telemetry_event {
    struct str event_id, agent_name, agent_version, client_id, run_id;
    int event; /* enum run_event */
    int64_t timestamp;
    struct opt_int duration_ms, records_processed;
    struct str error_type, error_message; /* null */
    struct str metadata;                  /* T_DICT_STR */
    struct str output;                    /* T_OBJECT, null */
    struct str workflow_run_id;           /* null */
    struct str message, level, category, source;
    int64_t seq;
    struct str metrics; /* T_DICT_NUM */
    struct str links;   /* T_LIST_TEXT */
};

struct telemetry_batch {
    struct list events; /* of struct telemetry_event */
};

/* The answer to one event. */
struct event_verdict {
    struct str status; /* accepted, duplicate, rejected */
    struct str event_id, run_id;
    struct str reason, detail; /* null (left out) unless rejected */
};

/* An event as stored: every field sent, and when it was received. */
struct stored_event {
    struct telemetry_event event;
    int64_t received_at;
    bool clock_skewed; /* the timestamp was over an hour ahead of our clock */
};

enum run_status { RUN_IN_PROGRESS, RUN_COMPLETED, RUN_FAILED, N_RUN_STATUSES };

extern const char *const run_status_names[]; /* in that order, ends in NULL */

/* A run as derived from its events. */
struct run_summary {
    struct str run_id, agent_name, agent_version;
    struct str workflow_run_id; /* null */
    struct str status;          /* one of run_status_names */
    int64_t started_at;
    int64_t ended_at; /* TIME_NULL */
    struct opt_int duration_ms, records_processed;
    struct str error_type, error_message; /* null */
    struct str message;
    int64_t event_count;
    int64_t last_event_at;
};

struct run_narrative {
    struct run_summary *run;
    struct list events;     /* of struct stored_event */
    struct str next;        /* cursor; null on the last page, empty (left out) without pages */
    struct opt_int damaged; /* left out unless there are any */
};

/* The answer to a batch. */
struct batch_result {
    int64_t index;     /* in the request, from 0 */
    struct str status; /* accepted, duplicate, rejected */
    struct str event_id;
    struct str reason; /* null (left out) unless rejected */
};

struct batch_verdict {
    int64_t accepted, duplicates, rejected;
    struct list results; /* of struct batch_result, in request order */
};

/* A page of runs. */
struct run_listed {
    struct run_summary run;
    struct list steps;     /* of struct stored_event; left out when items is NULL */
    struct str steps_next; /* null (left out): these are all steps */
    struct opt_int tokens; /* the next two: left out unless requested and known */
    struct str cost;
    struct opt_int damaged;
};

struct run_list {
    struct list runs;       /* of struct run_listed, newest start first */
    struct str next;        /* cursor, null on the last page and of sorted lists */
    int64_t examined_since; /* TIME_NULL (left out): all runs that match */
};

/* Of a list of runs; their facets have its filters alone. */
struct runs_query {
    bool include_steps, include_cost;
    struct str since, until; /* null */
    int64_t limit;
    struct str cursor, agent_name;           /* null */
    int status;                              /* enum run_status; -1: any */
    struct str workflow_run_id;              /* null */
    struct str agent_version, error_type, q; /* null */
    bool untyped;                            /* failed without a type of error */
    int order;                               /* enum run_order */
    bool ascending;

    struct time_range range; /* since and until, resolved when the query was read */
    struct run_cursor after; /* the parsed cursor; RUN_CURSOR_TOP without one */
};

struct run_path {
    struct str slug, run_id;
};

/* Not the newest first? Then it has no pages. */
bool runs_query_is_sorted(const struct runs_query *query);

enum { FACET_VALUES_MAX = 20 };

struct facet_value {
    struct str value;
    int64_t runs;
};

struct run_facets {
    int64_t runs; /* that match all filters */
    /* Only runs since then were counted, for `runs` and `status`, for the other values, and for
     * the agents or workflows that could be chosen instead of one. TIME_NULL: all of the range. */
    int64_t counted_since, examined_since, others_since;
    int64_t newest_at; /* when the newest counted run started; TIME_NULL: nothing is counted */
    struct list status, agent_name, agent_version, error_type,
        workflow_run_id; /* of struct facet_value, most frequent first */
    int64_t untyped;     /* runs that failed without a type of error */
};

struct narrative_query {
    struct opt_int limit;
    struct str cursor; /* null */
    bool from_end;
    struct str q, category; /* null */
    int level;              /* enum event_level; -1: any */

    struct event_place after; /* the parsed cursor; without one, the end where reading begins */
};

enum event_level { LEVEL_WARNING, LEVEL_ERROR };

extern const char *const event_level_names[]; /* in that order, ends in NULL */

/* A run by category and time. */
struct timeline_tick {
    int64_t at;
    int64_t events, errors;
};

struct timeline_lane {
    struct str category;
    int64_t events, errors, warnings;
    int64_t first_at, last_at;
    struct list ticks; /* of struct timeline_tick, in the order of time */
};

struct run_timeline {
    int64_t events, errors, warnings;
    struct list lanes;    /* of struct timeline_lane, in the order of their first events */
    int64_t other_events; /* of further categories */
};

struct rebuild_query {
    int64_t after;
};

/* One page of a rebuild; `next` is the `after` of the next page, null when done. */
struct runs_rebuild {
    int64_t runs, changed, damaged;
    struct opt_int next;
};

extern const struct shape telemetry_event_shape, telemetry_batch_shape, event_verdict_shape,
    run_summary_shape, stored_event_shape, run_narrative_shape, batch_verdict_shape, run_list_shape,
    runs_query_shape, run_facets_query_shape, run_facets_shape, narrative_query_shape,
    run_path_shape, run_timeline_shape, rebuild_query_shape, runs_rebuild_shape;
