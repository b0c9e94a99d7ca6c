/* readers.h - a few threads with read-only connections, for what loops must not do themselves.
 *
 * First come, first served, but no tenant has all of the threads, or more than
 * half of a queue that is half full: slow questions of one do not keep the
 * others waiting.
 *
 * Layer: service. May use: base, db. Must not use: http, api.
 */
#pragma once
#include "base/err.h"

struct db;
struct readers;

/* Owned by the submitter, which embeds it; alive until done() is called. */
struct reader_job {
    struct reader_job *next; /* the pool's own */
    int64_t tenant_id;       /* who asks; 0: the service itself, which is not held up */

    /* Reader thread. Called a second time when the connection was lost and found again. */
    int (*run)(struct reader_job *job, struct db *db, struct error *err);

    /* Reader thread, exactly once. `err` is NULL on success, and borrowed otherwise. */
    void (*done)(struct reader_job *job, const struct error *err);
};

/* One thread for each of the `n` connections, which nobody else may use until readers_free(). */
int readers_new(struct db *const *dbs, size_t n, size_t queue_max, struct readers **ret,
                struct error *err) MUST_CHECK;

/* Any thread. ERR_BUSY when the queue is full or the pool is stopping. */
int readers_submit(struct readers *r, struct reader_job *job, struct error *err) MUST_CHECK;

/* How many wait for a thread. Any thread. */
size_t readers_waiting(struct readers *r);

/* Runs what is queued, then ends the threads. NULL is fine. */
void readers_free(struct readers *r);
