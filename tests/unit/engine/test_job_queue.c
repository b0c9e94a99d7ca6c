/* test_job_queue.c - tenants take turns at the writer, by what their jobs cost, and none has all of
 * the queue. */
#include "engine/job_queue.h"

#include "base/clock.h"
#include "test.h"

enum { TENANTS = 3, JOBS_MAX = 4000, DEAR_US = 9000 };

static const struct writer_limits wide = { .events_max = 100000,
                                           .bytes_max = MIB(64),
                                           .group_max = 4000 };

struct world {
    struct budgets budgets;
    struct budget tenants[TENANTS], keys[TENANTS];
    struct job_queue queue;
    struct writer_job jobs[JOBS_MAX];
    size_t n;
};

static struct world w;

static void set_up_for(const struct writer_limits *limits, size_t n_writers)
{
    w = (struct world){ 0 };
    budgets_init(&w.budgets);
    for (size_t i = 0; i < TENANTS; i++) {
        budget_init(&w.tenants[i], &w.budgets.tenant_level, &w.budgets.service);
        budget_init(&w.keys[i], &w.budgets.key_level, &w.tenants[i]);
    }
    job_queue_init(&w.queue, limits, n_writers);
}

static void set_up(const struct writer_limits *limits)
{
    set_up_for(limits, 1);
}

static void tear_down(void)
{
    struct job_list rest;

    job_queue_take_all(&w.queue, &rest);
    CHECK_INT(budget_used(&w.budgets.service, BUDGET_EVENTS), 0);
    CHECK_INT(budget_used(&w.budgets.service, BUDGET_WRITER_US), 0);
    job_queue_done(&w.queue);
}

static struct writer_job *make(struct budget *budget, size_t events, int64_t us)
{
    struct writer_job *job = &w.jobs[w.n++];

    *job = (struct writer_job){ .budget = budget, .events = events, .cost_us = us };
    return job;
}

static int add(struct budget *budget, size_t events, int64_t us)
{
    return job_queue_add(&w.queue, make(budget, events, us), NULL);
}

static void add_many(struct budget *budget, size_t n, int64_t us)
{
    for (size_t i = 0; i < n; i++)
        CHECK(add(budget, 1, us) == 0);
}

/* The jobs of a tenant (or the service: NULL) in the next group. */
static size_t take(const struct budget *tenant, struct job_list *group)
{
    size_t n = 0;

    job_queue_take_group(&w.queue, 0, 1, group);
    for (const struct writer_job *job = group->first; job != NULL; job = job->next)
        n += share_of(job->budget) == tenant;
    return n;
}

TEST(an_event_behind_a_thousand_jobs_of_another_tenant_is_in_the_next_group)
{
    struct job_list group;

    set_up(&wide);
    add_many(&w.keys[0], 1000, DEAR_US);
    CHECK_INT(take(&w.tenants[0], &group), 1000); /* alone it may have all of a group */
    add_many(&w.keys[0], 1000, DEAR_US);
    CHECK(add(&w.keys[1], 1, 20) == 0);
    CHECK_INT(take(&w.tenants[1], &group), 1);
    CHECK(group.us <= DEAR_US + 20); /* with at most one dear job before it */
    tear_down();
}

/* The same time for each of three, though one's jobs cost ten times as much, and another's are many
 * in one. */
TEST(tenants_get_equal_time_not_equal_numbers_of_jobs)
{
    static const struct {
        size_t jobs, events;
        int64_t us;
    } rows[TENANTS] = { { 3000, 1, 20 }, { 300, 1, 200 }, { 60, 50, 1000 } };
    int64_t us[TENANTS] = { 0 };
    struct job_list group;

    set_up(&wide);
    for (size_t i = 0; i < TENANTS; i++)
        for (size_t j = 0; j < rows[i].jobs; j++)
            CHECK(add(&w.keys[i], rows[i].events, rows[i].us) == 0);
    for (int i = 0; i < 6; i++) {
        job_queue_take_group(&w.queue, 0, 1, &group);
        for (const struct writer_job *job = group.first; job != NULL; job = job->next)
            for (size_t j = 0; j < TENANTS; j++)
                us[j] += share_of(job->budget) == &w.tenants[j] ? job->cost_us : 0;
    }
    for (size_t i = 0; i < TENANTS; i++) {
        CHECK(us[i] >= us[0] - 1500);
        CHECK(us[i] <= us[0] + 1500);
    }
    CHECK(us[0] >= 15000);
    tear_down();
}

