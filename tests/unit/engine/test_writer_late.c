/* test_writer_late.c - callers who have little time left say nothing of the database. */
#include <semaphore.h>
#include <unistd.h>

#include "base/clock.h"
#include "db/driver.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "test.h"
#include "unit/fake_db.h"

/* A database that may not answer in time, and may answer a new connection. */
struct fake {
    struct db base;
    atomic_bool silent, pings;
};

static int commit(struct db *db, struct error *err)
{
    struct fake *fake = (struct fake *)db;

    db->silent = fake->silent;
    return fake->silent ? err_set(err, ERR_UNAVAILABLE, "told to fail") : 0;
}

static int ping(struct db *db, struct error *err)
{
    struct fake *fake = (struct fake *)db;

    db->silent = false;
    return fake->pings ? 0 : err_set(err, ERR_UNAVAILABLE, "told to fail");
}

static const struct db_driver driver = { .dialect = "postgres",
                                         .begin = fake_begin,
                                         .commit = commit,
                                         .rollback = fake_rollback,
                                         .ping = ping };

struct job {
    struct writer_job write;
    struct writer *writer;
    enum err_code result;
    bool healthy; /* was the writer, when it was told? */
    sem_t ended;
};

static int apply(struct writer_job *write, struct txn *txn, struct error *err)
{
    (void)write;
    (void)txn;
    (void)err;
    return 0;
}

static void done(struct writer_job *write, const struct error *err)
{
    struct job *job = CONTAINER_OF(write, struct job, write);

    job->result = err == NULL ? ERR_NONE : err->code;
    job->healthy = writer_is_healthy(job->writer);
    CHECK(sem_post(&job->ended) == 0);
}

static void on_fatal(void *ctx, const struct error *err)
{
    (void)ctx;
    (void)err;
}

static struct {
    struct fake fake;
    struct txn txn;
    struct writer *writer;
} world;

static void set_up(void)
{
    const struct writer_options options = {
        .txns = &world.txn,
        .n_txns = 1,
        .limits = { .events_max = 99, .bytes_max = 99, .group_max = 99, .wait_max_ms = 5000 },
        .on_fatal = on_fatal
    };

    world.fake = (struct fake){ .base = { .driver = &driver } };
    world.txn = (struct txn){ .db = &world.fake.base };
    CHECK(writer_new(&options, &world.writer, NULL) == 0);
}

/* Of one who asked so many milliseconds ago; 0: the service's own, which has all the time. */
static struct job run(int64_t ms)
{
    struct job job = { .write = { .apply = apply, .done = done, .events = 1 },
                       .writer = world.writer };

    job.write.asked_us = ms == 0 ? 0 : clock_raw_us() - ms * USEC_PER_MSEC;
    CHECK(sem_init(&job.ended, 0, 0) == 0);
    CHECK(writer_submit(world.writer, &job.write, NULL) == 0);
    CHECK(sem_wait(&job.ended) == 0);
    CHECK(sem_destroy(&job.ended) == 0);
    return job;
}

/* The database is asked for it: not if the machine stood still for half a second. */
static struct job run_late(void)
{
    struct job job;

    do
        job = run(4200);
    while (job.result == ERR_BUSY);
    return job;
}

TEST(a_job_with_little_time_that_is_given_up_is_no_loss_of_a_database_that_answers)
{
    struct job job;

    set_up();
    world.fake.silent = world.fake.pings = true;
    job = run_late();
    CHECK_INT(job.result, ERR_UNAVAILABLE);
    CHECK(job.healthy);
    job = run(0);
    CHECK_INT(job.result, ERR_UNAVAILABLE);
    CHECK(!job.healthy); /* it had time */
    writer_free(world.writer);
}

TEST(a_job_with_little_time_that_is_given_up_is_a_loss_of_a_database_that_is_away)
{
    set_up();
    world.fake.silent = true;
    CHECK_INT(run_late().result, ERR_UNAVAILABLE);
    while (writer_is_healthy(world.writer))
        CHECK(usleep(1000) == 0);
    writer_free(world.writer);
}

TEST(a_job_whose_time_was_over_says_nothing_of_a_lost_database)
{
    struct job job;

    set_up();
    world.fake.silent = true;
    CHECK(!run(0).healthy);
    job = run(10000);
    CHECK_INT(job.result, ERR_BUSY);
    CHECK(!job.healthy);
    writer_free(world.writer);
}
