/* rate_past.h - what processes let through before this one started, until it has left the windows.
 *
 * Read once, at the start; each window meets it when it is first used.
 * Thread-safe after rate_past_load().
 */
#pragma once
#include "base/err.h"
#include "features/access/rate.h"

struct db;
struct rate_past;

struct rate_past *rate_past_new(void);

/* NULL is fine. */
void rate_past_free(struct rate_past *p);

int rate_past_load(struct rate_past *p, struct db *db, struct error *err) MUST_CHECK;

/* If this is the first use of the window, it hears of what there is. */
void rate_past_meet(struct rate_past *p, struct rate_window *w, struct rate_moment now);

/* Frees it when all of it has left. */
void rate_past_forget(struct rate_past *p, int64_t mono_us);
