/* syncer.c - the thread that syncs. */
#include "engine/syncer.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "db/db.h"
#include "db/embedded.h"
#include "engine/job_queue.h"

struct syncer {
    struct syncer_options options;
    pthread_t id;
    _Atomic int64_t began_us;
    atomic_int state; /* enum syncer_state; changed under the lock, read without it */

    struct lock lock;
    struct cond changed;
    struct job_list waiting GUARDED_BY(lock); /* committed, for the next sync */
    int64_t waiting_us GUARDED_BY(lock);      /* when the first of them began */
    bool stopping GUARDED_BY(lock);
};

static void set_state(struct syncer *s, enum syncer_state state) REQUIRES(s->lock)
{
    atomic_store_explicit(&s->state, (int)state, memory_order_release);
}

enum syncer_state syncer_state(const struct syncer *s)
{
    return (enum syncer_state)atomic_load_explicit(&s->state, memory_order_acquire);
}

int64_t syncer_began_us(const struct syncer *s)
{
    return atomic_load_explicit(&s->began_us, memory_order_relaxed);
}

void syncer_add(struct syncer *s, struct job_list *group, int64_t group_us)
{
    assert(thread_may_be("muster-writer"));
    lock_acquire(&s->lock);
    assert(!s->stopping);
    if (s->waiting.first == NULL)
        s->waiting_us = group_us;
    job_list_move(&s->waiting, group);
    set_state(s, syncer_state(s) == SYNCER_IDLE ? SYNCER_SYNCING : SYNCER_FULL);
    cond_signal(&s->changed);
    lock_release(&s->lock);
}

/* Waits for jobs and takes them all; false when it is to end. */
static bool take(struct syncer *s, struct job_list *ret, int64_t *ret_group_us)
{
    bool any, was_full;

    job_list_init(ret);
    lock_acquire(&s->lock);
    while (s->waiting.first == NULL && !s->stopping)
        cond_wait(&s->changed, &s->lock);
    any = s->waiting.first != NULL;
    was_full = syncer_state(s) == SYNCER_FULL;
    if (any) {
        *ret_group_us = s->waiting_us;
        job_list_move(ret, &s->waiting);
        set_state(s, SYNCER_SYNCING);
    }
    lock_release(&s->lock);
    if (any && was_full)
        s->options.relaxed(s->options.ctx, 0); /* the next group may be applied meanwhile */
    return any;
}

/* One may have been added meanwhile; take() goes on with it. */
static void relax(struct syncer *s, int64_t told_us)
{
    lock_acquire(&s->lock);
    set_state(s, s->waiting.first == NULL ? SYNCER_IDLE : SYNCER_SYNCING);
    lock_release(&s->lock);
    s->options.relaxed(s->options.ctx, told_us);
}

static void *syncer_main(void *arg)
{
    struct syncer *s = arg;
    struct sync_times times;
    struct error failure;
    struct job_list jobs;
    bool failed = false;

    thread_begin("muster-sync", THREAD_PROMPT);
    while (take(s, &jobs, &times.group_us)) {
        atomic_store_explicit(&s->began_us, clock_raw_us(), memory_order_relaxed);
        times.began_us = clock_mono_us();
        failed = failed || db_sync(s->options.db, &failure) != 0; /* invariant 3 */
        times.ended_us = clock_mono_us();
        atomic_store_explicit(&s->began_us, 0, memory_order_relaxed);
        relax(s, jobs.us); /* first, so that the writer works while done() of the jobs is called */
        s->options.synced(s->options.ctx, &jobs, &times, failed ? &failure : NULL);
        assert(jobs.first == NULL); /* invariant 2 */
    }
    return NULL;
}

int syncer_new(const struct syncer_options *options, struct syncer **ret, struct error *err)
{
    struct syncer *s = NEW(struct syncer);

    s->options = *options;
    lock_init(&s->lock);
    cond_init(&s->changed);
    job_list_init(&s->waiting);
    if (pthread_create(&s->id, NULL, syncer_main, s) != 0) {
        cond_done(&s->changed);
        lock_done(&s->lock);
        free(s);
        return err_set(err, ERR_INTERNAL, "cannot start the syncer thread");
    }
    *ret = s;
    return 0;
}

void syncer_stop(struct syncer *s)
{
    bool stopped;

    if (s == NULL)
        return;
    lock_acquire(&s->lock);
    stopped = s->stopping;
    s->stopping = true;
    cond_signal(&s->changed);
    lock_release(&s->lock);
    if (!stopped)
        pthread_join(s->id, NULL);
}

void syncer_free(struct syncer *s)
{
    if (s == NULL)
        return;
    syncer_stop(s);
    cond_done(&s->changed);
    lock_done(&s->lock);
    free(s);
}
