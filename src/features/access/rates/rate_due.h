/* rate_due.h - a window whose counts are to be stored, and who waits for that (rate_share.h).
 *
 * One thread at a time.
 */
#pragma once
#include "features/access/rates/rate_share.h"

struct rate_due {
    struct rate_due *next;
    struct rate_window *window;
    int64_t limit, told;
    struct rate_waiter *first, **last; /* in the order in which they came */
};

/* Holds the window. */
struct rate_due *rate_due_new(struct rate_window *window);

/* No waiters may be left. */
void rate_due_free(struct rate_due *due);

void rate_due_add(struct rate_due *due, struct rate_waiter *waiter);

/* Those of `earlier`, which has none then, are before those of `due`. */
void rate_due_prepend(struct rate_due *due, struct rate_due *earlier);

/* The newest that wait make room, as far as others have used it up. */
void rate_due_deny_excess(struct rate_due *due, int64_t now_us);

/* Tells those who asked until `over_us`, by the raw clock, and those who are denied, for whom `err`
 * makes no difference; the others wait on. */
void rate_due_finish(struct rate_due *due, int64_t over_us, const struct error *err);
