/* writer.c - the writer threads and their transactions. */
#include "engine/writer.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/thread.h"
#include "db/db.h"
#include "engine/job_cost.h"
#include "engine/job_order.h"
#include "engine/job_queue.h"
#include "engine/retry.h"
#include "engine/txn.h"

/* For a test build that answers before it commits: the crash test must notice. */
#ifndef MUSTER_ACK_EARLY
#define MUSTER_ACK_EARLY 0
#endif

enum {
    LOST_PERIOD_S = 1, /* between two attempts to reconnect */

    STALL_S = 5,     /* for one group: the disk or the database hangs */
    RETRIES_MAX = 3, /* of a group, after a deadlock */
};

/* Of jobs that name no cost: the service's own. */
static struct job_cost common_cost = JOB_COST(50);

struct writer_thread {
    struct writer *writer;
    struct txn *txn;
    pthread_t id;
    bool lost;                /* the connection was lost: reconnect before using it */
    _Atomic int64_t group_us; /* raw clock, when it took the group it works on; 0: none */
};

struct writer {
    struct writer_options options;
    struct writer_thread *threads;
    size_t n_threads;

    struct lock lock;
    struct cond filled;
    struct job_queue queue GUARDED_BY(lock);
    uint64_t submitted GUARDED_BY(lock); /* bytes since the start */
    bool stopping GUARDED_BY(lock);
    bool fatal GUARDED_BY(lock);
    atomic_uint n_lost;         /* threads without a connection */
    _Atomic int64_t part_us;    /* raw clock: when a job last failed with its tenant's server; 0 */
    _Atomic int64_t overdue_us; /* raw clock: when a job last failed because it took too long; 0 */
};

static _Thread_local const struct writer_thread *current;

/* For asserts, which a release leaves out. */
static inline bool on_writer_thread(const struct writer_thread *t)
{
    return current == t;
}

int writer_submit(struct writer *w, struct writer_job *job, struct error *err)
{
    int r = -1;

    if (job->cost == NULL)
        job->cost = &common_cost;
    job->cost_us = job_cost_us(job->cost, job->events);
    job->queued_us = clock_raw_us();
    lock_acquire(&w->lock);
    ASSERT_ALWAYS(job->state != JOB_QUEUED); /* it would be in the queue twice */
    if (w->fatal)
        err_set(err, ERR_IO, "storage failed; the service is stopping");
    else if (w->stopping)
        err_set(err, ERR_BUSY, "the service is stopping");
    else
        r = job_queue_add(&w->queue, job, err);
    if (r == 0) {
        job->state = JOB_QUEUED;
        w->submitted += job->bytes;
        cond_signal(&w->filled);
    }
    lock_release(&w->lock);
    if (r != 0)
        metric_add(METRIC_BUSY_WRITER, 1);
    return r;
}

void writer_waiting(struct writer *w, struct writer_queue *ret)
{
    lock_acquire(&w->lock);
    job_queue_stats(&w->queue, ret);
    lock_release(&w->lock);
}

uint64_t writer_submitted(struct writer *w)
{
    uint64_t submitted;

    lock_acquire(&w->lock);
    submitted = w->submitted;
    lock_release(&w->lock);
    return submitted;
}

static void set_lost(struct writer_thread *t, bool lost)
{
    if (lost != t->lost)
        atomic_fetch_add(&t->writer->n_lost, lost ? 1U : -1U);
    t->lost = lost;
}

/* Waits until the queue may have a job. Without a connection it tries to reconnect meanwhile, so
 * that the service becomes healthy again without any request. */
