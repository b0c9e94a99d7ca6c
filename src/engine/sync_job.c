/* sync_job.c - a writer job whose submitter waits. */
#include "engine/sync_job.h"

#include <assert.h>
#include <stdbool.h>

#include "base/lock.h"
#include "base/thread.h"
#include "engine/txn.h"
#include "engine/writer.h"

struct sync_job {
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
    struct sync_job *e = CONTAINER_OF(job, struct sync_job, job);

    return e->fn(e->ctx, txn->db, err);
}

static void sync_job_done(struct writer_job *job, const struct error *err)
{
    struct sync_job *e = CONTAINER_OF(job, struct sync_job, job);

    lock_acquire(&e->lock);
    assert(!e->done);
    if (err != NULL)
        e->err = *err;
    e->done = true;
    cond_signal(&e->changed);
    lock_release(&e->lock);
}

static void wait_until_done(struct sync_job *e)
{
    lock_acquire(&e->lock);
    while (!e->done)
        cond_wait(&e->changed, &e->lock);
    lock_release(&e->lock);
}

int writer_run_sync_for(struct writer *writer, struct budget *budget, int64_t asked_us,
                        sync_job_fn *fn, void *ctx, struct error *err)
{
    struct sync_job e = { .job = { .apply = sync_job_apply,
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

int writer_run_sync(struct writer *writer, sync_job_fn *fn, void *ctx, struct error *err)
{
    return writer_run_sync_for(writer, NULL, 0, fn, ctx, err);
}
