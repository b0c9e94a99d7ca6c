/* workers.h - a few threads that wait for the identity provider, so that no loop does.
 *
 * The queue is bounded, and a job that has waited for too long is not begun: a
 * provider that hangs costs its own sign-ins a 503 and nothing else.
 */
#pragma once
#include <stdatomic.h>

#include "base/err.h"

enum { WORKERS = 4, WORKERS_QUEUE_MAX = 64, WORKERS_WAIT_MAX_S = 15 };

struct workers;

/* Owned by the submitter, until run(). */
struct worker_job {
    struct worker_job *next; /* internal, as is queued_us */
    int64_t queued_us;

    /* On a worker's thread, exactly once. `err` is NULL, or says why the job must not be begun. */
    void (*run)(struct worker_job *job, const struct error *err);
};

/* The caller owns *ret. */
int workers_new(struct workers **ret, struct error *err) MUST_CHECK;

/* From now on jobs are not begun, also those that are queued, and workers_cancel() is true. */
void workers_stop(struct workers *w);

/* Stops, and waits for what was begun. Jobs may still be submitted: they are refused. */
void workers_end(struct workers *w);

/* No other thread may use it any longer. NULL is fine. */
void workers_free(struct workers *w);

/* True once they are to stop. */
const atomic_bool *workers_cancel(const struct workers *w);

/* Any thread. ERR_BUSY when the queue is full: run() is then not called. */
int workers_submit(struct workers *w, struct worker_job *job, struct error *err) MUST_CHECK;
