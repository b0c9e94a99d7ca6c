/* rate.h - rate limit per key: at most N requests in any 60 seconds.
 *
 * Exact up to RATE_EXACT_MAX: the time of every counted request is kept until
 * it leaves the window. Above that, requests are counted in short sub-windows,
 * and the oldest counts fully until all of it has left the window: never more
 * than N pass in 60 seconds, sometimes a little fewer. Refused requests do not count.
 * Monotonic time only.
 *
 * Where several processes count for one key, each tells the others in a text
 * what it let through, by the second (rate_share.h), and what it hears of them
 * counts as its own, each second until all of it has left the window.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/str.h"

struct buf;
struct rate_window;

enum { RATE_WINDOW_S = 60, RATE_EXACT_MAX = 10000 };

struct rate_verdict {
    bool allowed;
    int64_t limit, remaining;
    int64_t reset_s; /* until the oldest counted request leaves the window, rounded up */
    int64_t untold;  /* how many were counted here of which others were not told */
};

typedef void rate_window_fn(void *ctx, struct rate_window *w);

/* One moment by both clocks. */
struct rate_moment {
    int64_t mono_us, wall_us;
};

/* With one hold. `about` says whose it is; its name, which is made from that, is the same in all
 * processes. */
struct rate_window *rate_window_new(struct str about);
struct str rate_window_name(const struct rate_window *w);

/* True once, for the first who asks. */
bool rate_window_meet(struct rate_window *w);

/* Another hold. */
struct rate_window *rate_window_hold(struct rate_window *w);

/* Ends a hold; the last one frees it. NULL is fine. */
void rate_window_free(struct rate_window *w);

/* Counts a request at `now_us` (monotonic) unless that would exceed `limit`, which may change from
 * call to call. */
struct rate_verdict rate_take(struct rate_window *w, int64_t limit, int64_t now_us);

/* The same without counting: never allowed. */
struct rate_verdict rate_look(struct rate_window *w, int64_t limit, int64_t now_us);

/* How many more than the limit were let through, here and elsewhere. */
int64_t rate_excess(struct rate_window *w, int64_t limit, int64_t now_us);

/* The newest that was counted here is not let through after all. */
void rate_give_back(struct rate_window *w);

/* What was let through here, as a text for rate_hear(). Returns how many of it others do not know
 * yet; rate_told() says that they do now. */
int64_t rate_tell(struct rate_window *w, struct rate_moment now, struct buf *ret);
void rate_told(struct rate_window *w, int64_t n);

/* How many others do not know of, and the limit when it was last asked. */
int64_t rate_untold(struct rate_window *w, int64_t *ret_limit);

/* All that others let through, as each of them tells it; replaces what was heard before. A text
 * that rate_tell() did not write is ignored. */
void rate_hear(struct rate_window *w, struct rate_moment now, const struct str *texts, size_t n);
