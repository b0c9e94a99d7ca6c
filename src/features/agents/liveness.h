/* liveness.h - whether an agent is up, late or silent, by its last-seen time and its schedule.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "features/agents/schedules/schedules.h"
#include "shape/shape.h"

enum liveness_state {
    LIVENESS_UP,
    LIVENESS_LATE,
    LIVENESS_SILENT,
    LIVENESS_UNSCHEDULED,    /* it reports, and has no schedule, or one that is paused */
    LIVENESS_NEVER_REPORTED, /* it was only registered */
    LIVENESS_DISABLED,
    LIVENESS_STATES /* how many there are */
};

extern const char *const liveness_names[]; /* in that order, ends in NULL */

struct liveness {
    bool enabled;
    struct schedule schedule;
    struct windows windows;
    int64_t last_seen_at; /* TIME_NULL: never */
    bool state_only;      /* of an agent that is up: it need not be looked for in the windows */
};

struct liveness_verdict {
    enum liveness_state state;
    int64_t next_expected_at;  /* late from then on; TIME_NULL: nothing is expected, disabled or
                                * never seen */
    int64_t silent_at;         /* TIME_NULL in the same cases */
    int64_t maintenance_until; /* TIME_NULL: no window is open now */
};

struct liveness_verdict liveness_of(const struct liveness *agent, int64_t now_us);
