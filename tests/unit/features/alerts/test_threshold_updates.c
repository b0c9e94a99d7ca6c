/* test_threshold_updates.c - which of too many new values are stored: some of each tenant. */
#include "features/alerts/threshold_transitions.h"
#include "test.h"

enum { MAX = 20, MANY = 50 };

/* The first ones of tenant 1, then one of each other tenant. */
static struct threshold_transition *make_list(struct threshold_transition *updates, size_t n_first,
                                              size_t n)
{
    for (size_t i = 0; i < n; i++)
        updates[i] =
            (struct threshold_transition){ .next = i + 1 < n ? &updates[i + 1] : NULL,
                                           .tenant_id =
                                               i < n_first ? 1 : (int64_t)(i - n_first) + 2,
                                           .updates = true };
    return updates;
}

/* Chooses in this round, and counts each one's choices. */
static void choose(size_t n_first, size_t n, uint64_t round, unsigned *counts)
{
    struct threshold_transition updates[2 * MANY];
    const struct threshold_transition *last = NULL;
    struct arena arena;
    size_t chosen = 0;

    arena_init(&arena);
    for (const struct threshold_transition *t =
             threshold_updates_choose(make_list(updates, n_first, n), MAX, round, &arena);
         t != NULL; t = t->next) {
        CHECK(last == NULL || t > last);
        last = t;
        counts[t - updates]++;
        chosen++;
    }
    arena_done(&arena);
    CHECK_INT(chosen, MAX);
}

TEST(a_tenant_with_many_new_values_leaves_room_for_the_others)
{
    for (uint64_t round = 0; round < 5; round++) {
        unsigned counts[2 * MANY] = { 0 };

        choose(MANY, MANY + 3, round, counts);
        for (size_t i = MANY; i < MANY + 3; i++)
            CHECK_INT(counts[i], 1);
    }
}

TEST(every_new_value_of_a_tenant_has_its_turn)
{
    unsigned counts[2 * MANY] = { 0 };

    for (uint64_t round = 0; round < 3; round++)
        choose(MANY, MANY, round, counts);
    for (size_t i = 0; i < MANY; i++)
        CHECK(counts[i] > 0);
}

TEST(every_tenant_of_many_has_its_turn)
{
    unsigned counts[2 * MANY] = { 0 };

    for (uint64_t round = 0; round < 5; round++)
        choose(1, 2 * MANY, round, counts);
    for (size_t i = 0; i < (size_t)2 * MANY; i++)
        CHECK_INT(counts[i], 1);
}
