/* shapes.h - alerts, as they are read.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

enum alert_state { ALERT_OPEN, ALERT_CLOSED };

extern const char *const alert_state_names[]; /* in that order, ends in NULL */

struct alerts_query {
    int64_t limit;
    struct str cursor;     /* null: from the newest */
    int state;             /* enum alert_state; -1: any */
    struct str type;       /* null: any */
    struct str agent_name; /* null: any */
    struct opt_bool acknowledged;
};

struct alert {
    struct str alert_id, type;
    struct str state;      /* one of alert_state_names */
    struct str agent_name; /* null: not about an agent */
    struct str run_id;     /* null: not about a run */
    int64_t since_at, opened_at;
    int64_t closed_at;    /* TIME_NULL */
    struct str closed_by; /* null */
    struct opt_int away_seconds;
    int64_t acknowledged_at;    /* TIME_NULL */
    struct str acknowledged_by; /* null */
    struct str note;            /* null */
    int64_t reminded_at;        /* TIME_NULL */
    bool muted;
    struct str detail; /* JSON object */
};

struct alert_path {
    struct str slug, alert_id;
};

struct mute_set {
    int64_t until;
};

struct mute_state {
    struct str agent_name;
    int64_t muted_until; /* TIME_NULL: not muted */
};

extern const struct shape alerts_query_shape, alert_shape, alert_list_shape, alert_path_shape,
    mute_set_shape, mute_state_shape;
