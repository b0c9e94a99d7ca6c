/* writer.h - group commit: many jobs, one transaction.
 *
 * Any thread submits jobs; a writer thread takes all that have gathered,
 * applies them in one transaction, and only when that is durable tells each
 * job that it is done. SQLite has one writer thread, since only one connection
 * may ever write; PostgreSQL may have several, each with a connection.
 *
 * Invariants:
 *  1. done(NULL) is called only after the commit that holds the job returned.
 *  2. Each accepted job's done() is called exactly once, whatever happens.
 *  3. After ERR_IO on a commit nobody knows what is stored: every waiting and
 *     later job fails, on_fatal is called once, and the process must end.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct db;
struct writer;

/* Owned by the submitter, which embeds it; alive until done() is called. */
struct writer_job {
    struct writer_job *next; /* the writer's own */

    /* Writer thread, in a transaction. On failure nothing of the whole group is kept. May be
     * called again for the same job, after a roll-back. */
    int (*apply)(struct writer_job *job, struct db *db, struct error *err);

    /* Writer thread, outside a transaction. `err` is NULL when durable, and borrowed otherwise.
     * First stored(), for the module that applied it (may be NULL); then done(), for the submitter.
     */
    void (*stored)(struct writer_job *job, const struct error *err);
    void (*done)(struct writer_job *job, const struct error *err);
    void *owner; /* the submitter's own */

    size_t events, bytes; /* what it weighs in the queue */
    bool exclusive;       /* in a transaction of its own, since it may well fail */
    bool keeps_caches;    /* alone, and what a group remembers is as it was */
    bool unbounded;       /* taken however much waits: the service's own, and few */
    void *group;          /* set by the writer: what the jobs of one transaction share */
};

/* What the jobs of a transaction share, such as a list to be stored in bulk. Writer thread. */
struct writer_group_methods {
    int (*prepare)(void *group, struct db *db, struct error *err); /* all applied; commit is next */
    void (*committed)(void *group);                                /* before any done() */
    void (*rolled_back)(void *group);
    void (*changed)(
        void *group); /* after the commit of a job that was alone: anything may differ */
};

struct writer_limits {
    size_t events_max; /* waiting in the queue; beyond it submit answers ERR_BUSY */
    size_t bytes_max;
    size_t group_max;     /* events in one transaction */
    unsigned wait_max_ms; /* that a new job is expected to wait, by the pace of the last commits */
};

struct writer_options {
    struct db *const *dbs; /* one a thread; nobody else may use them until writer_free() */
    void *const *groups;   /* one a thread, borrowed likewise; NULL: none */
    const struct writer_group_methods *group_methods; /* NULL without groups */
    size_t n_dbs;
    struct writer_limits limits;
    void (*on_fatal)(void *ctx, const struct error *err); /* writer thread */
    void *ctx;
};

/* Starts the threads. The caller owns *ret. */
int writer_new(const struct writer_options *options, struct writer **ret,
               struct error *err) MUST_CHECK;

/* Any thread. ERR_BUSY: the queue is full, or the writer is stopping. ERR_IO: see invariant 3. */
int writer_submit(struct writer *w, struct writer_job *job, struct error *err) MUST_CHECK;

/* False while the database does not answer. */
bool writer_is_healthy(const struct writer *w);

/* What waits in the queue. Any thread. */
void writer_waiting(struct writer *w, size_t *ret_events, size_t *ret_bytes);

/* What came to be stored so far: bytes of jobs that were submitted, a number that only grows. Any
 * thread. */
uint64_t writer_submitted(struct writer *w);

/* Commits what is queued, then ends the threads; later jobs are refused. NULL is fine. */
void writer_stop(struct writer *w);

/* Stops it if nobody has. NULL is fine. */
void writer_free(struct writer *w);
