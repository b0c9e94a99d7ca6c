/* writer.h - group commit: many jobs, one transaction.
 * Any thread submits jobs; a writer thread takes queued jobs, with tenants taking
 * turns (job_queue.h), applies them in one transaction, and has each job's done()
 * called only when that is durable: at once, or by the syncer (syncer.h).
 * SQLite has one writer thread, since only one connection may write; PostgreSQL
 * may have several, each with its own connection.
 *
 * A job whose caller has waited for its turn for as long as it may ends with ERR_BUSY.
 *
 * Invariants:
 *  1. done(NULL) is called only when the commit that contains the job is durable.
 *  2. Each accepted job's done() is called exactly once, whatever happens.
 *  3. After ERR_IO on a commit or a sync it is unknown what is stored: every waiting and
 *     later job fails, on_fatal is called once, and the process must end.
 */
#pragma once
#include <stdbool.h>

#include "engine/job.h"

struct budget;
struct db;
struct txn;
struct writer;

/* Hooks of a transaction, as in struct txn_methods (txn.h). */
struct writer_hooks {
    int (*announced)(struct txn *txn, struct error *err);
    int (*prepare)(struct txn *txn, struct error *err);
    void (*committed)(struct txn *txn);
    void (*rolled_back)(struct txn *txn);
    void (*changed)(struct txn *txn);
};

struct writer_options {
    /* One per thread, each with a connection of its own; no other thread may use them until
     * writer_stop() has returned. */
    struct txn *txns;
    size_t n_txns;
    bool shared;                      /* other processes write too: jobs are applied in one order */
    const struct writer_hooks *hooks; /* NULL: none */
    struct writer_limits limits;
    void (*on_fatal)(void *ctx, const struct error *err); /* a thread of the writer's */
    void *ctx;
};

/* Starts the threads. The caller owns *ret. */
int writer_new(const struct writer_options *options, struct writer **ret,
               struct error *err) MUST_CHECK;

/* Any thread. ERR_BUSY: the queue or the tenant's share of it (BUDGET_EVENTS, BUDGET_WRITER_US) is
 * full, or the writer is stopping. A tenant without queued jobs can always submit a small job, and
 * its share is not checked. ERR_IO: see invariant 3. */
int writer_submit(struct writer *w, struct writer_job *job, struct error *err) MUST_CHECK;

/* As db_place_of(), for code that fills in struct writer_job. Any thread. */
int64_t writer_place_of(const struct writer *w, int64_t tenant_id);

/* Writer thread, in a transaction; may be called again after a rollback. */
typedef int sync_job_fn(void *ctx, struct db *db, struct error *err);

/* Returns when the job is durable or has failed; a full queue does not refuse it. Never call it on
 * a loop thread or the writer's. */
int writer_run_and_wait(struct writer *writer, sync_job_fn *fn, void *ctx,
                        struct error *err) MUST_CHECK;

/* The same for a caller with a deadline: fails when the caller has waited for too long since
 * `asked_us`. Both are as in struct writer_job. */
int writer_run_sync_for(struct writer *writer, struct budget *budget, int64_t asked_us,
                        sync_job_fn *fn, void *ctx, struct error *err) MUST_CHECK;

/* Begins no transaction for `ms`; jobs wait in the queue. 0: ends the pause. Any thread. */
void writer_pause(struct writer *w, int ms);

/* Has every thread worked on one group for more than 5 s, so that what is queued waits for it? Or
 * has a job failed within the last 5 s because it had waited too long? Any thread. */
bool writer_is_stalled(const struct writer *w);

/* Any thread. */
void writer_waiting(struct writer *w, struct writer_queue *ret);

/* Fails the jobs whose callers have waited for as long as they may, though the writer itself may be
 * waiting for a disk. Any thread. */
void writer_expire(struct writer *w);

/* Commits what is queued, then ends the threads; later jobs are refused. NULL is fine. */
void writer_stop(struct writer *w);

/* Stops it first if needed. NULL is fine. */
void writer_free(struct writer *w);
