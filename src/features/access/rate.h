/* rate.h - rate limit per key: at most N requests in any 60 seconds.
 *
 * Exact: the time of every counted request is kept until it leaves the window, in 8 bytes.
 * Refused requests do not count. Monotonic time only.
 *
 * Where several nodes count for one key (rate_share.h), what the others let
 * through counts too, each second until all of it has left the window. A window
 * whose limit was reached by several nodes is contended for a minute: then each
 * node gets a share of what is left each second.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/err.h"
#include "base/str.h"

struct budgets;
struct db;
struct engine;
struct rate_share;
struct rate_window;
struct writer;

/* Any thread. */
struct rate_share *access_rates(const struct engine *e);

enum {
    RATE_WINDOW_S = 60,
    RATE_SECONDS = 64, /* 61 that have not left the window, and some for unequal clocks */
};

struct rate_verdict {
    bool allowed;
    bool contended; /* this node needs the counts of other nodes every second */
    int64_t limit, remaining;
    int64_t reset_s; /* until the oldest counted request leaves the window, rounded up */
    int64_t unsaved; /* counted here, and not stored yet */
};

/* One moment by both clocks. */
struct rate_moment {
    int64_t mono_us, wall_us;
};

/* What other nodes let through, by the second of the wall clock from rate_first_second() on. */
struct rate_others {
    int64_t counts[RATE_SECONDS];
    size_t nodes; /* how many of them used the window; 0: no other node does, and there are no
                     shares */
    size_t rank;  /* how many of them have a name that sorts before this one's */
};

/* A new window with one hold. `about` identifies its owner; the window's name is derived from it
 * and is the same in all processes. */
struct rate_window *rate_window_new(struct str about);
struct str rate_window_name(const struct rate_window *w);

/* Another hold. */
struct rate_window *rate_window_hold(struct rate_window *w);

/* Ends a hold; the last one frees it. NULL is fine. */
void rate_window_free(struct rate_window *w);

/* Counts a request at `now_us` (monotonic) unless that would exceed `limit`, which may change from
 * call to call. */
struct rate_verdict rate_take(struct rate_window *w, int64_t limit, int64_t now_us);

/* True for the first call for this window. */
bool rate_is_new(struct rate_window *w);

/* Marks the window to be stored: true for the first call since rate_begin_saving(), which returns
 * how many requests are not stored yet. rate_saved(): `n` of them are stored now. */
bool rate_mark_due(struct rate_window *w);
int64_t rate_begin_saving(struct rate_window *w);
void rate_saved(struct rate_window *w, int64_t n);

/* The oldest second that may still be within the window. */
int64_t rate_first_second(int64_t wall_us);

/* Replaces what was known of other nodes. */
void rate_set_others(struct rate_window *w, struct rate_moment now,
                     const struct rate_others *others);

struct rate_share *rate_share_new(struct budgets *budgets, bool shared);

/* NULL is fine. */
void rate_share_free(struct rate_share *s);

/* Reads what was let through in the last minute before this process. Before threads start. */
int rate_share_load(struct rate_share *s, struct db *db, struct error *err) MUST_CHECK;

/* Enters this node, and counts the nodes; from then on counts are stored. */
int rate_share_start(struct rate_share *s, struct writer *writer, struct error *err) MUST_CHECK;

/* As rate_take(), with the monotonic clock. */
struct rate_verdict rate_share_take(struct rate_share *s, struct rate_window *w, int64_t limit);

/* Once a second. */
void rate_share_tick(struct rate_share *s, int64_t mono_us);

/* Stores what is left, while the writer still accepts jobs. */
void rate_share_stop(struct rate_share *s);

/* How many nodes share the windows. */
int64_t rate_share_nodes(const struct rate_share *s);
