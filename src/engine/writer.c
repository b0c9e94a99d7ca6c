/* writer.c - takes groups of jobs, applies and commits each, and calls done() of its jobs. */
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
#include "db/embedded.h"
#include "db/servers.h"
#include "engine/job_queue.h"
#include "engine/syncer.h"
#include "engine/txn.h"

/* For a test build that answers before it commits: the crash test must notice. */
#ifndef MUSTER_ACK_EARLY
#define MUSTER_ACK_EARLY 0
#endif

enum {
    STALL_S = 5,      /* for one group: the disk or the database hangs */
    LOOK_US = 100000, /* how often the queue is checked for jobs past their deadline */

    /* After a sync the writer waits for new jobs for 1/LINGER_PART of the average sync, at most
     * LINGER_MAX_US. */
    LINGER_PART = 8,
    LINGER_MAX_US = 2000,

    /* Groups of at least this size update the cost per unit. In a smaller group most of the time is
     * per transaction, so it may only lower the average. */
    LARGE_EVENTS = 200,

    RETRIES_MAX = 3, /* of a group, after a deadlock */
    RETRY_US = 20000,
};

/* Of jobs that name no cost: the service's own. */
static struct job_cost common_cost = JOB_COST(50);

struct writer_thread {
    struct writer *writer;
    struct txn *txn;
    pthread_t id;
    int64_t session;          /* see db_session(): of the last transaction */
    _Atomic int64_t group_us; /* raw clock, when it took the group it works on; 0: none */
};

/* Wait until jobs of cost `us` are queued, at most until `until_us` (raw clock). */
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
    uint64_t submitted GUARDED_BY(lock);  /* bytes since the start */
    int64_t wanted_us GUARDED_BY(lock);   /* cost of queued jobs for which a writer is woken */
    struct linger again GUARDED_BY(lock); /* for clients to send again */
    int64_t paused_us GUARDED_BY(lock);   /* raw clock: no transaction begins before then */
    bool stopping GUARDED_BY(lock);
    bool fatal GUARDED_BY(lock);
    _Atomic int64_t overdue_us; /* raw clock: when a job last failed because it waited; 0: none */
};

static _Thread_local const struct writer_thread *current;

/* For asserts, which a release leaves out. */
static inline bool on_writer_thread(const struct writer_thread *t)
{
    return current == t;
}

int writer_submit(struct writer *w, struct writer_job *job, struct error *err)
{
    const int64_t now_us = clock_raw_us();
    int r = -1;

    if (job->cost == NULL)
        job->cost = &common_cost;
    job->cost_us = job_cost_us(job->cost, job->events);
    job->place = writer_place_of(w, job->tenant_id);
    job->since_us = job->asked_us != 0 ? job->asked_us : job->budget == NULL ? 0 : now_us;
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
        if (w->queue.turns.us >= w->wanted_us)
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
    ret->submitted = w->submitted;
    lock_release(&w->lock);
}

/* The only place that changes a transaction's state. */
static void set_state(struct txn *txn, enum txn_state state)
{
    static const unsigned allowed[] = {
        [TXN_IDLE] = 1U << TXN_OPEN,
        [TXN_OPEN] = 1U << TXN_APPLIED | 1U << TXN_ROLLED_BACK,
        [TXN_APPLIED] = 1U << TXN_COMMITTED | 1U << TXN_ROLLED_BACK,
        [TXN_COMMITTED] = 1U << TXN_OPEN,
        [TXN_ROLLED_BACK] = 1U << TXN_OPEN,
    };

    ASSERT_ALWAYS((allowed[txn->state] & 1U << state) != 0);
    txn->state = state;
}

/* Calls done() of each job; the jobs have left the queue. */
static void finish(struct job_list *group, const struct error *err)
{
    while (group->first != NULL) {
        struct writer_job *job = job_list_take(group);

        ASSERT_ALWAYS(job->state == JOB_QUEUED); /* invariant 2: exactly once */
        job->state = JOB_DONE;
        job->done(job, err);
    }
}

