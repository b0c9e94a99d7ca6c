/* watcher.h - a thread that runs about once a second, independent of requests.
 *
 * Refreshes the caches, so that changes of other processes are seen within a
 * second, checks whether the database answers, and ticks the features.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct db;
struct watcher;

struct watcher_options {
    struct db *db; /* borrowed; no other thread may use it until watcher_free() */
    int (*refresh)(void *ctx, struct db *db, struct error *err); /* the caches */
    bool (*has_more)(const void *ctx); /* to load by a refresh at once, without a tick between */
    void (*tick)(void *ctx, bool healthy); /* on the watcher's thread; must not block for long */
    void *ctx;
};

/* Starts the thread, whose ticks may use *ret. */
int watcher_new(const struct watcher_options *options, struct watcher **ret,
                struct error *err) MUST_CHECK;

/* Refreshes at once, without waiting for the next tick. Any thread. */
void watcher_wake(struct watcher *w);

/* Did the database answer the last check? Any thread. */
bool watcher_is_healthy(const struct watcher *w);

/* NULL is fine. */
void watcher_free(struct watcher *w);

/* The time by the clock of a database that several machines share. Silences, leases and grace
 * periods are compared with times that other machines stored, so all go by the database's clock:
 * this learns how far this machine's clock is off, and sets the program's clock right. With Citus,
 * once the coordinator's clock was read, workers' clocks are ignored, even while the coordinator is
 * unavailable: so nodes on all servers agree. At most one thread calls it with a connection to a
 * worker, and one with a connection to the coordinator. */
int database_clock_learn(struct db *db, struct error *err) MUST_CHECK;
