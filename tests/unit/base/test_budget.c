/* test_budget.c - what callers hold is counted at every level, and refused at the first that is
 * full. */
#include "base/budget.h"

#include "test.h"

struct world {
    struct budget_level service_level, tenant_level, key_level;
    struct budget service, tenants[2], keys[2];
};

/* Ten for the service, six for a tenant, no limit for a key. */
static void set_up(struct world *w)
{
    *w = (struct world){ .service_level = { .name = "service", .max[BUDGET_READS] = 10 },
                         .tenant_level = { .name = "tenant", .max[BUDGET_READS] = 6 },
                         .key_level = { .name = "key" } };
    budget_init(&w->service, &w->service_level, NULL);
    for (int i = 0; i < 2; i++) {
        budget_init(&w->tenants[i], &w->tenant_level, &w->service);
        budget_init(&w->keys[i], &w->key_level, &w->tenants[i]);
    }
}

TEST(counts_at_every_level)
{
    struct world w;

    set_up(&w);
    CHECK(budget_take(&w.keys[0], BUDGET_READS, 4));
    CHECK(budget_take(&w.keys[1], BUDGET_READS, 3));
    CHECK_INT(budget_used(&w.keys[0], BUDGET_READS), 4);
    CHECK_INT(budget_used(&w.tenants[0], BUDGET_READS), 4);
    CHECK_INT(budget_used(&w.service, BUDGET_READS), 7);
    CHECK_INT(budget_used(&w.service, BUDGET_EVENTS), 0);
    budget_give(&w.keys[0], BUDGET_READS, 4);
    CHECK_INT(budget_used(&w.tenants[0], BUDGET_READS), 0);
    CHECK_INT(budget_used(&w.service, BUDGET_READS), 3);
}

TEST(a_tenant_never_has_more_than_its_share)
{
    struct world w;

    set_up(&w);
    CHECK(budget_take(&w.keys[0], BUDGET_READS, 6));
    CHECK(!budget_take(&w.keys[0], BUDGET_READS, 1));
    CHECK_INT(budget_used(&w.keys[0], BUDGET_READS), 6);
    CHECK_INT(budget_used(&w.service, BUDGET_READS), 6);
    CHECK_INT((int64_t)w.tenant_level.refused[BUDGET_READS], 1);
    CHECK(budget_take(&w.keys[1], BUDGET_READS, 4));
}

TEST(a_refusal_of_the_service_leaves_nothing_counted_below)
{
    struct world w;

    set_up(&w);
    CHECK(budget_take(&w.keys[0], BUDGET_READS, 6));
    CHECK(!budget_take(&w.keys[1], BUDGET_READS, 5));
    CHECK_INT(budget_used(&w.keys[1], BUDGET_READS), 0);
    CHECK_INT(budget_used(&w.tenants[1], BUDGET_READS), 0);
    CHECK_INT(budget_used(&w.service, BUDGET_READS), 6);
    CHECK_INT((int64_t)w.service_level.refused[BUDGET_READS], 1);
    CHECK_INT((int64_t)w.tenant_level.refused[BUDGET_READS], 0);
}

TEST(what_is_forced_counts_although_there_is_no_room)
{
    struct world w;

    set_up(&w);
    budget_force(&w.keys[0], BUDGET_READS, 20);
    CHECK_INT(budget_used(&w.service, BUDGET_READS), 20);
    CHECK(!budget_take(&w.keys[1], BUDGET_READS, 1));
    budget_give(&w.keys[0], BUDGET_READS, 20);
    CHECK(budget_take(&w.keys[1], BUDGET_READS, 1));
}

TEST(every_kind_has_a_name)
{
    for (int i = 0; i < BUDGET_KINDS; i++)
        CHECK(budget_kind_name((enum budget_kind)i) != NULL);
}

/* Ten for the service, of which three are kept for small takes. */
TEST(what_grows_leaves_room_for_small_takes)
{
    struct world w;

    set_up(&w);
    w.service_level.kept[BUDGET_READS] = 3;
    CHECK(budget_grow(&w.tenants[0], BUDGET_READS, 0, 5) == NULL);
    CHECK(budget_grow(&w.tenants[1], BUDGET_READS, 0, 2) == NULL);
    CHECK(budget_grow(&w.tenants[1], BUDGET_READS, 2, 1) == &w.service);
    CHECK_INT(budget_used(&w.tenants[1], BUDGET_READS), 2);
    CHECK(budget_try(&w.tenants[1], BUDGET_READS, 3) == NULL);
    CHECK(budget_try(&w.tenants[1], BUDGET_READS, 1) == &w.service);
}

TEST(what_grows_may_exceed_a_limit_when_all_others_are_small)
{
    struct world w;

    set_up(&w);
    w.service_level.kept[BUDGET_READS] = w.tenant_level.kept[BUDGET_READS] = 2;
    CHECK(budget_take(&w.keys[0], BUDGET_READS, 2));
    CHECK(budget_grow(&w.keys[0], BUDGET_READS, 0, 20) == NULL);
    CHECK(budget_grow(&w.keys[0], BUDGET_READS, 20, 10) == NULL);
    CHECK(budget_grow(&w.keys[1], BUDGET_READS, 0, 1) == &w.service);
}

TEST(a_node_is_exhausted_once_only_the_kept_part_is_left)
{
    struct world w;

    set_up(&w);
    w.service_level.kept[BUDGET_READS] = w.tenant_level.kept[BUDGET_READS] = 1;
    CHECK(budget_take(&w.keys[0], BUDGET_READS, 5));
    CHECK(budget_exhausted(&w.keys[0], BUDGET_READS) == NULL);
    budget_force(&w.keys[0], BUDGET_READS, 3);
    CHECK(budget_exhausted(&w.keys[0], BUDGET_READS) == &w.tenants[0]);
    CHECK(budget_exhausted(&w.keys[1], BUDGET_READS) == NULL);
    budget_force(&w.keys[1], BUDGET_READS, 2);
    CHECK(budget_exhausted(&w.keys[1], BUDGET_READS) == &w.service);
}

TEST(a_negative_limit_admits_nothing)
{
    struct world w;

    set_up(&w);
    w.tenant_level.max[BUDGET_STREAMS] = -1;
    CHECK(budget_try(&w.keys[0], BUDGET_STREAMS, 1) == &w.tenants[0]);
}
