/* rate.h - rate limit per key: at most N requests in any 60 seconds.
 *
 * Exact up to RATE_EXACT_MAX: the time of every counted request is kept until
 * it leaves the window. Above that, requests are counted in short sub-windows,
 * and the oldest counts fully until all of it has left the window: never more
 * than N pass in 60 seconds, sometimes a little fewer. Refused requests do not count.
 * Monotonic time only.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"

struct rate_window;

enum { RATE_WINDOW_S = 60, RATE_EXACT_MAX = 10000 };

struct rate_verdict {
    bool allowed;
    int64_t limit, remaining;
    int64_t reset_s; /* until the oldest counted request leaves the window, rounded up */
};

struct rate_window *rate_window_new(void);

/* NULL is fine. */
void rate_window_free(struct rate_window *w);

/* Counts a request at `now_us` (monotonic) unless that would exceed `limit`, which may change from
 * call to call. */
struct rate_verdict rate_take(struct rate_window *w, int64_t limit, int64_t now_us);