TEST(jobs_of_a_tenant_keep_their_order)
{
    const struct writer_job *last[TENANTS] = { NULL };
    struct job_list all;

    set_up(&wide);
    for (size_t i = 0; i < 300; i++)
        CHECK(add(&w.keys[i % TENANTS], 1, 1 + (int64_t)(i * 7919 % 3000)) == 0);
    job_queue_take_all(&w.queue, &all);
    for (const struct writer_job *job = all.first; job != NULL; job = job->next)
        for (size_t j = 0; j < TENANTS; j++)
            if (share_of(job->budget) == &w.tenants[j]) {
                CHECK(last[j] < job); /* jobs are added in the order of their addresses */
                last[j] = job;
            }
    tear_down();
}

TEST(dear_jobs_of_one_tenant_leave_a_writer_to_the_others_while_these_write)
{
    struct job_list group;

    set_up_for(&wide, 2);
    for (size_t i = 0; i < 2; i++) { /* it is alone: it has both */
        add_many(&w.keys[0], 1, 20000);
        job_queue_take_group(&w.queue, i, 1, &group);
        CHECK_INT(group.us, 20000);
    }
    add_many(&w.keys[0], 3, 20000);
    CHECK(add(&w.keys[1], 1, 100) == 0);
    job_queue_take_group(&w.queue, 0, 2, &group);
    CHECK_INT(group.us, 100);
    job_queue_take_group(&w.queue, 1, 2, &group);
    CHECK_INT(group.us, 20000);
    job_queue_take_group(&w.queue, 0, 2, &group);
    CHECK(group.first == NULL && !job_queue_is_empty(&w.queue));
    add_many(&w.keys[1], 2, 100);
    add_many(&w.keys[2], 1, 20000); /* another one's dear job does not wait */
    job_queue_take_group(&w.queue, 0, 2, &group);
    CHECK_INT(group.us, 200);
    job_queue_take_group(&w.queue, 0, 2, &group);
    CHECK(group.us == 20000 && share_of(group.first->budget) == &w.tenants[2]);
    job_queue_take_group(&w.queue, 1, 2, &group); /* its own has ended */
    CHECK(group.us == 20000 && share_of(group.first->budget) == &w.tenants[0]);
    job_queue_take_group(&w.queue, 0, 2000000, &group); /* the others write no longer */
    CHECK(group.us == 20000 && share_of(group.first->budget) == &w.tenants[0]);
    tear_down();
}

TEST(a_group_is_short_only_while_several_tenants_write)
{
    struct job_list group;

    set_up(&wide);
    add_many(&w.keys[0], 1000, 100);
    CHECK_INT(take(&w.tenants[0], &group), 1000);
    add_many(&w.keys[0], 1000, 100);
    CHECK(add(&w.keys[1], 1, 100) == 0);
    job_queue_take_group(&w.queue, 0, 1, &group);
    CHECK(group.us <= 10000);
    job_queue_take_group(&w.queue, 0, 900000, &group); /* the other one may write again */
    CHECK(group.us <= 10000);
    job_queue_note_sync(&w.queue, 20000); /* a slow disk: a sync is shared by more */
    job_queue_take_group(&w.queue, 0, 900000, &group);
    CHECK_INT(group.us, 40000);
    CHECK(take(&w.tenants[0], &group) > 0);
    add_many(&w.keys[0], 1000, 100);
    job_queue_take_group(&w.queue, 0, 2000000, &group);
    CHECK_INT(w.queue.turns.events, 0);
    tear_down();
}

