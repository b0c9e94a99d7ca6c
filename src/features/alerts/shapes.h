/* shapes.h - alerts as they are read, and what people do about them.
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

enum {
    ALERT_NOTE_MAX = 2000,    /* characters */
    ALERTS_AT_ONCE_MAX = 1000 /* acknowledged by one request */
};

struct alert_entry {
    struct str entry_id;
    int64_t at;
    struct str what;  /* one of alert_entry_names */
    struct str actor; /* null: the service */
    struct str note;  /* null */
};

struct alerts_acknowledge {
    struct list alert_ids; /* of struct str */
    struct str note;       /* null: none */
};

struct alerts_acknowledged {
    int64_t acknowledged; /* by this request */
};

struct alert_note_set {
    struct str note;
};

/* Open alerts of one type. */
struct alert_count {
    struct str type;
    int64_t open, unacknowledged;
};

struct alert_counts {
    int64_t open, unacknowledged;
    bool complete;
    struct list types; /* of struct alert_count */
};

extern const struct shape alerts_query_shape, alert_shape, alert_list_shape, alert_path_shape,
    mute_set_shape, mute_state_shape, alert_entry_shape, alert_history_shape,
    alerts_acknowledge_shape, alerts_acknowledged_shape, alert_note_set_shape, alert_count_shape,
    alert_counts_shape;
