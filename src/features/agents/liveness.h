/* liveness.h - whether an agent is up, late or silent, by its last-seen time and its interval.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include <stdbool.h>

#include "shape/shape.h"

enum liveness_state {
    LIVENESS_UP,
    LIVENESS_LATE,
    LIVENESS_SILENT,
    LIVENESS_UNSCHEDULED,    /* it reports, and has no interval */
    LIVENESS_NEVER_REPORTED, /* it was only registered */
    LIVENESS_DISABLED,
    LIVENESS_STATES /* how many there are */
};

extern const char *const liveness_names[]; /* in that order, ends in NULL */

struct liveness {
    bool enabled;
    struct opt_int interval_seconds; /* 0 or less: no interval; capped at a century */
    int64_t last_seen_at;            /* TIME_NULL: never */
};

struct liveness_verdict {
    enum liveness_state state;
    int64_t
        next_expected_at; /* late from then on; TIME_NULL: no interval, disabled or never seen */
    int64_t silent_at;    /* TIME_NULL in the same cases */
};

struct liveness_verdict liveness_of(const struct liveness *agent, int64_t now_us);

/* The expected interval between sightings (0: not expected), and the grace after which an agent
 * that is late is silent: half of the interval, but at least a minute and at most an hour. */
int64_t liveness_interval_us(const struct opt_int *interval_seconds);
int64_t liveness_grace_us(int64_t interval_us);
