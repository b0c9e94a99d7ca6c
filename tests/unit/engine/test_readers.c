/* test_readers.c - slow questions of one tenant do not keep others waiting. */
#include <stdatomic.h>

#include "base/base.h"
#include "base/clock.h"
#include "db/driver.h"
#include "engine/readers.h"
#include "test.h"
#include "unit/patience.h"
#include "unit/tenants.h"

enum { THREADS = 4, HALF = THREADS / 2, QUEUE = 8 };

/* Runs until it is let go. */
struct slow_job {
    struct reader_job job;
    sem_t *begun, *let_go, *ended;
};

static int run(struct reader_job *job, struct db *db, struct error *err)
{
    struct slow_job *slow = CONTAINER_OF(job, struct slow_job, job);

    (void)db;
    (void)err;
    sem_post(slow->begun);
    return wait_for(slow->let_go) ? 0 : -1;
}

static void done(struct reader_job *job, const struct error *err)
{
    (void)err;
    sem_post(CONTAINER_OF(job, struct slow_job, job)->ended);
}

/* A pool, and jobs of which all of a group begin, are let go and end together. */
struct group {
    struct slow_job jobs[QUEUE + THREADS];
    sem_t begun, let_go, ended;
};

static struct readers *readers;
static struct group busy, other;
static bool goes_ahead; /* what is submitted next */

static void group_init(struct group *g)
{
    sem_init(&g->begun, 0, 0);
    sem_init(&g->let_go, 0, 0);
    sem_init(&g->ended, 0, 0);
}

static void group_done(struct group *g)
{
    sem_destroy(&g->begun);
    sem_destroy(&g->let_go);
    sem_destroy(&g->ended);
}

static void begin_for(size_t n_threads, int64_t wait_max_us)
{
    static struct db each[THREADS]; /* no job here asks them for anything */
    struct db *dbs[THREADS];
    struct error err = { 0 };

    for (size_t i = 0; i < n_threads; i++)
        dbs[i] = &each[i];
    group_init(&busy);
    group_init(&other);
    CHECK_INT(readers_new(dbs, n_threads, QUEUE, wait_max_us, &readers, &err), 0);
}

static void begin(size_t n_threads)
{
    begin_for(n_threads, 0);
}

static void end(void)
{
    readers_free(readers);
    group_done(&busy);
    group_done(&other);
}

static int submit(struct group *g, size_t i, int64_t tenant_id)
{
    struct error err = { 0 };

    g->jobs[i] = (struct slow_job){
        { .budget = tenant_budget(tenant_id), .ahead = goes_ahead, .run = run, .done = done },
        &g->begun,
        &g->let_go,
        &g->ended
    };
    return readers_submit(readers, &g->jobs[i].job, &err);
}

static void finish(struct group *g, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sem_post(&g->let_go);
    for (size_t i = 0; i < n; i++)
        CHECK(wait_for(&g->ended));
}

TEST(no_tenant_has_more_than_half_of_the_threads)
{
    begin(THREADS);
    for (size_t i = 0; i < THREADS; i++)
        CHECK_INT(submit(&busy, i, 1), 0);
    for (size_t i = 0; i < HALF; i++)
        CHECK(wait_for(&busy.begun));
    for (int64_t tenant_id = 0; tenant_id <= 2; tenant_id += 2) { /* 0: the service itself */
        CHECK_INT(submit(&other, (size_t)tenant_id, tenant_id), 0);
        CHECK(wait_for(&other.begun));
        finish(&other, 1);
    }
    CHECK(sem_trywait(&busy.begun) != 0); /* the others wait still */
    finish(&busy, THREADS);
    end();
}

TEST(a_lone_thread_serves_everybody)
{
    begin(1);
    CHECK_INT(submit(&busy, 0, 1), 0);
    CHECK_INT(submit(&other, 0, 2), 0);
    finish(&busy, 1);
    finish(&other, 1);
    end();
}

TEST(no_tenant_has_more_of_the_queue_than_its_share)
{
    begin(THREADS);
    (void)tenant_budget(1);
    tenant_budgets.tenant_level.max[BUDGET_READS] = HALF + QUEUE / 2;
    for (size_t i = 0; i < HALF; i++)
        CHECK_INT(submit(&busy, i, 1), 0);
    for (size_t i = 0; i < HALF; i++)
        CHECK(wait_for(&busy.begun));
    for (size_t i = 0; i < QUEUE / 2; i++)
        CHECK_INT(submit(&busy, THREADS + i, 1), 0);
    CHECK_INT(submit(&busy, THREADS - 1, 1), -1);
    CHECK_INT(submit(&other, 0, 2), 0);
    finish(&other, 1);
    finish(&busy, HALF + QUEUE / 2);
    tenant_budgets.tenant_level.max[BUDGET_READS] = 0;
    CHECK_INT(budget_used(tenant_budget(1), BUDGET_READS), 0);
    CHECK_INT(tenant_budgets.tenant_level.refused[BUDGET_READS], 1);
    end();
}

TEST(a_job_that_goes_ahead_finds_room_in_a_full_queue_and_is_next)
{
    enum { FULL = 1 + QUEUE };

    begin(1);
    for (size_t i = 0; i < FULL; i++) {
        CHECK_INT(submit(&busy, i, 0), 0);
        if (i == 0)
            CHECK(wait_for(&busy.begun));
    }
    CHECK_INT(submit(&busy, FULL, 0), -1);
    goes_ahead = true;
    for (size_t i = 0; i < QUEUE / 2; i++)
        CHECK_INT(submit(&other, i, 0), 0);
    CHECK_INT(submit(&other, QUEUE / 2, 0), -1);
    goes_ahead = false;
    finish(&busy, 1);
    CHECK(wait_for(&other.begun));
    CHECK(sem_trywait(&busy.begun) != 0);
    finish(&other, QUEUE / 2);
    finish(&busy, FULL - 1);
    end();
}

/* The first tenant has waited longer, but the second has no thread yet. */
TEST(the_tenant_with_the_fewest_threads_is_next)
{
    begin(THREADS);
    for (size_t i = 0; i < HALF; i++) {
        CHECK_INT(submit(&busy, i, 1), 0);
        CHECK_INT(submit(&other, i, 2), 0);
    }
    for (size_t i = 0; i < HALF; i++)
        CHECK(wait_for(&busy.begun) && wait_for(&other.begun)); /* now all threads are busy */
    CHECK_INT(submit(&busy, HALF, 1), 0);
    CHECK_INT(submit(&other, HALF, 3), 0);
    finish(&busy, 1);
    CHECK(wait_for(&other.begun));
    CHECK(sem_trywait(&busy.begun) != 0);
    finish(&other, HALF + 1);
    finish(&busy, HALF);
    end();
}

TEST(a_read_that_waited_too_long_ends_unrun_and_one_that_runs_goes_on)
{
    const int64_t hour_us = INT64_C(3600) * USEC_PER_SEC;

    begin_for(1, hour_us);
    CHECK_INT(submit(&busy, 0, 1), 0);
    CHECK(wait_for(&busy.begun));
    CHECK_INT(submit(&other, 0, 2), 0);
    atomic_fetch_add(&clock_raw_shift_us, hour_us + 1);
    CHECK_INT(submit(&other, 1, 2), 0); /* it is not an hour old */
    finish(&busy, 1);
    CHECK(wait_for(&other.ended));
    finish(&other, 1);
    CHECK(sem_trywait(&other.begun) == 0 && sem_trywait(&other.begun) != 0);
    CHECK_INT(budget_used(tenant_budget(2), BUDGET_READS), 0);
    end();
}
