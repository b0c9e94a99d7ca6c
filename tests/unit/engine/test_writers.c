/* test_writers.c - two writers on one database: the second one leaves small groups to the first. */
#include <semaphore.h>

#include "base/clock.h"
#include "engine/job_queue.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "test.h"
#include "unit/fake_db.h"

enum { WRITERS = 2 };

static const struct db_driver driver = {
    .dialect = "postgres", .begin = fake_begin, .commit = fake_begin, .rollback = fake_rollback
};

struct job {
    struct writer_job write;
    sem_t *waits; /* for this, when it is applied; or NULL */
    int64_t applied_us;
    sem_t began, ended;
};

static int apply(struct writer_job *write, struct txn *txn, struct error *err)
{
    struct job *job = CONTAINER_OF(write, struct job, write);

    (void)txn;
    (void)err;
    job->applied_us = clock_raw_us();
    CHECK(sem_post(&job->began) == 0);
    if (job->waits != NULL)
        CHECK(sem_wait(job->waits) == 0);
    return 0;
}

static void done(struct writer_job *write, const struct error *err)
{
    struct job *job = CONTAINER_OF(write, struct job, write);

    CHECK(err == NULL);
    CHECK(sem_post(&job->ended) == 0);
}

static void on_fatal(void *ctx, const struct error *err)
{
    (void)ctx;
    (void)err;
}

static struct {
    struct db dbs[WRITERS];
    struct txn txns[WRITERS];
    struct writer *w;
    sem_t gate;
    struct job_cost cost; /* its own: that of jobs without one is what other tests made of it */
} world;

static void submit(struct writer *w, struct job *job, size_t events, sem_t *waits)
{
    *job = (struct job){
        .write = { .apply = apply, .done = done, .cost = &world.cost, .events = events },
        .waits = waits
    };
    CHECK(sem_init(&job->began, 0, 0) == 0 && sem_init(&job->ended, 0, 0) == 0);
    CHECK(writer_submit(w, &job->write, NULL) == 0);
}

static void await(struct job *job)
{
    CHECK(sem_wait(&job->ended) == 0);
    CHECK(sem_destroy(&job->began) == 0 && sem_destroy(&job->ended) == 0);
}

static void set_up(void)
{
    const struct writer_options options = {
        .txns = world.txns,
        .n_txns = WRITERS,
        .limits = { .events_max = 99, .bytes_max = 99, .group_max = 99 },
        .on_fatal = on_fatal
    };

    for (size_t i = 0; i < WRITERS; i++) {
        world.dbs[i] = (struct db){ .driver = &driver };
        world.txns[i] = (struct txn){ .db = &world.dbs[i] };
    }
    world.cost = (struct job_cost)JOB_COST(50);
    CHECK(sem_init(&world.gate, 0, 0) == 0);
    CHECK(writer_new(&options, &world.w, NULL) == 0);
}

static void tear_down(void)
{
    writer_free(world.w);
    CHECK(sem_destroy(&world.gate) == 0);
}

/* One writer is at work until the gate is opened. */
static void occupy(struct job *first)
{
    submit(world.w, first, 1, &world.gate);
    CHECK(sem_wait(&first->began) == 0);
}

static void release(struct job *first)
{
    CHECK(sem_post(&world.gate) == 0);
    await(first);
}

/* It is not left waiting for a first one that takes long either. */
TEST(a_small_group_waits_a_moment_for_the_writer_that_is_at_work)
{
    struct job first, second;
    int64_t began_us;

    set_up();
    began_us = clock_raw_us();
    occupy(&first);
    submit(world.w, &second, 1, NULL);
    await(&second);
    CHECK(second.applied_us - began_us >= BESIDE_WAIT_US);
    release(&first);
    tear_down();
}

/* With a clock that was set back, a writer that waits does so for a minute. */
TEST(a_large_group_is_taken_at_once_and_a_small_one_when_a_writer_is_free)
{
    const int64_t minute_us = INT64_C(60) * USEC_PER_SEC;
    struct job first, large, small;
    int64_t began_us;

    set_up();
    occupy(&first);
    atomic_fetch_sub(&clock_raw_shift_us, minute_us);
    began_us = clock_raw_us();
    submit(world.w, &large, 50, NULL);
    await(&large);
    CHECK(large.applied_us - began_us < minute_us);
    CHECK(large.write.txn != first.write.txn);
    submit(world.w, &small, 1, NULL);
    release(&first);
    await(&small);
    CHECK(small.applied_us - began_us < minute_us);
    atomic_fetch_add(&clock_raw_shift_us, minute_us);
    tear_down();
}