/* Fails the jobs whose time is over. The lock is released meanwhile. */
static void expire(struct writer *w) REQUIRES(w->lock)
{
    const unsigned max_ms = w->options.limits.wait_max_ms;
    const int64_t now_us = clock_raw_us();
    struct job_list old;
    struct error err;

    if (max_ms == 0)
        return;
    job_queue_take_old(&w->queue, now_us, &old);
    if (old.first == NULL)
        return;
    lock_release(&w->lock);
    atomic_store_explicit(&w->overdue_us, now_us, memory_order_relaxed);
    for (const struct writer_job *job = old.first; job != NULL; job = job->next)
        metric_add(METRIC_BUSY_WRITER, 1);
    err_set(&err, ERR_BUSY, "the database did not store it within %u ms", max_ms);
    finish(&old, &err);
    lock_acquire(&w->lock);
}

void writer_expire(struct writer *w)
{
    lock_acquire(&w->lock);
    expire(w);
    lock_release(&w->lock);
}

/* Invariant 3. */
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

/* No job is acknowledged before this. */
static void finish_durable(struct writer *w, struct job_list *group, const struct sync_times *times)
{
    metric_add(METRIC_COMMITS, 1);
    metric_observe(HISTOGRAM_COMMIT, (uint64_t)(times->ended_us - times->group_us));
    metric_observe(HISTOGRAM_GROUP, group->events);
    lock_acquire(&w->lock);
    job_queue_note_sync(&w->queue, times->ended_us - times->began_us);
    lock_release(&w->lock);
    finish(group, NULL);
}

static void on_synced(void *ctx, struct job_list *jobs, const struct sync_times *times,
                      const struct error *err)
{
    struct writer *w = ctx;

    if (err == NULL) {
        finish_durable(w, jobs, times);
        return;
    }
    finish(jobs, err);
    become_fatal(w, err);
}

/* Jobs that cost `told_us` are synced, and their done() is about to be called. Waits a moment
 * before the next group, so that their clients can send again. */
static void on_relaxed(void *ctx, int64_t told_us)
{
    struct writer *w = ctx;
    int64_t us;

    lock_acquire(&w->lock);
    us = w->queue.sync_us / LINGER_PART;
    w->again =
        (struct linger){ .us = w->queue.turns.us + told_us - told_us / 8,
                         .until_us = clock_raw_us() + (us < LINGER_MAX_US ? us : LINGER_MAX_US) };
    w->wanted_us = 0; /* is_ready() sets it */
    if (!job_queue_is_empty(&w->queue))
        cond_signal(&w->filled);
    lock_release(&w->lock);
}

/* What this thread waits for before it takes a group. */
static struct linger linger_of(struct writer *w, const struct writer_thread *t) REQUIRES(w->lock)
{
    const int64_t until_us = job_queue_beside_until(&w->queue, (size_t)(t - w->threads));

    return until_us == 0 ? w->again : (struct linger){ BESIDE_GROUP_US, until_us };
}

/* Should the next transaction begin? During the sync of the previous group: once the queued jobs
 * take about as long as the rest of the sync. After a sync: once the clients that got their replies
 * have sent again, or LINGER_MAX_US has passed; otherwise the connections split into two halves,
 * each with its own sync. Beside another writer: once the queued jobs are worth a transaction of
 * their own. *ret_until_us: when to check again. */
static bool is_ready(struct writer *w, const struct writer_thread *t, int64_t *ret_until_us)
    REQUIRES(w->lock)
{
    const enum syncer_state state = w->syncer == NULL ? SYNCER_IDLE : syncer_state(w->syncer);
    const struct linger linger = linger_of(w, t);
    const int64_t now_us = clock_raw_us();

    *ret_until_us = now_us + LOOK_US;
    w->wanted_us = 0;
    if (job_queue_is_empty(&w->queue) || now_us < w->paused_us)
        return false;
    if (state == SYNCER_FULL) {
        w->wanted_us = INT64_MAX;
    } else if (state == SYNCER_SYNCING) {
        w->wanted_us = w->queue.sync_us / 2;
    } else if (now_us < linger.until_us) {
        w->wanted_us = linger.us;
        *ret_until_us = linger.until_us;
    }
    return w->queue.turns.us >= w->wanted_us;
}

static void wait_for_work(struct writer *w, const struct writer_thread *t) REQUIRES(w->lock)
{
    int64_t until_us;

    for (expire(w); !is_ready(w, t, &until_us) && !w->stopping; expire(w)) {
        const struct timespec until = clock_deadline(CLOCK_MONOTONIC, until_us - clock_raw_us());

        if (job_queue_is_empty(&w->queue))
            cond_wait(&w->filled, &w->lock);
        else
            (void)cond_wait_until(&w->filled, &w->lock, &until);
    }
}

