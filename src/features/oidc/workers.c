/* workers.c - threads with one bounded queue. */
#include "features/oidc/oidc.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thread.h"

struct workers {
    pthread_t threads[WORKERS];
    size_t n_threads;
    atomic_bool cancel;
    struct lock lock;
    struct cond filled;
    struct worker_job *first GUARDED_BY(lock), **last GUARDED_BY(lock);
    size_t n GUARDED_BY(lock);
    bool stopping GUARDED_BY(lock);
};

/* The oldest job; NULL: stop. */
static struct worker_job *take(struct workers *w, bool *ret_stopping)
{
    struct worker_job *job;

    lock_acquire(&w->lock);
    while (w->first == NULL && !w->stopping)
        cond_wait(&w->filled, &w->lock);
    job = w->first;
    if (job != NULL) {
        assert(w->n > 0);
        w->n--;
        w->first = job->next;
        if (w->first == NULL)
            w->last = &w->first;
    }
    *ret_stopping = w->stopping;
    lock_release(&w->lock);
    return job;
}

static void *worker_thread(void *arg)
{
    struct workers *w = arg;
    struct worker_job *job;
    bool stopping;

    thread_begin("muster-oidc", THREAD_PLAIN);
    while ((job = take(w, &stopping)) != NULL) {
        const bool late =
            clock_raw_us() - job->queued_us > (int64_t)WORKERS_WAIT_MAX_S * USEC_PER_SEC;
        struct error err = { 0 };

        if (stopping)
            (void)err_set(&err, ERR_BUSY, "the service is stopping");
        else if (late)
            (void)err_set(&err, ERR_BUSY, "too many sign-ins wait for it");
        job->run(job, stopping || late ? &err : NULL);
    }
    return NULL;
}

int workers_new(struct workers **ret, struct error *err)
{
    struct workers *w = NEW(struct workers);

    lock_init(&w->lock);
    cond_init(&w->filled);
    w->last = &w->first;
    while (w->n_threads < WORKERS &&
           pthread_create(&w->threads[w->n_threads], NULL, worker_thread, w) == 0)
        w->n_threads++;
    if (w->n_threads < WORKERS) {
        workers_free(w);
        return err_set(err, ERR_UNAVAILABLE, "cannot start threads for the identity provider");
    }
    *ret = w;
    return 0;
}

void workers_stop(struct workers *w)
{
    atomic_store(&w->cancel, true);
    lock_acquire(&w->lock);
    w->stopping = true;
    cond_broadcast(&w->filled);
    lock_release(&w->lock);
}

void workers_end(struct workers *w)
{
    workers_stop(w);
    while (w->n_threads > 0)
        pthread_join(w->threads[--w->n_threads], NULL);
}

void workers_free(struct workers *w)
{
    if (w == NULL)
        return;
    workers_end(w);
    cond_done(&w->filled);
    lock_done(&w->lock);
    free(w);
}

const atomic_bool *workers_cancel(const struct workers *w)
{
    return &w->cancel;
}

int workers_submit(struct workers *w, struct worker_job *job, struct error *err)
{
    bool accepted;

    job->next = NULL;
    job->queued_us = clock_raw_us();
    lock_acquire(&w->lock);
    accepted = w->n < WORKERS_QUEUE_MAX && !w->stopping;
    if (accepted) {
        *w->last = job;
        w->last = &job->next;
        w->n++;
        cond_signal(&w->filled);
    }
    lock_release(&w->lock);
    return accepted ? 0 : err_set(err, ERR_BUSY, "too many sign-ins wait for it");
}
