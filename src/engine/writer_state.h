/* writer_state.h - what the files writer….c share; private to them. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "engine/job_queue.h"
#include "engine/parts.h"
#include "engine/syncer.h"
#include "engine/writer.h"

enum { WRITER_STALL_S = 5 }; /* for one group: the disk or the database hangs */

struct writer_thread {
    struct writer *writer;
    struct txn *txn;
    pthread_t id;
    bool lost;                /* the connection was lost: reconnect before using it */
    bool asks;                /* the database was asked for the group: a failure may be its own */
    bool hurries;             /* with little time, which a database that is well may exceed */
    bool commits;             /* the transaction has come to its commit, which may have failed */
    int64_t session;          /* see db_session(): of the last transaction */
    _Atomic int64_t group_us; /* raw clock, when it took the group it works on; 0: none */
};

/* A wait for jobs that cost so much, until then by the raw clock. */
struct linger {
    int64_t us, until_us;
};

struct writer {
    struct writer_options options;
    struct writer_thread *threads;
    size_t n_threads;
    struct syncer *syncer; /* NULL: a commit is durable by itself */

    struct lock lock;
    struct cond filled;
    struct job_queue queue GUARDED_BY(lock);
    struct parts parts GUARDED_BY(lock);
    uint64_t submitted GUARDED_BY(lock);  /* bytes since the start */
    int64_t wanted_us GUARDED_BY(lock);   /* cost of queued jobs for which a writer is woken */
    struct linger again GUARDED_BY(lock); /* for those who were told, and may send again */
    bool lingers GUARDED_BY(lock);
    bool stopping GUARDED_BY(lock);
    bool fatal GUARDED_BY(lock);
    atomic_uint n_lost;         /* threads without a connection */
    _Atomic int64_t crowded_us; /* raw clock: other nodes write to the database until then */
    _Atomic int64_t paused_us;  /* raw clock: no transaction begins before then; 0: none waits */
    _Atomic int64_t hung_us;    /* raw clock: when a server of the database last hung; 0: never */
    _Atomic int64_t overdue_us; /* raw clock: when a job last failed because it took too long; 0 */
};

/* Tells the jobs, which are not in the queue any more. */
void writer_finish(struct job_list *group, const struct error *err);

/* Jobs that cost so much are about to be told: those who sent them get at most `us` to send again
 * before the next group is taken. */
void writer_await_told(struct writer *w, int64_t told_us, int64_t us) REQUIRES(w->lock);

/* The same for jobs that are durable: none is acknowledged before this. */
void writer_finish_durable(struct writer *w, struct job_list *group,
                           const struct sync_times *times);

/* Invariant 3 of writer.h. */
void writer_become_fatal(struct writer *w, const struct error *err);

void writer_note_overdue(struct writer *w);

/* What a group of this part, or a read, met. */
void writer_note_part(struct writer *w, int64_t part, enum part_state state);

/* Has the thread's connection been lost? While one has, the writer is not healthy. */
void writer_set_lost(struct writer_thread *t, bool lost);

/* Is it a failure of the database, or of the server of all jobs of the group, and not of one job?
 */
bool writer_is_general(const struct writer_thread *t, const struct job_list *group,
                       enum err_code code);

/* A server does not answer: asks again which one has whom, because rows may have moved since the
 * jobs were queued. Says whether they had, for some of them. */
bool writer_find_parts(struct writer_thread *t, struct job_list *group);

/* Tells the jobs of a group that failed, and remembers what keeps groups from being stored. */
void writer_fail_group(struct writer_thread *t, struct job_list *group, const struct error *err);

/* Waits while the writer pauses. False: it did not. Jobs stay in the queue, where their time may
 * end. */
bool writer_await_pause(struct writer *w) REQUIRES(w->lock);

/* Of each struct writer_thread. */
void *writer_thread_main(void *arg);