/* Empty only when stopping. */
static void take_group(struct writer_thread *t, struct job_list *ret_group)
{
    struct writer *w = t->writer;
    const size_t number = (size_t)(t - w->threads);

    lock_acquire(&w->lock);
    job_queue_end_group(&w->queue, number);
    for (;;) {
        wait_for_work(w, t);
        job_queue_take_group(&w->queue, number, clock_mono_us(), ret_group);
        w->wanted_us = 0; /* any job wakes the other writer, which checks the queue itself */
        if (ret_group->first != NULL || w->stopping)
            break;
        cond_wait(&w->filled, &w->lock); /* what is queued has to wait for another writer */
    }
    if (!job_queue_is_empty(&w->queue))
        cond_signal(&w->filled); /* for the next writer thread */
    lock_release(&w->lock);
    if (w->options.shared)
        job_list_sort(ret_group);
}

/* After a reconnect, cached results of earlier transactions are dropped: a standby that has become
 * the primary may not have their rows. The statement that is sent along with BEGIN has all of its
 * rows buffered in memory: so BEGIN is sent alone for jobs that read much. */
static int begin(struct writer_thread *t, const struct writer_job *first, struct error *err)
{
    const struct writer_hooks *hooks = t->writer->options.hooks;
    struct db *db = t->txn->db;

    db_set_place(db, first->place);
    if (db_begin(db, err) != 0)
        return -1;
    set_state(t->txn, TXN_OPEN);
    if (hooks != NULL && db_session(db) != t->session)
        hooks->rolled_back(t->txn);
    t->session = db_session(db);
    return first->exclusive && !first->writes_first ? db_settle(db, err) : 0;
}

static int apply_all(struct writer_thread *t, const struct job_list *group, struct error *err)
{
    const struct writer_hooks *hooks = t->writer->options.hooks;

    assert(on_writer_thread(t) && t->txn->state == TXN_OPEN);
    for (struct writer_job *job = group->first; job != NULL; job = job->next)
        if (job->announce != NULL)
            job->announce(job, t->txn);
    if (hooks != NULL && hooks->announced(t->txn, err) != 0)
        return -1;
    for (struct writer_job *job = group->first; job != NULL; job = job->next) {
        assert(job->state == JOB_QUEUED);
        job->txn = t->txn;
        if (job->apply(job, t->txn, err) != 0)
            return -1;
    }
    if (hooks != NULL && hooks->prepare(t->txn, err) != 0)
        return -1;
    set_state(t->txn, TXN_APPLIED);
    return 0;
}

static int roll_back(struct writer_thread *t)
{
    const struct writer_hooks *hooks = t->writer->options.hooks;

    db_rollback(t->txn->db);
    set_state(t->txn, TXN_ROLLED_BACK);
    if (hooks != NULL)
        hooks->rolled_back(t->txn);
    return -1;
}

static void committed(struct writer_thread *t, bool changes)
{
    const struct writer_hooks *hooks = t->writer->options.hooks;

    set_state(t->txn, TXN_COMMITTED);
    if (hooks == NULL)
        return;
    hooks->committed(t->txn);
    if (changes)
        hooks->changed(t->txn);
}

/* When the steps of a group's transaction ended, by the monotonic clock. */
struct pace {
    int64_t began_us, opened_us, applied_us, committed_us;
};

/* Applies and commits the jobs of `group`. */
static int commit_group(struct writer_thread *t, struct job_list *group, struct pace *ret_pace,
                        struct error *err)
{
    const bool changes = group->first->exclusive && !group->first->keeps_caches;

