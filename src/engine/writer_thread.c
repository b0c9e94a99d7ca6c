/* writer_thread.c - a writer thread: takes a group, applies and commits it, hands it over. */
#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/thread.h"
#include "db/db.h"
#include "engine/job_cost.h"
#include "engine/job_order.h"
#include "engine/retry.h"
#include "engine/txn.h"
#include "engine/wait.h"
#include "engine/writer_state.h"

/* For a test build that answers before it commits: the crash test must notice. */
#ifndef MUSTER_ACK_EARLY
#define MUSTER_ACK_EARLY 0
#endif

enum {
    LOST_PERIOD_S = 1, /* between two attempts to reconnect */

    /* What a group takes says what a unit costs if it has this many; a small group is mostly the
     * work of its transaction, and may only lower the average. */
    LARGE_EVENTS = 200,

    RETRIES_MAX = 3, /* of a group, after a deadlock */
};

static _Thread_local const struct writer_thread *current;

/* For asserts, which a release leaves out. */
static inline bool on_writer_thread(const struct writer_thread *t)
{
    return current == t;
}

/* Are groups formed so that they cost the database little? A distributed one gets none of that:
 * each group is for one of its servers, and must not wait for that of another. */
static bool forms_large_groups(const struct writer_thread *t)
{
    return writer_is_crowded(t->writer) && !db_is_distributed(t->txn->db);
}

/* What this thread waits for before it takes a group. */
static struct linger linger_of(struct writer *w, const struct writer_thread *t) REQUIRES(w->lock)
{
    const bool crowded = forms_large_groups(t);
    int64_t until_us;

    if (t->lost)
        return (struct linger){ 0 }; /* it takes any group: begin() reconnects */
    until_us = job_queue_spare_until(&w->queue, (size_t)(t - w->threads), crowded);
    if (until_us == 0)
        return w->again;
    return (struct linger){ .us = crowded ? CROWDED_GROUP_US : SPARE_GROUP_US,
                            .until_us = until_us };
}

/* Is it time for a transaction? While the group before is synced, when what is queued takes about
 * as long as the rest of the sync. After the sync, when those who were told have sent again or have
 * had the time for it: else connections fall into two halves that pay for a sync each. Beside
 * another writer, when what is queued is worth a transaction of its own. */
static bool is_ready(struct writer *w, const struct writer_thread *t, int64_t *ret_until_us)
    REQUIRES(w->lock)
{
    enum syncer_state state = w->syncer == NULL ? SYNCER_IDLE : syncer_state(w->syncer);
    const struct linger linger = linger_of(w, t);

    *ret_until_us = linger.until_us;
    w->wanted_us = 0;
    w->lingers = false;
    if (job_queue_is_empty(&w->queue))
        return false;
    if (state == SYNCER_FULL)
        w->wanted_us = INT64_MAX;
    else if (state == SYNCER_SYNCING)
        w->wanted_us = w->queue.sync_us / 2;
    else if (clock_raw_us() < linger.until_us)
        w->wanted_us = linger.us;
    w->lingers = state == SYNCER_IDLE && w->wanted_us > 0;
    return w->queue.turns.us >= w->wanted_us;
}

/* Waits until a group may be taken. Without a connection it tries to reconnect meanwhile, so that
 * the service becomes healthy again without any request. */
