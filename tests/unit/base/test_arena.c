/* test_arena.c - memory of one request. */
#include "base/arena.h"

#include "test.h"

TEST(an_arena_costs_nothing_until_used)
{
    struct arena a;

    arena_init(&a);
    CHECK_INT(a.total, 0);
    arena_reset(&a);
    arena_done(&a);
    arena_done(NULL);
}

TEST(allocations_are_aligned_and_do_not_overlap)
{
    struct arena a;
    unsigned char *taken[300];

    arena_init(&a);
    for (size_t i = 0; i < COUNT_OF(taken); i++) {
        taken[i] = arena_alloc(&a, i);
        CHECK_INT((uintptr_t)taken[i] % 16, 0);
        memset(taken[i], (int)(i & 0xff), i);
    }
    for (size_t i = 0; i < COUNT_OF(taken); i++)
        for (size_t k = 0; k < i; k++)
            CHECK(taken[i][k] == (i & 0xff));
    arena_done(&a);
}

TEST(zeroed_memory_is_zero_even_when_used_before)
{
    struct arena a;
    char *first, *second;

    arena_init(&a);
    first = arena_alloc(&a, 1000);
    memset(first, 0x5a, 1000);
    arena_reset(&a);
    second = arena_zalloc(&a, 1000);
    CHECK(second == first); /* proof that it was used before */
    for (size_t i = 0; i < 1000; i++)
        CHECK_INT(second[i], 0);
    arena_done(&a);
}

TEST(a_reset_keeps_one_small_chunk_and_no_large_one)
{
    struct arena a;
    size_t small;

    arena_init(&a);
    CHECK(arena_alloc(&a, 10) != NULL);
    small = a.total;
    CHECK(arena_alloc(&a, MIB(3)) != NULL);
    CHECK(a.total > MIB(3));
    arena_reset(&a);
    CHECK_INT(a.total, small);
    arena_done(&a);
    CHECK(arena_alloc(&a, MIB(3)) != NULL);
    arena_reset(&a);
    CHECK_INT(a.total, 0);
    arena_done(&a);
}

TEST(the_last_allocation_grows_in_place_and_others_move_whole)
{
    struct arena a;
    char *first, *second, *moved;

    arena_init(&a);
    first = arena_alloc(&a, 4);
    memcpy(first, "abc", 4);
    CHECK(arena_resize(&a, first, 4, 400) == first);
    second = arena_alloc(&a, 8);
    CHECK(second >= first + 400);
    moved = arena_resize(&a, first, 400, 800);
    CHECK(moved != first);
    CHECK_STR(str_of(moved), "abc");
    CHECK(arena_resize(&a, second, 8, 3) == second);
    moved = arena_resize(&a, moved, 800, MIB(2));
    CHECK_STR(str_of(moved), "abc");
    CHECK(arena_resize(&a, NULL, 0, 20) != NULL);
    arena_done(&a);
}

TEST(copies_end_in_nul_and_no_string_stays_none)
{
    struct arena a;
    struct str copy;

    arena_init(&a);
    copy = arena_copy(&a, str_from("hello", 3));
    CHECK_STR(copy, "hel");
    CHECK_INT(copy.data[3], 0);
    CHECK(str_is_null(arena_copy(&a, STR_NULL)));
    CHECK(!str_is_null(arena_copy(&a, STR_LIT(""))));
    CHECK_STR(str_of(arena_cstr(&a, STR_NULL)), "");
    CHECK_STR(arena_printf(&a, "%s-%05d", "x", 42), "x-00042");
    arena_done(&a);
}

static int order[4];
static int n_run;

static void note_run(void *arg)
{
    order[n_run++] = *(int *)arg;
}

TEST(deferred_calls_run_once_when_the_memory_is_given_up_the_last_first)
{
    int one = 1, two = 2, three = 3;
    struct arena a;

    arena_init(&a);
    n_run = 0;
    arena_defer(&a, note_run, &one);
    arena_defer(&a, note_run, &two);
    CHECK_INT(n_run, 0);
    arena_reset(&a);
    CHECK_INT(n_run, 2);
    CHECK(order[0] == 2 && order[1] == 1);
    arena_defer(&a, note_run, &three);
    arena_done(&a);
    CHECK_INT(n_run, 3);
    CHECK_INT(order[2], 3);
}
