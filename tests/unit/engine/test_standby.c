/* test_standby.c - reads with little time left cost no connection, and say nothing of a standby. */
#include "engine/standby.h"

#include <semaphore.h>

#include "base/clock.h"
#include "db/driver.h"
#include "engine/readers.h"
#include "test.h"
#include "unit/patience.h"

enum { MAX_MS = 5000 };

/* A server that answers, or is silent for all of the time that it is given. */
struct fake {
    struct db base;
    bool silent;
    int64_t until_us;
    unsigned n_asked;
};

static void pass_us(int64_t us)
{
    atomic_fetch_add(&clock_raw_shift_us, us);
}

struct row {
    struct db_row base;
};

static int64_t get_int(const struct db_row *row, unsigned column)
{
    (void)row;
    (void)column;
    return 1; /* how far the standby is */
}

static const struct db_row_methods row_methods = { .get_int = get_int };

static int ask(struct fake *fake, struct error *err)
{
    fake->n_asked++;
    if (!fake->silent)
        return 0;
    pass_us(fake->until_us - clock_raw_us());
    return err_set(err, ERR_UNAVAILABLE, "told to be silent");
}

static int exec(struct db *db, const struct db_query *q, struct db_args args, db_row_fn *on_row,
                void *ctx, struct error *err)
{
    const struct row row = { { &row_methods } };

    (void)q;
    (void)args;
    if (ask((struct fake *)db, err) != 0)
        return -1;
    (void)on_row(ctx, &row.base);
    return 0;
}

static int ping(struct db *db, struct error *err)
{
    return ask((struct fake *)db, err);
}

static void set_patience(struct db *db, int64_t until_us)
{
    ((struct fake *)db)->until_us = until_us;
}

static const struct db_driver driver = {
    .dialect = "postgres", .exec = exec, .ping = ping, .set_patience = set_patience
};

struct job {
    struct reader_job read;
    bool falls_silent; /* the standby, after it has said how far it is */
    enum err_code result;
    unsigned n_run;
    sem_t ended;
};

static int run(struct reader_job *read, struct db *db, struct error *err)
{
    struct job *job = CONTAINER_OF(read, struct job, read);
    struct fake *fake = (struct fake *)db;

    fake->silent = fake->silent || (job->n_run == 0 && job->falls_silent);
    job->n_run++;
    return ask(fake, err);
}

static void done(struct reader_job *read, const struct error *err)
{
    struct job *job = CONTAINER_OF(read, struct job, read);

    job->result = err == NULL ? ERR_NONE : err->code;
    sem_post(&job->ended);
}

static struct {
    struct fake primary, second;
    struct standby standby;
    struct readers *readers, *standby_readers;
} world;

static void set_up(void)
{
    struct db *primary = &world.primary.base, *second = &world.second.base;
    struct readers_options options = { .wait_max_us = MAX_MS * (int64_t)USEC_PER_MSEC };

    world.primary = world.second = (struct fake){ .base = { .driver = &driver } };
    CHECK(readers_new(&primary, 1, 8, &world.readers, NULL) == 0);
    CHECK(readers_new(&second, 1, 8, &world.standby_readers, NULL) == 0);
    readers_set(world.readers, &options);
    standby_init(&world.standby, INT64_C(3600) * USEC_PER_SEC);
    CHECK(standby_ask(&world.standby, primary, NULL) == 0);
    CHECK(standby_reach(&world.standby, second, 0, NULL) == 0);
    options.standby = &world.standby;
    options.primary = world.readers;
    readers_set(world.standby_readers, &options);
    world.primary.n_asked = world.second.n_asked = 0;
}

static void tear_down(void)
{
    readers_free(world.standby_readers);
    readers_free(world.readers);
    standby_done(&world.standby);
}

/* A read of one who asked so long ago. It is not begun if the machine stood still meanwhile. */
static void read_at(struct readers *readers, int64_t ms, struct job *job)
{
    do {
        job->read = (struct reader_job){ .asked_us = clock_raw_us() - ms * USEC_PER_MSEC,
                                         .run = run,
                                         .done = done };
        CHECK(sem_init(&job->ended, 0, 0) == 0);
        CHECK(readers_submit(readers, &job->read, NULL) == 0);
        CHECK(wait_for(&job->ended));
        CHECK(sem_destroy(&job->ended) == 0);
    } while (job->result == ERR_BUSY && ms < MAX_MS);
}

TEST(a_standby_that_is_silent_is_shunned_unless_the_read_had_little_time)
{
    static const struct {
        int64_t ms; /* since when the caller waits */
        bool usable;
    } rows[] = { { 100, false }, { 4300, true }, { 4700, true } };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct job job = { .falls_silent = true };

        set_up();
        read_at(world.standby_readers, rows[i].ms, &job);
        CHECK_INT(job.result, ERR_UNAVAILABLE);
        CHECK_INT(job.n_run, 1); /* there is no time left for the primary */
        CHECK_INT(standby_is_usable(&world.standby), rows[i].usable);
        tear_down();
    }
}

/* It takes half a second to say how far it is. */
TEST(a_read_goes_to_the_primary_while_there_is_time_for_that)
{
    struct job job = { 0 };

    set_up();
    world.second.silent = true;
    read_at(world.standby_readers, 100, &job);
    CHECK_INT(job.result, ERR_NONE);
    CHECK_INT(world.primary.n_asked, 2); /* its first read pings */
    CHECK(!standby_is_usable(&world.standby));
    tear_down();
}

TEST(a_standby_that_lags_is_shunned_however_little_time_the_read_had)
{
    struct job job = { 0 };

    set_up();
    world.standby.max_lag_us = -1;
    read_at(world.standby_readers, 4300, &job);
    CHECK_INT(job.result, ERR_NONE);
    CHECK_INT(world.primary.n_asked, 2);
    CHECK(!standby_is_usable(&world.standby));
    tear_down();
}

TEST(a_read_whose_time_is_over_costs_no_connection)
{
    for (size_t i = 0; i < 2; i++) {
        struct job job = { 0 };

        set_up();
        read_at(i == 0 ? world.readers : world.standby_readers, MAX_MS, &job);
        CHECK_INT(job.result, ERR_BUSY);
        CHECK_INT(job.n_run, 0);
        CHECK_INT(world.primary.n_asked + world.second.n_asked, 0);
        CHECK(standby_is_usable(&world.standby));
        tear_down();
    }
}