    assert(on_writer_thread(t));
    ret_pace->began_us = clock_mono_us();
    if (begin(t, group->first, err) != 0)
        return t->txn->state == TXN_OPEN ? roll_back(t) : -1;
    ret_pace->opened_us = clock_mono_us(); /* it may have moved the log into the file */
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

/* A random pause, so that two deadlocked transactions do not collide again. */
static void pause_before(unsigned attempt)
{
    struct timespec pause = { 0 };
    const uint64_t mixed = ((uint64_t)clock_raw_us() ^ (uint64_t)(uintptr_t)&pause) *
                           0x9e3779b97f4a7c15U; /* it need not be hard to guess */

    pause.tv_nsec = (long)((mixed >> 33) % ((uint64_t)attempt * RETRY_US)) * 1000;
    (void)nanosleep(&pause, NULL);
}

/* The same, retried after a deadlock. */
static int commit_or_retry(struct writer_thread *t, struct job_list *group, struct pace *ret_pace,
                           struct error *err)
{
    for (unsigned attempt = 1;; attempt++) {
        if (commit_group(t, group, ret_pace, err) == 0)
            return 0;
        if (err->code != ERR_BUSY || attempt > RETRIES_MAX || !db_was_contended(t->txn->db))
            return -1;
        metric_add(METRIC_COMMITS_RETRIED, 1);
        log_write(attempt == 1 ? LOG_INFO : LOG_WARNING, "writer",
                  "%s: attempt %u of a transaction of %zu events", err->text, attempt,
                  group->events);
        pause_before(attempt);
    }
}

/* Teaches the kinds of jobs in a committed group what they cost. Jobs of a group share a sync,
 * which the queue counts once per group; that of an exclusive job is its own. */
static void learn(struct writer *w, const struct job_list *group, const struct pace *pace)
{
    bool exclusive = group->first->exclusive, large = group->events >= LARGE_EVENTS;
    int64_t us =
        (exclusive || w->syncer != NULL ? pace->committed_us : pace->applied_us) - pace->opened_us;
    double ratio = us < 0 ? 1.0 : (double)us / (double)group->us; /* < 0: a test moved the clock */

    if (!exclusive && !large && ratio > 1.0)
        return;
    for (const struct writer_job *job = group->first; job != NULL; job = job->next)
        job_cost_learn(job->cost, (double)job->cost_us / (double)group->us, ratio, large);
}

/* The group is committed: calls done() of its jobs, at once or after the sync. */
static void hand_over(struct writer_thread *t, struct job_list *group, const struct pace *pace)
{
    struct writer *w = t->writer;

    ASSERT_ALWAYS(t->txn->state == TXN_COMMITTED); /* invariant 1 */
    learn(w, group, pace);
    for (struct writer_job *job = group->first; job != NULL; job = job->next)
        if (job->committed != NULL)
            job->committed(job);
    atomic_store_explicit(&w->overdue_us, 0, memory_order_relaxed);
    if (w->syncer != NULL) {
        syncer_add(w->syncer, group, pace->began_us);
        return;
    }
    finish_durable(w, group,
                   &(struct sync_times){ .group_us = pace->began_us,
                                         .began_us = pace->applied_us,
                                         .ended_us = pace->committed_us });
}

static bool is_fatal(struct writer *w)
{
    bool fatal;

    lock_acquire(&w->lock);
    fatal = w->fatal;
    lock_release(&w->lock);
    return fatal;
}

/* Is it a failure of the database rather than of one job? */
static bool is_general(enum err_code code)
{
    return code == ERR_IO || code == ERR_FULL || code == ERR_UNAVAILABLE;
}

/* Fails a job that others have kept waiting for too long. */
static bool is_refused(struct writer_thread *t, struct job_list *single, int64_t began_us)
{
    const unsigned max_ms = t->writer->options.limits.wait_max_ms;
    struct error err;

    if (max_ms == 0 || single->first->unbounded ||
        clock_raw_us() - began_us < (int64_t)max_ms * USEC_PER_MSEC)
        return false;
    err_set(&err, ERR_BUSY, "the database did not store it within %u ms", max_ms);
    finish(single, &err);
    return true;
}

static void run_group(struct writer_thread *t, struct job_list *group)
{
    const int64_t began_us = clock_raw_us();
    struct error err = { 0 };
    struct pace pace = { 0 };

    if (commit_or_retry(t, group, &pace, &err) == 0) {
        if (group->first != NULL) /* empty only in a test build that answers early */
            hand_over(t, group, &pace);
        return;
    }
    metric_add(METRIC_COMMITS_FAILED, 1);
    if (group->first != NULL && group->first->next != NULL && !is_general(err.code)) {
        /* retry one by one, so that only the bad job fails; each may wait for a lock */
        while (group->first != NULL && !is_fatal(t->writer)) {
            struct job_list single;

            job_list_init(&single);
            job_list_add(&single, job_list_take(group));
            if (!is_refused(t, &single, began_us))
                run_group(t, &single);
        }
    }
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
        atomic_store_explicit(&t->group_us, 0, memory_order_relaxed);
    }
}

