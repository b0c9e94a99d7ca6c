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

#include "base/err.h"
#include "base/str.h"

struct budget;
struct db;
struct job_cost;
struct txn;
struct writer;

enum { WRITERS_MAX = 4 };

enum writer_job_state {
    JOB_NEW,    /* belongs to the submitter */
    JOB_QUEUED, /* accepted: done() will be called */
    JOB_DONE,   /* belongs to the submitter again */
};

/* Owned by the submitter, which embeds it; alive until done() is called. */
struct writer_job {
    struct writer_job *next;     /* internal, as are the state, the cost, the time and the place */
    enum writer_job_state state; /* JOB_NEW, or JOB_DONE when it is submitted again */
    int64_t cost_us;
    int64_t since_us; /* raw clock: since when its caller waits; 0: it has none */
    int64_t place;    /* of its tenant (db/servers.h) */

    /* Writer thread, before any job of the group is applied: says what apply() will ask for, so
     * that it can be read for all of them at once. May be NULL. */
    void (*announce)(struct writer_job *job, struct txn *txn);

    /* Writer thread, in the transaction. A failure rolls the whole group back. May be called again
     * for the same job, after a rollback. */
    int (*apply)(struct writer_job *job, struct txn *txn, struct error *err);

    /* Writer thread, after the commit and before the next transaction, for the module that applied
     * it; may be NULL. The sync may still fail: then the process ends. */
    void (*committed)(struct writer_job *job);

    /* A thread of the writer's, for the submitter. `err` is NULL when durable, and borrowed
     * otherwise. */
    void (*done)(struct writer_job *job, const struct error *err);
    void *owner; /* for the submitter */

    /* Whose rows it locks; 0 and STR_NULL: of several, or none; 0 and a key's id: that key's. See
     * job_queue.h. */
    int64_t tenant_id;
    struct str agent_name;

    int64_t asked_us; /* raw clock: when its caller asked, who is to be answered in time; 0: now,
                       * or if it has no budget, it may take as long as it takes */
    struct budget *budget; /* of the caller, whose turn and share it takes; NULL: the service's */
    struct job_cost *cost; /* of its kind; NULL: of jobs without one */
    size_t events, bytes;  /* its weight in the queue; an event is a unit of its cost */
    bool administrative; /* of a user or the operator: waits apart from what the tenant's keys send,
                          * and does not need room in its share, so that a flood can be ended */
    bool exclusive;      /* runs in a transaction of its own, because it may fail */
    bool keeps_caches;   /* exclusive, and changes nothing that struct txn caches */
    bool writes_first;   /* exclusive, and does not begin by reading much */
    bool unbounded;      /* accepted even when the queue is full: few jobs, of the service itself */
    struct txn *txn;     /* set by the writer before apply() */
};

/* Hooks of a transaction, as in struct txn_methods (txn.h). */
struct writer_hooks {
    int (*announced)(struct txn *txn, struct error *err);
    int (*prepare)(struct txn *txn, struct error *err);
    void (*committed)(struct txn *txn);
    void (*rolled_back)(struct txn *txn);
    void (*changed)(struct txn *txn);
};

struct writer_limits {
    size_t events_max; /* in the queue; beyond this writer_submit() returns ERR_BUSY */
    size_t bytes_max;
    size_t group_max; /* events per transaction */
    unsigned
        wait_max_ms; /* how long a job whose caller waits may wait for its turn; it is at least
                      * a second. One that is expected to wait longer is refused. 0: no limit */
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
 * full, or the writer is stopping. A tenant that has nothing in the queue is not refused a small
 * job, nor for its share. ERR_IO: see invariant 3. */
int writer_submit(struct writer *w, struct writer_job *job, struct error *err) MUST_CHECK;

/* As db_place_of(), for those who put jobs together. Any thread. */
int64_t writer_place_of(const struct writer *w, int64_t tenant_id);

/* Writer thread, in a transaction; may be called again after a rollback. */
typedef int sync_job_fn(void *ctx, struct db *db, struct error *err);

/* Returns when the job is durable or has failed; a full queue does not refuse it. Never call it on
 * a loop thread or the writer's. */
int writer_run_sync(struct writer *writer, sync_job_fn *fn, void *ctx,
                    struct error *err) MUST_CHECK;

/* The same for a caller who must be answered: it fails when that has waited for too long since
 * `asked_us`. Both are as in struct writer_job. */
int writer_run_sync_for(struct writer *writer, struct budget *budget, int64_t asked_us,
                        sync_job_fn *fn, void *ctx, struct error *err) MUST_CHECK;

/* No transaction begins for so long: jobs wait. 0: they go on. Any thread. */
void writer_pause(struct writer *w, int ms);

/* Has every thread worked on one group for more than 5 s, so that what is queued waits for it? Or
 * has a job failed within the last 5 s because it had waited too long? Any thread. */
bool writer_is_stalled(const struct writer *w);

/* The jobs in the queue. */
struct writer_queue {
    size_t events, bytes;
    size_t tenants;        /* that have jobs in it */
    size_t tenant_largest; /* the most events of one of them */
};

/* Any thread. */
void writer_waiting(struct writer *w, struct writer_queue *ret);

/* Bytes of all jobs submitted since the start. Any thread. */
uint64_t writer_submitted(struct writer *w);

/* Commits what is queued, then ends the threads; later jobs are refused. NULL is fine. */
void writer_stop(struct writer *w);

/* Stops it first if needed. NULL is fine. */
void writer_free(struct writer *w);
