/* test_rate_share.c - of those who wait for one batch, each has the time that is its own. */
#include "features/access/rates/rate_share.h"

#include <semaphore.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/clock.h"
#include "db/driver.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "test.h"
#include "unit/fake_db.h"
#include "unit/patience.h"

enum { LIMIT = 100 };

/* A database without rows; the gate holds a commit up. */
struct fake {
    struct db base;
    atomic_bool holds;
    sem_t held, gate;
};

static int commit(struct db *db, struct error *err)
{
    struct fake *fake = (struct fake *)db;

    (void)err;
    if (fake->holds) {
        CHECK(sem_post(&fake->held) == 0);
        CHECK(wait_for(&fake->gate));
    }
    return 0;
}

static int exec(struct db *db, const struct db_query *q, struct db_args args, db_row_fn *on_row,
                void *ctx, struct error *err)
{
    (void)db;
    (void)q;
    (void)args;
    (void)on_row;
    (void)ctx;
    (void)err;
    return 0;
}

static const struct db_driver driver = { .dialect = "postgres",
                                         .begin = fake_begin,
                                         .commit = commit,
                                         .rollback = fake_rollback,
                                         .exec = exec };

static void on_fatal(void *ctx, const struct error *err)
{
    (void)ctx;
    (void)err;
}

static struct {
    struct budgets budgets;
    struct fake fake;
    struct txn txn;
    struct writer *writer;
    struct rate_share *share;
    struct rate_window *windows[2];
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
    CHECK(sem_init(&world.fake.held, 0, 0) == 0 && sem_init(&world.fake.gate, 0, 0) == 0);
    budgets_init(&world.budgets);
    CHECK(writer_new(&options, &world.writer, NULL) == 0);
    world.share = rate_share_new(&world.budgets, true);
    CHECK(rate_share_start(world.share, world.writer, NULL) == 0);
    world.windows[0] = rate_window_new(STR_LIT("one"));
    world.windows[1] = rate_window_new(STR_LIT("another"));
}

static void tear_down(void)
{
    rate_share_stop(world.share);
    writer_free(world.writer);
    rate_share_free(world.share);
    rate_window_free(world.windows[0]);
    rate_window_free(world.windows[1]);
    CHECK(sem_destroy(&world.fake.held) == 0 && sem_destroy(&world.fake.gate) == 0);
}

struct waiter {
    struct rate_waiter base;
    enum err_code result;
    sem_t told;
};

static void done(struct rate_waiter *base, const struct error *err)
{
    struct waiter *waiter = CONTAINER_OF(base, struct waiter, base);

    waiter->result = err == NULL ? ERR_NONE : err->code;
    CHECK(sem_post(&waiter->told) == 0);
}

/* Of one who asked so many seconds ago. */
static void begin_wait(struct waiter *waiter, size_t window, int64_t seconds)
{
    *waiter = (struct waiter){ .base = { .asked_us = clock_raw_us() - seconds * USEC_PER_SEC,
                                         .done = done } };
    CHECK(sem_init(&waiter->told, 0, 0) == 0);
    rate_share_wait(world.share, world.windows[window], LIMIT, &waiter->base);
}

static enum err_code await(struct waiter *waiter)
{
    CHECK(wait_for(&waiter->told));
    CHECK(sem_destroy(&waiter->told) == 0);
    return waiter->result;
}

static void await_queued(void)
{
    struct writer_queue queue = { 0 };

    for (int ms = 0; queue.events == 0; ms++) {
        CHECK(ms < PATIENCE_S * 1000 && usleep(1000) == 0);
        writer_waiting(world.writer, &queue);
    }
}

TEST(one_whose_time_is_over_does_not_end_the_wait_of_the_others)
{
    struct waiter first, old, younger, other;

    set_up();
    world.fake.holds = true;
    begin_wait(&first, 0, 0);
    CHECK(wait_for(&world.fake.held));
    begin_wait(&younger, 0, 0); /* these three wait for the next batch */
    begin_wait(&old, 0, 6);
    begin_wait(&other, 1, 0);
    writer_pause(world.writer, 3600 * 1000);
    world.fake.holds = false;
    CHECK(sem_post(&world.fake.gate) == 0);
    CHECK_INT(await(&first), ERR_NONE);
    await_queued();
    writer_expire(world.writer);
    CHECK_INT(await(&old), ERR_BUSY);
    CHECK(sem_trywait(&younger.told) != 0 && sem_trywait(&other.told) != 0);
    writer_go_on(world.writer);
    CHECK_INT(await(&younger), ERR_NONE);
    CHECK_INT(await(&other), ERR_NONE);
    tear_down();
}

TEST(each_who_waits_in_a_batch_is_told_once_its_own_time_is_over)
{
    struct waiter first, old, younger;

    set_up();
    world.fake.holds = true;
    begin_wait(&first, 0, 0);
    CHECK(wait_for(&world.fake.held));
    begin_wait(&old, 0, 6);
    begin_wait(&younger, 0, 0);
    writer_pause(world.writer, 3600 * 1000);
    CHECK(sem_post(&world.fake.gate) == 0);
    CHECK_INT(await(&first), ERR_NONE);
    await_queued();
    writer_expire(world.writer);
    CHECK_INT(await(&old), ERR_BUSY);
    await_queued();
    atomic_fetch_add(&clock_raw_shift_us, 6 * USEC_PER_SEC);
    writer_expire(world.writer);
    CHECK_INT(await(&younger), ERR_BUSY);
    world.fake.holds = false;
    tear_down();
}
