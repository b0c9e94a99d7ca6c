/* readers.h - a few read-only connections, and threads for what loops must not do themselves.
 *
 * First come, first served, but no tenant has all of the connections, or more
 * than half of a queue that is half full: slow questions of one do not keep the
 * others waiting. What is short may be tried at once, on the thread that asks.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct db;
struct readers;

/* Owned by who asks, which embeds it; alive until done() is called. */
struct reader_job {
    struct reader_job *next; /* the pool's own */
    int64_t tenant_id;       /* who asks; 0: the service itself, which is not held up */

    /* Reader thread, or that of readers_run_inline(). Called again when the connection was lost and
     * found again, or when the time there ran out. */
    int (*run)(struct reader_job *job, struct db *db, struct error *err);

    /* The same thread, exactly once. `err` is NULL on success, and borrowed otherwise. */
    void (*done)(struct reader_job *job, const struct error *err);
};

/* One thread for each of the `n` connections, which nobody else may use until readers_free(). */
int readers_new(struct db *const *dbs, size_t n, size_t queue_max, struct readers **ret,
                struct error *err) MUST_CHECK;

/* Any thread. ERR_BUSY when the queue is full or the pool is stopping. */
int readers_submit(struct readers *r, struct reader_job *job, struct error *err) MUST_CHECK;

/* Runs it now, on this thread, in a hurry of 2 ms (db_set_deadline()), if a connection is free that
 * can and nobody waits for it. True when done() was called. False when it was not, since there was
 * no way or no time to run it: then it is still to be submitted. Only a wait for the disk may take
 * longer; then it is false for a second. Any thread. */
bool readers_run_inline(struct readers *r, struct reader_job *job) MUST_CHECK;

/* How many wait for a thread. Any thread. */
size_t readers_waiting(struct readers *r);

/* Runs what is queued, ends the threads, and waits for who runs something here. NULL is fine. */
void readers_free(struct readers *r);
