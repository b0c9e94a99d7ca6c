/* job.h - a job of the writer, and what its kind costs, learned from its commits.
 *
 * Each kind of job has one static struct job_cost, beside the code that applies
 * it. The cost is per unit: an event, or a row that the job writes. It starts as
 * a guess and follows the durations of the groups that such jobs were in.
 *
 * Thread-safe: costs.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "base/base.h"
#include "base/err.h"
#include "base/str.h"

struct budget;
struct txn;

enum { WRITERS_MAX = 4 };

struct job_cost {
    _Atomic double unit_us; /* moving average; at first a guess */
    atomic_bool measured;   /* a large group has replaced the guess */
};

#define JOB_COST(guess_us) { .unit_us = (guess_us) }

/* Expected microseconds of a job; at least 1. */
int64_t job_cost_us(const struct job_cost *c, size_t units);

/* Updates the average after a group that took `ratio` times as long as expected, and of whose
 * expected time jobs of this kind had the `share` (0 to 1). `large`: the group had enough units to
 * derive the cost per unit. */
void job_cost_learn(struct job_cost *c, double share, double ratio, bool large);

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

    /* Writer thread, before any job of the group is applied: announces the rows that apply() will
     * need, so that one statement can read them for all jobs. May be NULL. */
    void (*announce)(struct writer_job *job, struct txn *txn);

    /* Writer thread, in the transaction. A failure rolls the whole group back. May be called again
     * for the same job, after a rollback. */
    int (*apply)(struct writer_job *job, struct txn *txn, struct error *err);

    /* Writer thread, after the commit and before the next transaction, for the module that applied
     * it; may be NULL. The sync may still fail: then the process ends. */
    void (*committed)(struct writer_job *job);

    /* For the submitter. `err` is NULL when durable: on the thread that syncs (SQLite) or the
     * writer's. Otherwise it is borrowed, and the thread is the one that met the failure, or that
     * of writer_expire(). */
    void (*done)(struct writer_job *job, const struct error *err);
    void *owner; /* for the submitter */

    /* The tenant and agent whose rows it locks; 0 and STR_NULL: several, or none; 0 and a key's id:
     * that key's row. See job_queue.h. */
    int64_t tenant_id;
    struct str agent_name;

    int64_t asked_us;      /* raw clock: when the caller's request came in; its deadline counts from
                              then. 0: now; without a budget there is no deadline */
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

struct writer_limits {
    size_t events_max; /* in the queue; beyond this writer_submit() returns ERR_BUSY */
    size_t bytes_max;
    size_t group_max; /* events per transaction */
    unsigned
        wait_max_ms; /* how long a job whose caller waits may wait for its turn; it is at least
                      * a second. One that is expected to wait longer is refused. 0: no limit */
};

/* The jobs in the queue. */
struct writer_queue {
    size_t events, bytes;
    uint64_t submitted;    /* bytes of all jobs since the start */
    size_t tenants;        /* that have jobs in it */
    size_t tenant_largest; /* the most events of one of them */
};