TEST(an_exclusive_job_is_a_group_of_its_own_and_gets_its_turn)
{
    struct writer_job *lone;
    struct job_list group;

    set_up(&wide);
    add_many(&w.keys[0], 2000, 20);
    lone = make(&w.keys[1], 1, 3000);
    lone->exclusive = true;
    CHECK(job_queue_add(&w.queue, lone, NULL) == 0);
    job_queue_take_group(&w.queue, 0, 1, &group);
    CHECK(group.first != lone);
    CHECK(group.us <= 4000); /* six turns and a bit */
    job_queue_take_group(&w.queue, 0, 1, &group);
    CHECK(group.first == lone);
    CHECK(lone->next == NULL);
    tear_down();
}

TEST(a_tenant_has_its_share_of_the_queue_and_the_others_have_room)
{
    struct error err = { 0 };

    set_up(&(struct writer_limits){ .events_max = 100, .bytes_max = 1000, .group_max = 10 });
    w.budgets.tenant_level.max[BUDGET_EVENTS] = 50;
    add_many(&w.keys[0], 50, 20);
    CHECK(job_queue_add(&w.queue, make(&w.keys[0], 1, 20), &err) != 0);
    CHECK_INT(err.code, ERR_BUSY);
    CHECK_INT(w.budgets.tenant_level.refused[BUDGET_EVENTS], 1);
    add_many(&w.keys[1], 50, 20);
    CHECK(add(&w.keys[1], 1, 20) != 0);
    CHECK(add(&w.keys[2], 1, 20) == 0); /* the queue is full, but this tenant has nothing in it */
    CHECK(add(&w.keys[2], 1, 20) != 0);
    tear_down();
}

TEST(a_tenants_share_counts_time_too)
{
    set_up(&wide);
    w.budgets.tenant_level.max[BUDGET_WRITER_US] = 10000;
    CHECK(add(&w.keys[0], 1, 25000) == 0); /* a job of any cost fits into an unused share */
    CHECK(add(&w.keys[0], 1, 20) != 0);
    CHECK_INT(budget_used(&w.tenants[0], BUDGET_EVENTS), 1); /* the refused one holds nothing */
    add_many(&w.keys[1], 500, 20);
    CHECK(add(&w.keys[1], 1, 20) != 0);
    tear_down();
}

TEST(a_flooded_tenant_can_still_be_administered)
{
    struct job_list group;
    struct writer_job *revoke;

    set_up(&wide);
    w.budgets.tenant_level.max[BUDGET_EVENTS] = 1000;
    add_many(&w.keys[0], 1000, 1000);
    CHECK(add(&w.keys[0], 1, 1000) != 0);
    revoke = make(&w.tenants[0], 1, 500);
    revoke->administrative = revoke->exclusive = true;
    CHECK(job_queue_add(&w.queue, revoke, NULL) == 0);
    job_queue_take_group(&w.queue, 0, 1, &group);
    CHECK(group.first == revoke); /* not behind the thousand */
    tear_down();
}

TEST(a_cost_follows_what_large_groups_take_and_hardly_what_a_small_one_does)
{
    struct job_cost cost = JOB_COST(20);

    CHECK_INT(job_cost_us(&cost, 100), 2000);
    job_cost_learn(&cost, 1.0, 1000.0, false); /* a small group stalled */
    CHECK_INT(job_cost_us(&cost, 100), 3400);
    job_cost_learn(&cost, 1.0, 10.0, true); /* the first large one replaces the guess */
    CHECK_INT(job_cost_us(&cost, 100), 34000);
    job_cost_learn(&cost, 1.0, 2.0, true);
    CHECK_INT(job_cost_us(&cost, 100), 37400);
    job_cost_learn(&cost, 0.0, 100.0, true); /* it had no part in that */
    CHECK_INT(job_cost_us(&cost, 100), 37400);
    CHECK_INT(job_cost_us(&cost, 0), 1);
}

/* Adds a job whose caller asked at this time; 0: it has none. */
static void add_at(struct budget *budget, int64_t since_us)
{
    struct writer_job *job = make(budget, 1, 10);

    job->since_us = since_us;
    CHECK(job_queue_add(&w.queue, job, NULL) == 0);
}

