/* rate_share.h - rate windows that several processes share, and that outlive a restart.
 *
 * Each process stores what it let through (rate_store.h), and hears from the
 * same table what others did. It may let a few requests through before it asks:
 * a tenth of the limit, divided by the number of processes, so that all of them
 * together exceed the limit by a tenth at most. Beyond that a request waits for
 * the answer, which holds others' requests of the same windows up meanwhile: what
 * is decided there is exact. While the database is away, each process keeps the
 * limit by itself.
 *
 * A process that is alone never waits: it stores its counts each tenth of the
 * limit, so that a restart, even a sudden one, forgets a tenth at most.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "features/access/rate.h"

struct budgets;
struct db;
struct engine;
struct rate_share;
struct writer;

/* A request that waits for what others let through. Owned by the caller, alive until done(). */
struct rate_waiter {
    struct rate_waiter *next; /* internal */
    int64_t asked_us;         /* raw clock: when the request came */
    bool denied;              /* the limit was reached elsewhere */

    /* The writer's thread, or the caller's. An error: the database did not answer in its time. */
    void (*done)(struct rate_waiter *waiter, const struct error *err);
};

struct rate_share *rate_share_new(struct budgets *budgets, bool shared);

/* NULL is fine. */
void rate_share_free(struct rate_share *s);

/* Reads what processes before this one let through in the last minute. Before threads start. */
int rate_share_load(struct rate_share *s, struct db *db, struct error *err) MUST_CHECK;

/* Says that this process runs, and learns how many do; from then on counts are stored. */
int rate_share_start(struct rate_share *s, struct writer *writer, struct error *err) MUST_CHECK;

/* As rate_take(). *ret_waits: it is counted, but only rate_share_wait() decides. */
struct rate_verdict rate_share_take(struct rate_share *s, struct rate_window *w, int64_t limit,
                                    bool *ret_waits);
void rate_share_wait(struct rate_share *s, struct rate_window *w, int64_t limit,
                     struct rate_waiter *waiter);

/* Once a second: says that this process runs, and deletes what is old. */
void rate_share_tick(struct rate_share *s, int64_t mono_us);

/* Stores a window that was used since it was last stored; for all windows, at a clean stop. */
void rate_share_keep(struct rate_share *s, struct rate_window *w);

/* After the last of those, while the writer still accepts jobs. */
void rate_share_stop(struct rate_share *s);

/* How many processes share the windows. */
int64_t rate_share_nodes(const struct rate_share *s);
