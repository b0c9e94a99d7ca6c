/* shapes.h - what people do about alerts: acknowledgements, notes, and their history.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

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

extern const struct shape alert_entry_shape, alert_history_shape, alerts_acknowledge_shape,
    alerts_acknowledged_shape, alert_note_set_shape, alert_count_shape, alert_counts_shape;