static void wait_for_work(struct writer *w, struct writer_thread *t) REQUIRES(w->lock)
{
    struct timespec until;

    if (!t->lost) {
        cond_wait(&w->filled, &w->lock);
        return;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += LOST_PERIOD_S;
    if (cond_wait_until(&w->filled, &w->lock, &until))
        return;
    lock_release(&w->lock);
    set_lost(t, db_ping(t->txn->db, NULL) != 0);
    lock_acquire(&w->lock);
}

/* Empty only when stopping. */
static void take_group(struct writer_thread *t, struct job_list *ret_group)
{
    struct writer *w = t->writer;
    const size_t number = (size_t)(t - w->threads);

    lock_acquire(&w->lock);
    for (;;) {
        job_queue_take_group(&w->queue, number, clock_mono_us(), ret_group);
        if (ret_group->first != NULL || w->stopping)
            break;
        wait_for_work(w, t);
    }
    if (!job_queue_is_empty(&w->queue))
        cond_signal(&w->filled); /* for the next writer thread */
    lock_release(&w->lock);
    if (w->options.shared)
        job_list_sort(ret_group);
}

static void finish(struct job_list *group, const struct error *err)
{
    while (group->first != NULL) {
        struct writer_job *job = job_list_take(group);

        ASSERT_ALWAYS(job->state == JOB_QUEUED); /* invariant 2: exactly once */
        job->state = JOB_DONE;
        if (job->stored != NULL)
            job->stored(job, err);
        job->done(job, err);
    }
}

/* No job is acknowledged before this. */
static void finish_durable(const struct writer_thread *t, struct job_list *group)
{
    ASSERT_ALWAYS(t->txn->state == TXN_COMMITTED); /* invariant 1 */
    finish(group, NULL);
}

static void note_overdue(struct writer *w)
{
    atomic_store_explicit(&w->overdue_us, clock_raw_us(), memory_order_relaxed);
}

void writer_expire(struct writer *w)
{
    const int64_t max_us = (int64_t)w->options.limits.wait_max_ms * USEC_PER_MSEC;
    struct job_list old;
    struct error err;

    if (max_us == 0)
        return;
    lock_acquire(&w->lock);
    job_queue_take_old(&w->queue, clock_raw_us() - max_us, &old);
    lock_release(&w->lock);
    if (old.first == NULL)
        return;
    note_overdue(w);
    for (const struct writer_job *job = old.first; job != NULL; job = job->next)
        metric_add(METRIC_BUSY_WRITER, 1);
    err_set(&err, ERR_BUSY, "the database did not take it within %u ms",
            w->options.limits.wait_max_ms);
    finish(&old, &err);
}

/* A connection lost between transactions fails no job: reconnect first. */
static int begin(struct writer_thread *t, struct error *err)
{
    if (!t->lost && db_begin(t->txn->db, err) == 0)
        return 0;
    if (!t->lost && err->code != ERR_UNAVAILABLE)
        return -1;
    if (db_ping(t->txn->db, err) != 0)
        return -1;
    set_lost(t, false);
    return db_begin(t->txn->db, err);
}

static int apply_all(struct writer_thread *t, const struct job_list *group, struct error *err)
{
    const struct writer_hooks *hooks = t->writer->options.hooks;

    assert(on_writer_thread(t) && t->txn->state == TXN_OPEN);
    for (struct writer_job *job = group->first; job != NULL; job = job->next) {
        assert(job->state == JOB_QUEUED);
        job->txn = t->txn;
        if (job->apply(job, t->txn, err) != 0)
            return -1;
    }
    if (hooks != NULL && hooks->prepare(t->txn, err) != 0)
        return -1;
    txn_set_state(t->txn, TXN_APPLIED);
    return 0;
}

static int roll_back(struct writer_thread *t)
{
    const struct writer_hooks *hooks = t->writer->options.hooks;

    db_rollback(t->txn->db);
    txn_set_state(t->txn, TXN_ROLLED_BACK);
    if (hooks != NULL)
        hooks->rolled_back(t->txn);
    return -1;
}

static void committed(struct writer_thread *t, bool changes)
{
    const struct writer_hooks *hooks = t->writer->options.hooks;

    txn_set_state(t->txn, TXN_COMMITTED);
    if (hooks == NULL)
        return;
    hooks->committed(t->txn);
    if (changes)
        hooks->changed(t->txn);
}

/* Applies and commits the jobs of `group`. */
static int commit_group(struct writer_thread *t, struct job_list *group, struct pace *ret_pace,
                        struct error *err)
{
    const bool changes = group->first->exclusive && !group->first->keeps_caches;

    assert(on_writer_thread(t));
    ret_pace->began_us = clock_mono_us();
    db_set_patience(t->txn->db, job_queue_patience(&t->writer->options.limits, group));
    if (begin(t, err) != 0)
        return -1;
    txn_set_state(t->txn, TXN_OPEN);
    if (apply_all(t, group, err) != 0)
        return roll_back(t);
    if (MUSTER_ACK_EARLY)
        finish(group, NULL);
    ret_pace->applied_us = clock_mono_us();
    if (db_commit(t->txn->db, err) != 0)
        return roll_back(t);
    ret_pace->committed_us = clock_mono_us();
    committed(t, changes);
    return 0;
}

/* The same, again after a deadlock. */
static int commit_or_retry(struct writer_thread *t, struct job_list *group, struct pace *ret_pace,
                           struct error *err)
{
    for (unsigned attempt = 1;; attempt++) {
        if (commit_group(t, group, ret_pace, err) == 0)
            return 0;
        if (err->code != ERR_BUSY || attempt > RETRIES_MAX || !db_was_contended(t->txn->db))
            return -1;
        metric_add(METRIC_COMMITS_RETRIED, 1);
        log_write(LOG_WARNING, "writer", "%s: attempt %u of a transaction of %zu events", err->text,
                  attempt, group->events);
        retry_pause(attempt);
    }
}

/* Is it a failure of the database and not of one job, or of one tenant's server? */
static bool is_general(const struct writer_thread *t, enum err_code code)
{
    return code == ERR_IO || code == ERR_FULL ||
           (code == ERR_UNAVAILABLE && !db_part_is_away(t->txn->db));
}

static void become_fatal(struct writer *w, const struct error *err)
{
    struct job_list rest;
    bool first;

    lock_acquire(&w->lock);
    first = !w->fatal;
    w->fatal = true;
    job_queue_take_all(&w->queue, &rest);
    lock_release(&w->lock);
    finish(&rest, err);
    if (first)
        w->options.on_fatal(w->options.ctx, err);
}

static void learn(struct writer *w, const struct job_list *group, const struct pace *pace)
{
    lock_acquire(&w->lock);
    job_queue_learn(&w->queue, group, pace);
    lock_release(&w->lock);
}

static void count_commit(size_t events, int64_t us)
{
    metric_add(METRIC_COMMITS, 1);
    metric_observe(HISTOGRAM_COMMIT, (uint64_t)us);
    metric_observe(HISTOGRAM_GROUP, events);
}

static bool is_fatal(struct writer *w)
{
    bool fatal;

    lock_acquire(&w->lock);
    fatal = w->fatal;
    lock_release(&w->lock);
    return fatal;
}

/* Has the group it works on taken nearly as long as a stall? */
static bool is_old(const struct writer_thread *t)
{
    return clock_raw_us() - atomic_load_explicit(&t->group_us, memory_order_relaxed) >
           (int64_t)(STALL_S - 1) * USEC_PER_SEC;
}

static void run_group(struct writer_thread *t, struct job_list *group)
{
    struct error err = { 0 };
    struct pace pace = { 0 };

    if (commit_or_retry(t, group, &pace, &err) == 0) {
        if (group->first != NULL)
            learn(t->writer, group, &pace);
        atomic_store_explicit(&t->writer->overdue_us, 0, memory_order_relaxed);
        count_commit(group->events, pace.committed_us - pace.began_us);
        finish_durable(t, group);
        return;
    }
    metric_add(METRIC_COMMITS_FAILED, 1);
    if (!is_general(t, err.code) && group->first != NULL && group->first->next != NULL) {
        /* retry one by one, so that only the bad job fails */
        while (group->first != NULL && !is_fatal(t->writer)) {
            struct job_list single;

            job_list_init(&single);
            job_list_add(&single, job_list_take(group));
            run_group(t, &single);
        }
        finish(group, &err);
        return;
    }
    if (db_part_is_away(t->txn->db))
        atomic_store_explicit(&t->writer->part_us, clock_raw_us(), memory_order_relaxed);
    set_lost(t, err.code == ERR_UNAVAILABLE && !db_part_is_away(t->txn->db));
    if (err.code == ERR_UNAVAILABLE && is_old(t))
        note_overdue(t->writer);
    finish(group, &err);
    if (err.code == ERR_IO)
        become_fatal(t->writer, &err);
}

static void *writer_main(void *arg)
{
    struct writer_thread *t = arg;
    struct job_list group;

    thread_begin("muster-writer", THREAD_PLAIN);
    current = t;
    for (;;) {
        take_group(t, &group);
        if (group.first == NULL)
            return NULL;
        atomic_store_explicit(&t->group_us, clock_raw_us(), memory_order_relaxed);
        run_group(t, &group);
        db_set_patience(t->txn->db, 0);
        atomic_store_explicit(&t->group_us, 0, memory_order_relaxed);
    }
}

int writer_new(const struct writer_options *options, struct writer **ret, struct error *err)
{
    struct writer *w = NEW(struct writer);

    w->options = *options;
    job_queue_init(&w->queue, &options->limits, options->n_txns);
    lock_init(&w->lock);
    cond_init(&w->filled);
    atomic_init(&w->n_lost, 0);
    w->threads = mem_new(options->n_txns * sizeof(*w->threads));
    for (size_t i = 0; i < options->n_txns; i++) {
        struct writer_thread *t = &w->threads[i];

        *t = (struct writer_thread){ .writer = w, .txn = &options->txns[i] };
        if (pthread_create(&t->id, NULL, writer_main, t) != 0) {
            writer_free(w);
            return err_set(err, ERR_INTERNAL, "cannot start a writer thread");
        }
        w->n_threads++;
    }
    *ret = w;
    return 0;
}

bool writer_is_healthy(const struct writer *w)
{
    return atomic_load_explicit(&w->n_lost, memory_order_relaxed) == 0;
}

bool writer_part_is_away(const struct writer *w)
{
    const int64_t away_us = atomic_load_explicit(&w->part_us, memory_order_relaxed);

    return away_us != 0 && clock_raw_us() - away_us < (int64_t)STALL_S * USEC_PER_SEC;
}

bool writer_is_stalled(const struct writer *w)
{
    int64_t before_us = clock_raw_us() - (int64_t)STALL_S * USEC_PER_SEC;

    if (atomic_load_explicit(&w->overdue_us, memory_order_relaxed) > before_us)
        return true;
    for (size_t i = 0; i < w->n_threads; i++) {
        int64_t group_us = atomic_load_explicit(&w->threads[i].group_us, memory_order_relaxed);

        if (group_us == 0 || group_us > before_us)
            return false;
    }
    return true;
}

void writer_stop(struct writer *w)
{
    if (w == NULL)
        return;
    lock_acquire(&w->lock);
    w->stopping = true;
    cond_broadcast(&w->filled);
    lock_release(&w->lock);
    for (size_t i = 0; i < w->n_threads; i++)
        pthread_join(w->threads[i].id, NULL);
    w->n_threads = 0;
}

void writer_free(struct writer *w)
{
    if (w == NULL)
        return;
    writer_stop(w);
    lock_unshared(&w->lock);
    job_queue_done(&w->queue); /* asserts that it is empty: invariant 2 */
    cond_done(&w->filled);
    lock_done(&w->lock);
    free(w->threads);
    free(w);
}
