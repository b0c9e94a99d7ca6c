/* shapes.h - agents' schedules and maintenance windows over the wire.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "features/agents/schedules/schedules.h"

extern const char *const weekday_names[]; /* sun to sat, ends in NULL */

struct schedule_set {
    struct opt_int interval_seconds;
    struct str cron; /* null */
    struct str time_zone;
    struct opt_int grace_seconds;
    bool paused;
};

/* After a change of it. */
struct schedule_state {
    struct str agent_name;
    struct agent_schedule *schedule; /* NULL: nothing is expected of it */
};

struct window_create {
    struct str agent_name; /* null: all agents */
    struct str note;
    int64_t from, until;  /* TIME_NULL */
    struct list weekdays; /* of struct str */
    struct str start;     /* null */
    struct opt_int minutes;
    struct str time_zone;
};

struct maintenance_window {
    struct str window_id;
    struct str agent_name; /* null: all agents */
    struct str note;
    int64_t from, until;  /* TIME_NULL: weekly */
    struct list weekdays; /* of struct str; empty: once */
    struct str start;     /* null: once */
    struct opt_int minutes;
    struct str time_zone; /* null: once */
    bool active;
    int64_t created_at;
    struct str created_by;
};

struct window_path {
    struct str slug, window_id;
};

/* "08:30" in minutes since midnight; -1: it is no time of day. */
int64_t window_minute(struct str text);

extern const struct shape schedule_set_shape, schedule_state_shape, window_create_shape,
    maintenance_window_shape, window_list_shape, window_path_shape;
