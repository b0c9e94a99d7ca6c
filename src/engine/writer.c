/* writer.c - submits, tells and stops; the threads are in writer_thread.c. */
#include "engine/writer.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "db/db.h"
#include "engine/job_cost.h"
#include "engine/txn.h"
#include "engine/wait.h"
#include "engine/writer_state.h"

/* How long the next group is waited for after a sync: this part of one, and no longer than that. */
enum { LINGER_PART = 8, LINGER_MAX_US = 2000, CROWD_MS = 1500 };

/* Of jobs that name no cost: the service's own. */
static struct job_cost common_cost = JOB_COST(50);

int writer_submit(struct writer *w, struct writer_job *job, struct error *err)
{
    const int64_t now_us = clock_raw_us();
    int r = -1;

    if (job->cost == NULL)
        job->cost = &common_cost;
    job->cost_us = job_cost_us(job->cost, job->events);
    job->since_us = job->asked_us != 0 ? job->asked_us : job->budget == NULL ? 0 : now_us;
    lock_acquire(&w->lock);
    ASSERT_ALWAYS(job->state != JOB_QUEUED); /* it would be in the queue twice */
    job->part = parts_of(&w->parts, job->tenant_id);
    if (w->fatal)
        err_set(err, ERR_IO, "storage failed; the service is stopping");
    else if (w->stopping)
        err_set(err, ERR_BUSY, "the service is stopping");
    else if (job->dispensable && job_queue_any_hangs(&w->queue, now_us))
        err_set(err, ERR_UNAVAILABLE, "a server of the database does not answer");
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

void writer_finish(struct job_list *group, const struct error *err)
{
    while (group->first != NULL) {
        struct writer_job *job = job_list_take(group);

        ASSERT_ALWAYS(job->state == JOB_QUEUED); /* invariant 2: exactly once */
        job->state = JOB_DONE;
        job->done(job, err);
    }
}

void writer_note_overdue(struct writer *w)
{
    atomic_store_explicit(&w->overdue_us, clock_raw_us(), memory_order_relaxed);
}

/* Is there a job that has not waited for a server that is known to be away? */
static bool is_any_overdue(const struct writer *w, const struct job_list *old, int64_t now_us)
    REQUIRES(w->lock)
{
    const struct writer_job *job = old->first;

    while (job != NULL && job_queue_is_doubtful(&w->queue, job->part, now_us))
        job = job->next;
    return job != NULL;
}

void writer_expire(struct writer *w)
{
    const int64_t now_us = clock_raw_us();
    struct job_list old;
    struct error err;
    bool overdue;

    if (w->options.limits.wait_max_ms == 0)
        return;
    lock_acquire(&w->lock);
    job_queue_take_old(&w->queue, now_us - job_queue_turn_max(&w->queue), &old);
    overdue = is_any_overdue(w, &old, now_us);
    lock_release(&w->lock);
    if (old.first == NULL)
        return;
    if (overdue)
        writer_note_overdue(w);
    for (const struct writer_job *job = old.first; job != NULL; job = job->next)
        metric_add(METRIC_BUSY_WRITER, 1);
    err_set(&err, ERR_BUSY, "the database did not take it within %u ms",
            w->options.limits.wait_max_ms);
    writer_finish(&old, &err);
}

void writer_become_fatal(struct writer *w, const struct error *err)
{
    struct job_list rest;
    bool first;

    lock_acquire(&w->lock);
    first = !w->fatal;
    w->fatal = true;
    job_queue_take_all(&w->queue, &rest);
    lock_release(&w->lock);
    writer_finish(&rest, err);
    if (first)
        w->options.on_fatal(w->options.ctx, err);
}

/* No job is acknowledged before this. */
void writer_finish_durable(struct writer *w, struct job_list *group, const struct sync_times *times)
{
    metric_add(METRIC_COMMITS, 1);
    metric_observe(HISTOGRAM_COMMIT, (uint64_t)(times->ended_us - times->group_us));
    metric_observe(HISTOGRAM_GROUP, group->events);
    lock_acquire(&w->lock);
    job_queue_note_sync(&w->queue, times->ended_us - times->began_us);
    lock_release(&w->lock);
    writer_finish(group, NULL);
}

static void on_synced(void *ctx, struct job_list *jobs, const struct sync_times *times,
                      const struct error *err)
{
    struct writer *w = ctx;

    if (err == NULL) {
        writer_finish_durable(w, jobs, times);
        return;
    }
    writer_finish(jobs, err);
    writer_become_fatal(w, err);
}

void writer_await_told(struct writer *w, int64_t told_us, int64_t us)
{
    if (us > LINGER_MAX_US)
        us = LINGER_MAX_US; /* the disk was slow once */
    w->again = (struct linger){ .us = w->queue.turns.us + told_us - told_us / 8,
                                .until_us = clock_raw_us() + us };
}

/* The jobs of a sync, which cost so much, are about to be told. */
static void on_relaxed(void *ctx, int64_t told_us)
{
    struct writer *w = ctx;

    lock_acquire(&w->lock);
    writer_await_told(w, told_us, w->queue.sync_us / LINGER_PART);
    w->wanted_us = 0; /* is_ready() sets it */
    if (!job_queue_is_empty(&w->queue))
        cond_signal(&w->filled);
    lock_release(&w->lock);
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
    atomic_init(&w->n_lost, 0);
    if (start_syncer(w, err) != 0) {
        writer_free(w);
        return -1;
    }
    w->threads = mem_new(options->n_txns * sizeof(*w->threads));
    for (size_t i = 0; i < options->n_txns; i++) {
        struct writer_thread *t = &w->threads[i];

        *t = (struct writer_thread){ .writer = w, .txn = &options->txns[i] };
        if (pthread_create(&t->id, NULL, writer_thread_main, t) != 0) {
            writer_free(w);
            return err_set(err, ERR_INTERNAL, "cannot start a writer thread");
        }
        w->n_threads++;
    }
    *ret = w;
    return 0;
}

void writer_note_crowd(struct writer *w)
{
    atomic_store_explicit(&w->crowded_us, clock_raw_us() + (int64_t)CROWD_MS * USEC_PER_MSEC,
                          memory_order_relaxed);
}

bool writer_is_crowded(const struct writer *w)
{
    return clock_raw_us() < atomic_load_explicit(&w->crowded_us, memory_order_relaxed);
}

bool writer_is_healthy(const struct writer *w)
{
    return atomic_load_explicit(&w->n_lost, memory_order_relaxed) == 0;
}

void writer_set_parts(struct writer *w, struct parts *parts)
{
    struct parts before;

    lock_acquire(&w->lock);
    before = w->parts;
    w->parts = *parts;
    lock_release(&w->lock);
    *parts = (struct parts){ 0 };
    parts_done(&before);
}

int64_t writer_part_of(struct writer *w, int64_t tenant_id)
{
    int64_t part;

    lock_acquire(&w->lock);
    part = parts_of(&w->parts, tenant_id);
    lock_release(&w->lock);
    return part;
}

bool writer_part_is_away(struct writer *w)
{
    bool away;

    lock_acquire(&w->lock);
    away = job_queue_any_is_away(&w->queue, clock_raw_us());
    lock_release(&w->lock);
    return away;
}

bool writer_all_parts_are_away(struct writer *w)
{
    const int64_t now_us = clock_raw_us();
    bool away;

    lock_acquire(&w->lock);
    away = w->parts.n > 0;
    for (size_t i = 0; away && i < w->parts.n; i++)
        away = job_queue_is_away(&w->queue, w->parts.ranges[i].part, now_us);
    lock_release(&w->lock);
    return away;
}

bool writer_tenant_is_away(struct writer *w, int64_t tenant_id)
{
    bool away;
    int64_t part;

    lock_acquire(&w->lock);
    part = parts_of(&w->parts, tenant_id);
    away = part != 0 && job_queue_is_away(&w->queue, part, clock_raw_us());
    lock_release(&w->lock);
    return away;
}

enum part_state writer_probe(struct writer *w, struct db *db, int64_t tenant_id, int64_t max_us)
{
    struct parts parts;
    const enum part_state state = parts_probe(db, tenant_id, max_us, &parts);

    if (state != PART_UNKNOWN)
        writer_set_parts(w, &parts);
    parts_done(&parts);
    return state;
}

void writer_note_part(struct writer *w, int64_t part, enum part_state state)
{
    const int64_t now_us = clock_raw_us();

    lock_acquire(&w->lock);
    job_queue_note_part(&w->queue, part, state, now_us);
    lock_release(&w->lock);
    if (state == PART_HUNG)
        atomic_store_explicit(&w->hung_us, now_us, memory_order_relaxed);
}

void writer_note_hung(struct writer *w)
{
    writer_note_part(w, 0, PART_HUNG);
}

bool writer_tenant_hangs(struct writer *w, int64_t tenant_id)
{
    int64_t part;
    bool hangs;

    if (atomic_load_explicit(&w->hung_us, memory_order_relaxed) == 0)
        return false;
    lock_acquire(&w->lock);
    part = parts_of(&w->parts, tenant_id);
    hangs = part != 0 && job_queue_part_hangs(&w->queue, part, clock_raw_us());
    lock_release(&w->lock);
    return hangs;
}

enum part_read writer_try_read(struct writer *w, int64_t tenant_id)
{
    enum part_read may = READ_MAY;
    int64_t part;

    if (atomic_load_explicit(&w->hung_us, memory_order_relaxed) == 0)
        return READ_MAY;
    lock_acquire(&w->lock);
    part = parts_of(&w->parts, tenant_id);
    if (part != 0)
        may = job_queue_try_read(&w->queue, part, clock_raw_us());
    lock_release(&w->lock);
    return may;
}

void writer_note_read(struct writer *w, int64_t tenant_id, int64_t tried, enum part_state state)
{
    const int64_t part = writer_part_of(w, tenant_id);

    if (tried != 0 && tried != part)
        writer_note_part(w, tried, PART_UNKNOWN);
    if (part != 0)
        writer_note_part(w, part, state);
}

bool writer_hangs(struct writer *w)
{
    bool hangs;

    lock_acquire(&w->lock);
    hangs = job_queue_any_hangs(&w->queue, clock_raw_us());
    lock_release(&w->lock);
    return hangs;
}

bool writer_is_stalled(const struct writer *w)
{
    int64_t before_us = clock_raw_us() - (int64_t)WRITER_STALL_S * USEC_PER_SEC;

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
    parts_done(&w->parts);
    cond_done(&w->filled);
    lock_done(&w->lock);
    free(w->threads);
    free(w);
}
