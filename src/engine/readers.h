/* readers.h - a pool of read-only connections, and threads for reads that would block a loop.
 *
 * Next is a job of the tenant that has the fewest connections in use, in order
 * of submission. No tenant gets all connections, or more of the queue than its
 * share (BUDGET_READS): slow reads of one tenant do not delay the others. A short
 * read may be run inline, on the caller's thread.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct budget;
struct db;
struct readers;

/* Owned by the submitter, which embeds it; alive until done() is called. */
struct reader_job {
    struct reader_job *next; /* internal, as is since when it counts as waiting */
    int64_t since_us;        /* raw clock */
    int64_t asked_us;        /* raw clock: when its caller asked; 0: it asks now */
    struct budget *budget;   /* of the caller, whose share it takes; NULL: the service's own */
    int64_t tenant_id;       /* the only tenant whose rows it reads; 0: unknown, or several */
    bool ahead; /* runs before all other jobs, and may exceed the queue's limit by half */

    /* Reader thread, or the caller of readers_run_inline(). Called again after a deadline passed.
     */
    int (*run)(struct reader_job *job, struct db *db, struct error *err);

    /* The same thread, exactly once. `err` is NULL on success, and borrowed otherwise. */
    void (*done)(struct reader_job *job, const struct error *err);
};

/* One thread per connection; no other thread may use the `n` connections until readers_free(). A
 * job whose caller has waited for its turn for `wait_max_us` ends with ERR_BUSY. 0: there is no
 * limit, and the time from the wait to the end of run() does not count towards the caller's
 * deadline (asked_us), since most of it is not spent in the database. */
int readers_new(struct db *const *dbs, size_t n, size_t queue_max, int64_t wait_max_us,
                struct readers **ret, struct error *err) MUST_CHECK;

/* Any thread. ERR_BUSY when the queue or the tenant's share of it is full, or the pool is stopping.
 */
int readers_submit(struct readers *r, struct reader_job *job, struct error *err) MUST_CHECK;

/* Runs it now, on this thread, with a deadline of 2 ms (db_set_deadline()), if a connection is free
 * and no queued job waits for it. True when done() was called. False when there was no connection
 * or not enough time: submit the job then. Only a wait for the disk can take longer than the
 * deadline; after one the answer is false for a second. Any thread. */
bool readers_run_inline(struct readers *r, struct reader_job *job) MUST_CHECK;

/* Queued jobs. Any thread. */
size_t readers_waiting(struct readers *r);

/* Runs what is queued, ends the threads, and waits for inline runs to return. NULL is fine. */
void readers_free(struct readers *r);
