/* test_parts.c - groups are formed by the server that has the tenants' rows. */
#include "engine/parts.h"

#include "base/clock.h"
#include "engine/job_queue.h"
#include "engine/share.h"
#include "test.h"

enum { TENANTS = 4, JOBS = 1000 };

static const struct writer_limits wide = { .events_max = 100000,
                                           .bytes_max = MIB(64),
                                           .group_max = 4000 };

struct world {
    struct budgets budgets;
    struct budget tenants[TENANTS], keys[TENANTS];
    struct job_queue queue;
    struct writer_job jobs[TENANTS * JOBS];
    size_t n;
};

static struct world w;

/* Tenants 0 and 2 have part 1, tenants 1 and 3 have part 2. */
static void set_up(size_t n_writers)
{
    w = (struct world){ 0 };
    budgets_init(&w.budgets);
    for (size_t i = 0; i < TENANTS; i++) {
        budget_init(&w.tenants[i], &w.budgets.tenant_level, &w.budgets.service);
        budget_init(&w.keys[i], &w.budgets.key_level, &w.tenants[i]);
    }
    job_queue_init(&w.queue, &wide, n_writers);
}

static void tear_down(void)
{
    struct job_list rest;

    job_queue_take_all(&w.queue, &rest);
    job_queue_done(&w.queue);
}

static void add(size_t tenant, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct writer_job *job = &w.jobs[w.n++];

        *job = (struct writer_job){
            .budget = &w.keys[tenant], .part = 1 + (int64_t)(tenant % 2), .events = 1, .cost_us = 20
        };
        CHECK(job_queue_add(&w.queue, job, NULL) == 0);
    }
}

/* The part of the next group, all of whose jobs have it; 0: no group. */
static int64_t take(size_t writer)
{
    struct job_list group;
    int64_t part;

    job_queue_take_group(&w.queue, writer, 1, &group);
    if (group.first == NULL)
        return 0;
    part = group.first->part;
    for (const struct writer_job *job = group.first; job != NULL; job = job->next)
        CHECK_INT(job->part, part);
    return part;
}

TEST(a_tenant_is_hashed_as_postgresql_does)
{
    /* SELECT hashint8(x) */
    static const struct {
        int64_t tenant_id;
        int32_t hash;
    } rows[] = { { 1, -1905060026 },
                 { 2, 1134484726 },
                 { 0, -272711505 },
                 { -1, 385747274 },
                 { INT64_C(4294967296), -1905060026 },
                 { INT64_C(-5000000000), 954517114 },
                 { INT64_C(9223372036854775807), -1524351049 } };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        CHECK_INT(parts_hash(rows[i].tenant_id), rows[i].hash);
}

TEST(a_hash_has_the_part_of_its_range)
{
    struct part_range ranges[] = { { INT32_MIN, -1, 3 }, { 0, 1134484726, 4 } };
    const struct parts parts = { ranges, COUNT_OF(ranges) };

    CHECK_INT(parts_of(&parts, 1), 3);
    CHECK_INT(parts_of(&parts, 2), 4); /* the last of its range */
    ranges[1].last--;
    CHECK_INT(parts_of(&parts, 2), 0);
    CHECK_INT(parts_of(&(const struct parts){ 0 }, 1), 0);
    CHECK_INT(parts_of(&parts, 0), 0); /* its hash is negative, as that of 1 */
}

TEST(a_group_has_jobs_of_one_part_and_parts_take_turns)
{
    int64_t before;

    set_up(1);
    for (size_t i = 0; i < TENANTS; i++)
        add(i, JOBS);
    before = take(0); /* as much as one group may have */
    for (int i = 0; i < 4; i++) {
        const int64_t now = take(0);

        CHECK_INT(now, 3 - before);
        before = now;
    }
    tear_down();
}

TEST(a_part_that_is_away_has_one_writer_at_a_time)
{
    const int64_t now_us = clock_raw_us();

    set_up(3);
    add(0, 1);
    CHECK_INT(take(0), 1);
    add(0, 1);
    CHECK_INT(take(1), 1); /* a second writer */
    CHECK_INT(take(1), 0);
    job_queue_note_part(&w.queue, 1, PART_AWAY, now_us);
    CHECK(job_queue_is_away(&w.queue, 1, now_us) && job_queue_any_is_away(&w.queue, now_us));
    CHECK(!job_queue_is_away(&w.queue, 2, now_us));
    CHECK(!job_queue_is_away(&w.queue, 1, now_us + INT64_C(6) * USEC_PER_SEC));
    add(0, 1);
    add(1, 1);
    CHECK_INT(take(1), 2); /* the first writer has part 1 */
    CHECK_INT(take(2), 0);
    job_queue_end_group(&w.queue, 0);
    CHECK_INT(take(2), 1);
    add(2, 1);
    CHECK_INT(take(0), 0);
    job_queue_note_part(&w.queue, 1, PART_ANSWERS, now_us);
    CHECK(!job_queue_any_is_away(&w.queue, now_us));
    CHECK_INT(take(0), 1);
    tear_down();
}

/* Of the service itself, which may need all servers. */
static void add_own(void)
{
    struct writer_job *job = &w.jobs[w.n++];

    *job = (struct writer_job){ .events = 1, .cost_us = 20, .exclusive = true };
    CHECK(job_queue_add(&w.queue, job, NULL) == 0);
}

