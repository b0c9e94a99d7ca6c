/* writer.h - group commit: many jobs, one transaction.
 * Any thread submits jobs; a writer thread takes queued jobs, with tenants taking
 * turns (turns.h), applies them in one transaction, and has each job's done()
 * called only when that is durable: at once, or by the syncer (syncer.h).
 * SQLite has one writer thread, since only one connection may write; PostgreSQL
 * may have several, each with its own connection.
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
#include "engine/parts.h"

struct budget;
struct db;
struct job_cost;
struct txn;
struct writer;

enum writer_job_state {
    JOB_NEW,    /* belongs to the submitter */
    JOB_QUEUED, /* accepted: done() will be called */
    JOB_DONE,   /* belongs to the submitter again */
};

/* Owned by the submitter, which embeds it; alive until done() is called. */
struct writer_job {
    struct writer_job *next;     /* internal, as are the state, the cost, the time and the part */
    enum writer_job_state state; /* JOB_NEW, or JOB_DONE when it is submitted again */
    int64_t cost_us;
    int64_t since_us; /* raw clock: since when its caller waits; 0: it has none */
    int64_t part;     /* of its tenant (parts.h) */

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
     * job_order.h. */
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
    bool dispensable;    /* refused with ERR_UNAVAILABLE while a server hangs that it may need */
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
    size_t group_max;     /* events per transaction */
    unsigned wait_max_ms; /* expected wait of a new job, by the cost of those that wait; and how
                           * long a caller waits for an answer (wait.h). 0: no limit */
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

/* Another node writes to the same database, many transactions a second: for a second and a half,
 * groups are formed so that they cost the database little, unless it is distributed. Any thread. */
void writer_note_crowd(struct writer *w);

bool writer_is_crowded(const struct writer *w);

/* No transaction begins for so long, or until writer_go_on(): jobs wait. Any thread. */
void writer_pause(struct writer *w, int ms);
void writer_go_on(struct writer *w);

/* False while the database does not answer. */
bool writer_is_healthy(const struct writer *w);

/* Takes over what is known of a distributed database, and leaves *parts empty. Any thread. */
void writer_set_parts(struct writer *w, struct parts *parts);

/* The tenant's part; 0: unknown. Any thread. */
int64_t writer_part_of(struct writer *w, int64_t tenant_id);

/* Has a job or a read failed in the last seconds because its tenant's server of a distributed
 * database is away, hangs or commits nothing, and none been stored there since? Any thread. */
bool writer_part_is_away(struct writer *w);

/* The same, for each server that has tenants. Any thread. */
bool writer_all_parts_are_away(struct writer *w);

/* The same, for the server of this tenant. Any thread. */
bool writer_tenant_is_away(struct writer *w, int64_t tenant_id);

/* A read found that a server of a distributed database hangs; it is not known which. Any thread. */
void writer_note_hung(struct writer *w);

/* Has the tenant's server hung lately, so that a read of its rows would wait for it? Costs a load
 * while none has. Any thread. */
bool writer_tenant_hangs(struct writer *w, int64_t tenant_id);

/* May a read of the tenant begin now? As job_queue_try_read(); costs as little. Any thread. */
enum part_read writer_try_read(struct writer *w, int64_t tenant_id);

/* As parts_probe(), whose connection is the caller's, and also replaces what the writer knows of
 * which server has whom. The caller notes the state that is returned. Any thread. */
enum part_state writer_probe(struct writer *w, struct db *db, int64_t tenant_id, int64_t max_us);

/* What a read of the tenant met. `tried` is the part that it tried, or 0: if the tenant has another
 * one by now, or after PART_UNKNOWN, the next read may try that. Any thread. */
void writer_note_read(struct writer *w, int64_t tenant_id, int64_t tried, enum part_state state);

/* Has a server hung lately, so that what needs all of them would wait for it? Any thread. */
bool writer_hangs(struct writer *w);

/* Has every thread worked on one group for more than 5 s, so that what is queued waits for it? Or
 * has a job failed within the last 5 s because it had waited too long? Any thread. */
bool writer_is_stalled(const struct writer *w);

/* Fails the jobs of tenants that have waited for longer than the limit, with ERR_BUSY: whatever the
 * database does, someone who waits is answered. Call it every now and then. Any thread. */
void writer_expire(struct writer *w);

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
