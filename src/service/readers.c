/* readers.c - the queue of reads and the threads that take from it. */
#include "service/readers.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/metrics.h"
#include "db/db.h"

struct readers {
    pthread_t *threads;
    size_t n_threads;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t filled;
    struct reader_job *first, **last;
    size_t n_queued, queue_max;
    int64_t *running; /* the tenant that each thread works for; 0: none */
    bool stopping;
};

struct thread_start {
    struct readers *readers;
    struct db *db;
    size_t place; /* among the threads */
};

/* With the lock. */
static bool has_its_share(const struct readers *r, int64_t tenant_id)
{
    size_t n = 0;

    if (tenant_id == 0 || r->n_queued < r->queue_max / 2)
        return false;
    for (const struct reader_job *job = r->first; job != NULL; job = job->next)
        n += job->tenant_id == tenant_id;
    return n >= r->queue_max / 2;
}

int readers_submit(struct readers *r, struct reader_job *job, struct error *err)
{
    int status = -1;

    pthread_mutex_lock(&r->lock);
    if (r->stopping) {
        err_set(err, ERR_BUSY, "the service is stopping");
    } else if (r->n_queued >= r->queue_max || has_its_share(r, job->tenant_id)) {
        err_set(err, ERR_BUSY, "too many reads are waiting");
    } else {
        job->next = NULL;
        *r->last = job;
        r->last = &job->next;
        r->n_queued++;
        pthread_cond_signal(&r->filled);
        status = 0;
    }
    pthread_mutex_unlock(&r->lock);
    if (status != 0)
        metric_add(METRIC_BUSY_READERS, 1);
    return status;
}

size_t readers_waiting(struct readers *r)
{
    size_t n;

    pthread_mutex_lock(&r->lock);
    n = r->n_queued;
    pthread_mutex_unlock(&r->lock);
    return n;
}

/* With the lock: may another thread work for it? One is left for others, if there are several. */
static bool may_run(const struct readers *r, int64_t tenant_id)
{
    size_t n = 0;

    if (tenant_id == 0 || r->n_threads == 1 || r->stopping)
        return true;
    for (size_t i = 0; i < r->n_threads; i++)
        n += r->running[i] == tenant_id;
    return n < r->n_threads - 1;
}

/* With the lock: the first that may run; NULL when none may. */
static struct reader_job *unqueue(struct readers *r)
{
    struct reader_job **at = &r->first, *job;

    while (*at != NULL && !may_run(r, (*at)->tenant_id))
        at = &(*at)->next;
    job = *at;
    if (job == NULL)
        return NULL;
    *at = job->next;
    if (*at == NULL)
        r->last = at;
    r->n_queued--;
    return job;
}

/* NULL when stopping and nothing is left. */
static struct reader_job *take(struct readers *r, size_t place)
{
    struct reader_job *job;

    pthread_mutex_lock(&r->lock);
    r->running[place] = 0;
    while ((job = unqueue(r)) == NULL && !r->stopping)
        pthread_cond_wait(&r->filled, &r->lock);
    if (job != NULL)
        r->running[place] = job->tenant_id;
    if (r->first != NULL) /* what a thread that waits had to pass over may be free to run now */
        pthread_cond_signal(&r->filled);
    pthread_mutex_unlock(&r->lock);
    return job;
}

static void run_job(struct reader_job *job, struct db *db)
{
    struct error err = { 0 };
    int status = job->run(job, db, &err);

    if (status != 0 && err.code == ERR_UNAVAILABLE && db_ping(db, &err) == 0)
        status = job->run(job, db, &err);
    job->done(job, status == 0 ? NULL : &err);
}

static void *run_thread(void *arg)
{
    struct thread_start start = *(struct thread_start *)arg;
    struct reader_job *job;

    (void)pthread_setname_np(pthread_self(), "muster-reader");
    free(arg);
    while ((job = take(start.readers, start.place)) != NULL)
        run_job(job, start.db);
    return NULL;
}

int readers_new(struct db *const *dbs, size_t n, size_t queue_max, struct readers **ret,
                struct error *err)
{
    struct readers *r = NEW(struct readers);

    r->queue_max = queue_max;
    r->last = &r->first;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->filled, NULL);
    r->threads = mem_new(n * sizeof(*r->threads));
    r->running = mem_new(n * sizeof(*r->running));
    for (size_t i = 0; i < n; i++) {
        struct thread_start *start = NEW(struct thread_start);

        *start = (struct thread_start){ r, dbs[i], i };
        if (pthread_create(&r->threads[i], NULL, run_thread, start) != 0) {
            free(start);
            readers_free(r);
            return err_set(err, ERR_INTERNAL, "cannot start a reader thread");
        }
        r->n_threads++;
    }
    *ret = r;
    return 0;
}

void readers_free(struct readers *r)
{
    if (r == NULL)
        return;
    pthread_mutex_lock(&r->lock);
    r->stopping = true;
    pthread_cond_broadcast(&r->filled);
    pthread_mutex_unlock(&r->lock);
    for (size_t i = 0; i < r->n_threads; i++)
        pthread_join(r->threads[i], NULL);
    pthread_cond_destroy(&r->filled);
    pthread_mutex_destroy(&r->lock);
    free(r->threads);
    free(r->running);
    free(r);
}
