/* sync_job.c - a writer job whose submitter waits. */
#include "engine/sync_job.h"

#include <pthread.h>
#include <stdbool.h>

#include "engine/txn.h"
#include "engine/writer.h"

struct sync_job {
    struct writer_job job;
    sync_job_fn *fn;
    void *ctx;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
    struct error err; /* ERR_NONE: durable */
};

static int apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct sync_job *e = CONTAINER_OF(job, struct sync_job, job);

    return e->fn(e->ctx, txn->db, err);
}

static void done(struct writer_job *job, const struct error *err)
{
    struct sync_job *e = CONTAINER_OF(job, struct sync_job, job);

    pthread_mutex_lock(&e->lock);
    if (err != NULL)
        e->err = *err;
    e->done = true;
    pthread_cond_signal(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

int writer_run_sync(struct writer *writer, sync_job_fn *fn, void *ctx, struct error *err)
{
    struct sync_job e = { .job = { .apply = apply, .done = done, .unbounded = true },
                          .fn = fn,
                          .ctx = ctx };

    pthread_mutex_init(&e.lock, NULL);
    pthread_cond_init(&e.changed, NULL);
    if (writer_submit(writer, &e.job, &e.err) == 0) {
        pthread_mutex_lock(&e.lock);
        while (!e.done)
            pthread_cond_wait(&e.changed, &e.lock);
        pthread_mutex_unlock(&e.lock);
    }
    pthread_cond_destroy(&e.changed);
    pthread_mutex_destroy(&e.lock);
    if (e.err.code != ERR_NONE && err != NULL)
        *err = e.err;
    return e.err.code == ERR_NONE ? 0 : -1;
}