static void wait_for_work(struct writer *w, struct writer_thread *t) REQUIRES(w->lock)
{
    int64_t until_us;

    while (!is_ready(w, t, &until_us) && !w->stopping) {
        const bool lingers = w->lingers;
        struct timespec until;

        if (!t->lost && !lingers) {
            cond_wait(&w->filled, &w->lock);
            continue;
        }
        until = clock_deadline(CLOCK_MONOTONIC, lingers ? until_us - clock_raw_us()
                                                        : (int64_t)LOST_PERIOD_S * USEC_PER_SEC);
        if (cond_wait_until(&w->filled, &w->lock, &until) || lingers)
            continue;
        lock_release(&w->lock);
        writer_set_lost(t, db_ping(t->txn->db, NULL) != 0);
        lock_acquire(&w->lock);
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
        if (writer_await_pause(w))
            continue;
        job_queue_take_group(&w->queue, number, clock_mono_us(), ret_group);
        w->wanted_us = 0; /* the other writer is woken for any job, and looks by itself */
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

/* Rows of the statement that BEGIN goes with are in memory as a whole. */
static int begin_transaction(const struct writer_thread *t, const struct job_list *group,
                             struct error *err)
{
    const struct writer_job *first = group->first;
    const bool reads_much = first->exclusive && !first->writes_first;

    return reads_much ? db_begin(t->txn->db, err) : db_begin_later(t->txn->db, err);
}

/* A connection lost between transactions fails no job: reconnect first. */
static int begin_connected(struct writer_thread *t, const struct job_list *group, struct error *err)
{
    if (!t->lost && begin_transaction(t, group, err) == 0)
        return 0;
    if (!t->lost && err->code != ERR_UNAVAILABLE)
        return -1;
    if (db_ping(t->txn->db, err) != 0)
        return -1;
    writer_set_lost(t, false);
    return begin_transaction(t, group, err);
}

/* What transactions before have found is forgotten with their connection: a standby that has become
 * the primary may not have it. */
static int begin(struct writer_thread *t, const struct job_list *group, struct error *err)
{
    const struct writer_hooks *hooks = t->writer->options.hooks;

    if (begin_connected(t, group, err) != 0)
        return -1;
    if (hooks != NULL && db_session(t->txn->db) != t->session)
        hooks->rolled_back(t->txn);
    t->session = db_session(t->txn->db);
    return 0;
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

/* When the parts of a group's transaction ended, by the monotonic clock. */
struct pace {
    int64_t began_us, opened_us, applied_us, committed_us;
};

/* Fails when its time is over: after an attempt that failed, or with others. */
static int set_patience(struct writer_thread *t, const struct job_list *group)
{
    const int64_t until_us = job_queue_patience(&t->writer->options.limits, group);

    db_set_patience(t->txn->db, until_us);
    t->asks = !wait_is_over(until_us);
    t->hurries = until_us != 0 && until_us - clock_raw_us() < USEC_PER_SEC;
    t->commits = false;
    return t->asks ? 0 : -1;
}

/* Applies and commits the jobs of `group`. */
static int commit_group(struct writer_thread *t, struct job_list *group, struct pace *ret_pace,
                        struct error *err)
{
    const bool changes = group->first->exclusive && !group->first->keeps_caches;

    assert(on_writer_thread(t));
    ret_pace->began_us = clock_mono_us();
    if (set_patience(t, group) != 0)
        return err_set(err, ERR_BUSY, "it waited too long for its turn");
    if (begin(t, group, err) != 0)
        return -1;
    ret_pace->opened_us = clock_mono_us(); /* it may have moved the log into the file */
    txn_set_state(t->txn, TXN_OPEN);
    if (apply_all(t, group, err) != 0)
        return roll_back(t);
    if (MUSTER_ACK_EARLY)
        writer_finish(group, NULL);
    ret_pace->applied_us = clock_mono_us();
    /* A server that commits nothing is told from one where a statement waits for a lock. */
    if (db_is_distributed(t->txn->db) && db_settle(t->txn->db, err) != 0)
        return roll_back(t);
    t->commits = true;
    if (db_commit(t->txn->db, err) != 0)
        return roll_back(t);
    ret_pace->committed_us = clock_mono_us();
    committed(t, changes);
    return 0;
}

/* Was the connection lost between transactions, which this one's first statement has noticed? */
static bool was_lost_before(const struct writer_thread *t, enum err_code code)
{
    const struct db *db = t->txn->db;

    return code == ERR_UNAVAILABLE && db_is_beginning(db) && !db_is_silent(db) &&
           !db_part_is_away(db);
}

/* The same, again after a deadlock, and with another connection. */
static int commit_or_retry(struct writer_thread *t, struct job_list *group, struct pace *ret_pace,
                           struct error *err)
{
    for (unsigned attempt = 1;; attempt++) {
        if (commit_group(t, group, ret_pace, err) == 0)
            return 0;
        if (attempt == 1 && was_lost_before(t, err->code))
            continue;
        if (err->code != ERR_BUSY || attempt > RETRIES_MAX || !db_was_contended(t->txn->db))
            return -1;
        metric_add(METRIC_COMMITS_RETRIED, 1);
        log_write(LOG_WARNING, "writer", "%s: attempt %u of a transaction of %zu events", err->text,
                  attempt, group->events);
        retry_pause(attempt);
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

/* The group is committed: tells its jobs, at once or when it is synced. */
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
    if (forms_large_groups(t)) {
        lock_acquire(&w->lock);
        writer_await_told(w, group->us, pace->committed_us - pace->began_us);
        lock_release(&w->lock);
    }
    writer_finish_durable(w, group,
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

static void run_group(struct writer_thread *t, struct job_list *group)
{
    struct error err = { 0 };
    struct pace pace = { 0 };
    bool moved;

    if (commit_or_retry(t, group, &pace, &err) == 0) {
        if (group->first != NULL && group->first->part != 0)
            writer_note_part(t->writer, group->first->part, PART_ANSWERS);
        if (group->first != NULL) /* else a test told its jobs early */
            hand_over(t, group, &pace);
        return;
    }
    metric_add(METRIC_COMMITS_FAILED, 1);
    moved = db_part_is_away(t->txn->db) && writer_find_parts(t, group);
    if (group->first != NULL && group->first->next != NULL &&
        (moved || !writer_is_general(t, group, err.code))) {
        /* retry one by one, so that only the bad job fails */
        while (group->first != NULL && !is_fatal(t->writer)) {
            struct job_list single;

            job_list_init(&single);
            job_list_add(&single, job_list_take(group));
            run_group(t, &single);
        }
        writer_finish(group, &err);
        return;
    }
    writer_fail_group(t, group, &err);
}

void *writer_thread_main(void *arg)
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
