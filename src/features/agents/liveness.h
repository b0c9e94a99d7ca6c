/* liveness.h - is an agent up, late or silent? From a clock and its last sign of life.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include <stdbool.h>

#include "shape/shape.h"

/* The states of an agent by the clock. */
enum liveness_state {
    LIVENESS_UP,
    LIVENESS_LATE,
    LIVENESS_SILENT,
    LIVENESS_UNKNOWN,
    LIVENESS_DISABLED
};

extern const char *const liveness_names[]; /* in that order, ends in NULL */

/* What an agent is judged by. */
struct liveness {
    bool enabled;
    struct opt_int interval_seconds; /* not above 0 is none; over a century counts as one */
    int64_t last_seen_at;            /* TIME_NULL: never */
};

struct liveness_verdict {
    enum liveness_state state;
    int64_t next_expected_at; /* late from then on; TIME_NULL: nothing is expected of it */
    int64_t silent_at;        /* TIME_NULL likewise */
};

struct liveness_verdict liveness_of(const struct liveness *agent, int64_t now_us);

/* How long after a sign of life the next one is due, and how much later the agent is silent: half
 * of the interval, but at least a minute and at most an hour. 0: nothing is expected of it. */
int64_t liveness_interval_us(const struct opt_int *interval_seconds);
int64_t liveness_grace_us(int64_t interval_us);