TEST(while_a_part_hangs_one_writer_waits_for_it_or_for_all_servers)
{
    const int64_t now_us = clock_raw_us(), later_us = now_us + INT64_C(30) * USEC_PER_SEC;

    set_up(2);
    job_queue_note_part(&w.queue, 1, PART_HUNG, now_us);
    CHECK(job_queue_any_hangs(&w.queue, now_us) && job_queue_is_away(&w.queue, 1, now_us));
    CHECK(!job_queue_any_hangs(&w.queue, later_us) && !job_queue_is_away(&w.queue, 1, later_us));
    CHECK(job_queue_is_doubtful(&w.queue, 1, later_us));
    CHECK(job_queue_is_doubtful(&w.queue, 0, later_us));
    CHECK(!job_queue_is_doubtful(&w.queue, 2, later_us));
    add(0, 1);
    CHECK_INT(take(0), 1);
    add(2, 1);
    add_own();
    CHECK_INT(take(1), 0); /* what is queued may have to wait for the same server */
    CHECK(w.queue.group_us[1] == 0);
    add(1, 1);
    CHECK_INT(take(1), 2); /* of a server that answers */
    job_queue_end_group(&w.queue, 0);
    CHECK_INT(take(0), 1);
    job_queue_end_group(&w.queue, 0);
    job_queue_note_part(&w.queue, 1, PART_ANSWERS, now_us);
    CHECK(!job_queue_is_doubtful(&w.queue, 1, now_us));
    CHECK(!job_queue_is_doubtful(&w.queue, 0, now_us));
    add(0, 1);
    CHECK_INT(take(1), 0); /* its own */
    CHECK(w.queue.group_us[1] > 0);
    CHECK_INT(take(0), 1);
    tear_down();
}

TEST(what_needs_all_servers_may_hang_itself)
{
    const int64_t now_us = clock_raw_us();

    set_up(2);
    job_queue_note_part(&w.queue, 0, PART_HUNG, now_us);
    CHECK(job_queue_any_is_away(&w.queue, now_us) && !job_queue_is_away(&w.queue, 1, now_us));
    add_own();
    CHECK_INT(take(0), 0);
    CHECK(w.queue.group_us[0] > 0);
    add_own();
    add(0, 1);
    CHECK_INT(take(1), 1);
    CHECK_INT(take(1), 0);
    CHECK(w.queue.group_us[1] == 0);
    job_queue_note_part(&w.queue, 1, PART_ANSWERS, now_us);
    CHECK_INT(take(1), 0);
    CHECK(w.queue.group_us[1] > 0);
    tear_down();
}

TEST(of_the_reads_of_a_part_that_hung_one_at_a_time_finds_out)
{
    const int64_t now_us = clock_raw_us(), later_us = now_us + INT64_C(30) * USEC_PER_SEC;

    set_up(2);
    CHECK_INT(job_queue_try_read(&w.queue, 1, now_us), READ_MAY);
    job_queue_note_part(&w.queue, 1, PART_HUNG, now_us);
    CHECK_INT(job_queue_try_read(&w.queue, 1, now_us), READ_MAY_NOT);
    CHECK_INT(job_queue_try_read(&w.queue, 2, now_us), READ_MAY);
    CHECK_INT(job_queue_try_read(&w.queue, 1, later_us), READ_TRIES);
    CHECK_INT(job_queue_try_read(&w.queue, 1, later_us), READ_MAY_NOT);
    CHECK(job_queue_is_away(&w.queue, 1, later_us));
    job_queue_note_part(&w.queue, 1, PART_ANSWERS, later_us);
    CHECK_INT(job_queue_try_read(&w.queue, 1, later_us), READ_MAY);
    tear_down();
}

TEST(a_part_where_a_commit_does_not_return_is_away_until_one_does)
{
    const int64_t now_us = clock_raw_us();

    set_up(2);
    job_queue_note_part(&w.queue, 1, PART_STUCK, now_us);
    CHECK(job_queue_is_away(&w.queue, 1, now_us) && !job_queue_any_hangs(&w.queue, now_us));
    CHECK_INT(job_queue_try_read(&w.queue, 1, now_us), READ_MAY);
    job_queue_note_part(&w.queue, 1, PART_SLOW, now_us); /* it waited for locks of that commit */
    CHECK(job_queue_is_away(&w.queue, 1, now_us));
    job_queue_note_part(&w.queue, 2, PART_SLOW, now_us);
    CHECK(!job_queue_is_away(&w.queue, 2, now_us));
    job_queue_note_part(&w.queue, 1, PART_ANSWERS, now_us);
    CHECK(!job_queue_is_away(&w.queue, 1, now_us));
    job_queue_note_part(&w.queue, 1, PART_SLOW, now_us);
    CHECK(!job_queue_is_away(&w.queue, 1, now_us));
    tear_down();
}

TEST(a_part_where_a_group_waited_for_a_lock_is_not_away)
{
    const int64_t now_us = clock_raw_us();

    set_up(2);
    job_queue_note_part(&w.queue, 1, PART_SLOW, now_us);
    CHECK(!job_queue_any_is_away(&w.queue, now_us) && !job_queue_any_hangs(&w.queue, now_us));
    CHECK_INT(job_queue_try_read(&w.queue, 1, now_us), READ_MAY);
    add(0, 1);
    CHECK_INT(take(0), 1);
    add(2, 1);
    CHECK_INT(take(1), 0); /* one writer is enough to wait for its locks */
    job_queue_note_part(&w.queue, 1, PART_ANSWERS, now_us);
    CHECK_INT(take(1), 1);
    tear_down();
}