/* Where a commit need not wait for its sync: SQLite, which has one writer. */
static int start_syncer(struct writer *w, struct error *err)
{
    const struct syncer_options options = {
        .db = w->options.txns[0].db, .synced = on_synced, .relaxed = on_relaxed, .ctx = w
    };

    if (w->options.n_txns != 1 || !db_may_defer_sync(options.db))
        return 0;
    if (db_defer_sync(options.db, err) != 0)
        return -1;
    return syncer_new(&options, &w->syncer, err);
}

int writer_new(const struct writer_options *options, struct writer **ret, struct error *err)
{
    struct writer *w = NEW(struct writer);

    w->options = *options;
    job_queue_init(&w->queue, &options->limits, options->n_txns);
    lock_init(&w->lock);
    cond_init(&w->filled);
    if (start_syncer(w, err) != 0) {
        writer_free(w);
        return -1;
    }
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

int64_t writer_place_of(const struct writer *w, int64_t tenant_id)
{
    return db_place_of(w->options.txns[0].db, tenant_id);
}

void writer_pause(struct writer *w, int ms)
{
    lock_acquire(&w->lock);
    w->paused_us = clock_raw_us() + (int64_t)ms * USEC_PER_MSEC;
    cond_broadcast(&w->filled);
    lock_release(&w->lock);
}

bool writer_is_stalled(const struct writer *w)
{
    int64_t before_us = clock_raw_us() - (int64_t)STALL_S * USEC_PER_SEC;

    if (atomic_load_explicit(&w->overdue_us, memory_order_relaxed) > before_us)
        return true;
    if (w->syncer != NULL) {
        int64_t sync_us = syncer_began_us(w->syncer);

        if (sync_us != 0 && sync_us <= before_us)
            return true;
    }
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
    syncer_stop(w->syncer);
}

void writer_free(struct writer *w)
{
    if (w == NULL)
        return;
    writer_stop(w);
    syncer_free(w->syncer);
    lock_unshared(&w->lock);
    job_queue_done(&w->queue); /* asserts that it is empty: invariant 2 */
    cond_done(&w->filled);
    lock_done(&w->lock);
    free(w->threads);
    free(w);
}

struct waited_job {
    struct writer_job job;
    sync_job_fn *fn;
    void *ctx;
    struct lock lock;
    struct cond changed;
    bool done GUARDED_BY(lock);
    struct error err; /* ERR_NONE: durable; belongs to the writer until `done` */
};

static int sync_job_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct waited_job *e = CONTAINER_OF(job, struct waited_job, job);

    return e->fn(e->ctx, txn->db, err);
}

static void sync_job_done(struct writer_job *job, const struct error *err)
{
    struct waited_job *e = CONTAINER_OF(job, struct waited_job, job);

    lock_acquire(&e->lock);
    assert(!e->done);
    if (err != NULL)
        e->err = *err;
    e->done = true;
    cond_signal(&e->changed);
    lock_release(&e->lock);
}

static void wait_until_done(struct waited_job *e)
{
    lock_acquire(&e->lock);
    while (!e->done)
        cond_wait(&e->changed, &e->lock);
    lock_release(&e->lock);
}

int writer_run_sync_for(struct writer *writer, struct budget *budget, int64_t asked_us,
                        sync_job_fn *fn, void *ctx, struct error *err)
{
    struct waited_job e = { .job = { .apply = sync_job_apply,
                                     .done = sync_job_done,
                                     .asked_us = asked_us,
                                     .budget = budget,
                                     .unbounded = true },
                            .fn = fn,
                            .ctx = ctx };

    assert(!thread_is("muster-writer")); /* it would deadlock */
    assert(!thread_is("muster-sync"));
    assert(!thread_is("muster-loop")); /* a loop must not block */
    lock_init(&e.lock);
    cond_init(&e.changed);
    if (writer_submit(writer, &e.job, &e.err) == 0)
        wait_until_done(&e);
    cond_done(&e.changed);
    lock_done(&e.lock);
    if (e.err.code != ERR_NONE && err != NULL)
        *err = e.err;
    return e.err.code == ERR_NONE ? 0 : -1;
}

int writer_run_and_wait(struct writer *writer, sync_job_fn *fn, void *ctx, struct error *err)
{
    return writer_run_sync_for(writer, NULL, 0, fn, ctx, err);
}