TEST(jobs_that_waited_too_long_leave_the_queue_and_the_service_s_own_stay)
{
    struct job_list old;

    set_up(&wide);
    for (size_t i = 0; i < TENANTS; i++) { /* of the second tenant all are old */
        add_at(&w.keys[i], 100);
        add_at(&w.keys[i], 200);
        add_at(&w.keys[i], i == 1 ? 200 : 300);
    }
    add_at(NULL, 0);
    job_queue_take_old(&w.queue, 100 + USEC_PER_SEC, &old);
    CHECK(old.first == NULL);
    job_queue_take_old(&w.queue, 300 + USEC_PER_SEC, &old);
    CHECK_INT(old.events, 7);
    for (const struct writer_job *job = old.first; job != NULL; job = job->next)
        CHECK(job->budget != NULL && job->since_us < 300);
    CHECK_INT(budget_used(&w.budgets.service, BUDGET_EVENTS), 2);
    CHECK_INT(w.queue.turns.events, 3);
    CHECK_INT(w.queue.turns.n_lanes, 3);
    job_queue_take_old(&w.queue, INT64_MAX, &old);
    CHECK_INT(old.events, 2);
    CHECK_INT(w.queue.turns.events, 1);
    tear_down();
}

/* Its caller has waited for other steps before, or it waits among the service's own. */
TEST(a_job_whose_time_is_over_leaves_the_queue_from_behind_others)
{
    const int64_t s = USEC_PER_SEC;
    struct job_list old;

    set_up(&wide);
    add_at(&w.keys[0], 3 * s);
    add_at(&w.keys[0], 1 * s);
    add_at(&w.keys[0], 4 * s);
    add_at(NULL, 0);
    add_at(NULL, 1 * s);
    add_at(NULL, 0);
    job_queue_take_old(&w.queue, 3 * s, &old);
    CHECK_INT(old.events, 2);
    CHECK_INT(old.first->since_us, 1 * s);
    CHECK_INT(w.queue.turns.events, 4);
    CHECK_INT(budget_used(&w.budgets.service, BUDGET_EVENTS), 2);
    job_queue_take_old(&w.queue, 6 * s, &old);
    CHECK_INT(old.first->since_us, 3 * s); /* in the order that they had */
    CHECK_INT(old.first->next->since_us, 4 * s);
    CHECK_INT(w.queue.turns.n_lanes, 1);
    CHECK_INT(w.queue.turns.events, 2);
    tear_down();
}

/* What one server stores is committed by it alone; one that was passed over is next. */
TEST(the_jobs_of_a_group_have_one_place)
{
    struct job_list group;

    set_up(&wide);
    for (size_t i = 0; i < 9; i++) {
        struct writer_job *job = make(&w.keys[i % TENANTS], 1, 100);

        job->place = (int64_t)(i % TENANTS);
        CHECK(job_queue_add(&w.queue, job, NULL) == 0);
    }
    for (int64_t place = 0; place < TENANTS; place++) {
        job_queue_take_group(&w.queue, 0, 1, &group);
        CHECK_INT(group.events, 3);
        for (const struct writer_job *job = group.first; job != NULL; job = job->next)
            CHECK_INT(job->place, place);
    }
    CHECK(job_queue_is_empty(&w.queue));
    tear_down();
}

/* --- the order within a group --- */

TEST(jobs_are_sorted_by_tenant_and_agent_and_those_of_one_agent_stay_as_they_came)
{
    static const struct {
        int64_t tenant_id;
        const char *agent;
        int place;
    } rows[] = {
        { 3, "b", 6 }, { 1, "b", 2 }, { 3, "a", 5 }, { 1, "b", 3 },
        { 0, "", 0 },  { 3, "b", 7 }, { 1, "a", 1 }, { 2, "", 4 },
    };
    struct writer_job jobs[COUNT_OF(rows)] = { 0 };
    const struct writer_job *job;
    struct job_list list;
    size_t n = 0;

    job_list_init(&list);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        jobs[i].tenant_id = rows[i].tenant_id;
        jobs[i].agent_name = str_of(rows[i].agent);
        jobs[i].events = 1;
        job_list_add(&list, &jobs[i]);
    }
    job_list_sort(&list);
    CHECK_INT(list.events, COUNT_OF(rows));
    for (job = list.first; job != NULL; job = job->next)
        CHECK_INT(rows[job - jobs].place, n++);
    CHECK_INT(n, COUNT_OF(rows));
}
