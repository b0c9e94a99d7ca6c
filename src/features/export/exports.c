/* exports.c - the threads that run exports.
 *
 * 1. A job is in the list from its submission until its export has ended; it
 *    leaves the list before done(), after which its memory may be gone.
 * 2. Threads are detached: only exports_stop() waits for them,
 *    until all of them have left.
 */
#include "features/export/exports.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "db/db.h"
#include "db/row_sum.h"
#include "features/access/registry.h"
#include "features/export/export_run.h"
#include "features/metrics.h"

enum { NICENESS = 10 }; /* requests have priority */

struct exports {
    char *database;
    struct event_log *events;
    struct prices *prices;
    int64_t max_us;
    atomic_bool stopping;
    struct lock lock;
    struct cond left;
    struct export_job *running GUARDED_BY(lock);
    unsigned n_threads GUARDED_BY(lock);
};

struct exports *exports_new(const struct exports_options *options)
{
    struct exports *e = NEW(struct exports);

    e->database = mem_strdup(options->database);
    e->events = options->events;
    e->prices = options->prices;
    e->max_us = options->max_us;
    atomic_init(&e->stopping, false);
    lock_init(&e->lock);
    cond_init(&e->left);
    return e;
}

static int run_export(struct export_job *job, struct error *err)
{
    const struct export_source source = { .events = job->exports->events,
                                          .prices = job->exports->prices,
                                          .stopping = &job->exports->stopping };
    struct db *db;
    int r;

    if (db_open(job->exports->database, DB_READER, &db, err) != 0)
        return -1;
    if (job->skip_damaged)
        db_set_skip_damaged(db);
    r = export_lines(job, &source, db, err);
    db_close(db);
    return r;
}

static void remove_job(struct exports *e, const struct export_job *job) REQUIRES(e->lock)
{
    struct export_job **at = &e->running;

    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
}

static void leave(struct exports *e)
{
    lock_acquire(&e->lock);
    assert(e->n_threads > 0);
    e->n_threads--;
    cond_signal(&e->left);
    lock_release(&e->lock);
}

static void *export_thread(void *arg)
{
    struct export_job *job = arg;
    struct exports *e = job->exports;
    struct error err = { 0 };
    int r;

    thread_begin("muster-export", THREAD_PLAIN);
    (void)setpriority(PRIO_PROCESS, 0, NICENESS); /* of this thread, on Linux */
    r = run_export(job, &err);
    lock_acquire(&e->lock);
    remove_job(e, job); /* 1 */
    lock_release(&e->lock);
    /* Before done(): the client may request the next one then. */
    budget_give(tenant_budget(job->tenant), BUDGET_EXPORTS, 1);
    job->done(job, r == 0 ? NULL : &err);
    leave(e);
    return NULL;
}

static int start(struct exports *e, struct export_job *job) REQUIRES(e->lock)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int r;

    job->next = e->running;
    e->running = job;
    ASSERT_ALWAYS(pthread_attr_init(&attributes) == 0);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    r = pthread_create(&thread, &attributes, export_thread, job);
    (void)pthread_attr_destroy(&attributes);
    if (r == 0)
        e->n_threads++;
    else
        remove_job(e, job);
    return r;
}

int exports_submit(struct exports *e, struct export_job *job, struct error *err)
{
    struct budget *budget = tenant_budget(job->tenant);
    int r = -1;

    if (!budget_take(budget, BUDGET_EXPORTS, 1)) {
        metric_add(METRIC_BUSY_EXPORTS, 1);
        return err_set(err, ERR_BUSY, "too many exports are running");
    }
    job->exports = e;
    job->began_us = clock_mono_us();
    atomic_init(&job->cancelled, false);
    lock_acquire(&e->lock);
    if (!atomic_load(&e->stopping))
        r = start(e, job);
    lock_release(&e->lock);
    if (r == 0)
        return 0;
    budget_give(budget, BUDGET_EXPORTS, 1);
    return err_set(err, ERR_BUSY, "no export can be started now");
}

void exports_check(struct exports *e)
{
    const int64_t now_us = clock_mono_us();

    lock_acquire(&e->lock);
    for (struct export_job *job = e->running; job != NULL; job = job->next) {
        if (!atomic_load(&job->cancelled) && now_us - job->began_us <= e->max_us &&
            job->may_go_on(job))
            continue;
        atomic_store(&job->cancelled, true);
        job->interrupt(job);
    }
    lock_release(&e->lock);
}

unsigned exports_running(struct exports *e)
{
    unsigned n = 0;

    lock_acquire(&e->lock);
    for (const struct export_job *job = e->running; job != NULL; job = job->next)
        n++;
    lock_release(&e->lock);
    return n;
}

void exports_stop(struct exports *e)
{
    lock_acquire(&e->lock);
    atomic_store(&e->stopping, true);
    while (e->n_threads > 0)
        cond_wait(&e->left, &e->lock);
    lock_release(&e->lock);
}

void exports_free(struct exports *e)
{
    if (e == NULL)
        return;
    exports_stop(e);
    cond_done(&e->left);
    lock_done(&e->lock);
    free(e->database);
    free(e);
}
