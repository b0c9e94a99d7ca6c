/* test_run_cache.c - what is remembered of runs is what was put in, or nothing. */
#include "features/events/run_cache.h"

#include "test.h"

static const char run_a[] = "3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b";
static const char run_b[] = "3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5c";

static struct run_cache_key key_of(uint64_t hash, int64_t tenant_id, const char *run_id)
{
    return (struct run_cache_key){ hash, tenant_id, str_of(run_id) };
}

static struct run_state state_of(const char *message)
{
    struct run_state s;

    run_state_init(&s);
    s.event_count = 7;
    s.step_message = str_of(message);
    return s;
}

TEST(a_state_comes_back_with_its_null_and_empty_strings)
{
    struct run_cache *c = run_cache_new();
    struct run_cache_key key = key_of(1, 1, run_a);
    struct run_state in = state_of(""), out;
    struct arena arena;

    arena_init(&arena);
    run_cache_put(c, &key, 42, &in);
    CHECK_INT(run_cache_get(c, &key, &arena, &out), 42);
    CHECK(!str_is_null(out.step_message) && out.step_message.len == 0);
    CHECK(!str_is_null(out.closing_message) && !str_is_null(out.agent_version));
    CHECK(str_is_null(out.workflow_run_id) && str_is_null(out.error_type));
    in = state_of("reading");
    in.workflow_run_id = STR_LIT("w");
    run_cache_put(c, &key, 42, &in);
    CHECK_INT(run_cache_get(c, &key, &arena, &out), 42);
    CHECK_STR(out.step_message, "reading");
    CHECK_STR(out.workflow_run_id, "w");
    CHECK_INT(out.event_count, 7);
    arena_done(&arena);
    run_cache_free(c);
}

TEST(only_the_very_run_is_found)
{
    struct run_cache *c = run_cache_new();
    struct run_cache_key key = key_of(5, 1, run_a);
    const struct run_cache_key others[] = { key_of(5, 2, run_a), key_of(5, 1, run_b),
                                            key_of(5 + 8192, 1, run_a), key_of(6, 1, run_a) };
    struct run_state s = state_of("x"), out;
    struct arena arena;

    arena_init(&arena);
    CHECK_INT(run_cache_get(c, &key, &arena, &out), 0);
    run_cache_put(c, &key, 9, &s);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        CHECK_INT(run_cache_get(c, &others[i], &arena, &out), 0);
    CHECK_INT(run_cache_get(c, &key, &arena, &out), 9);
    run_cache_put(c, &others[2], 10, &s); /* takes its place */
    CHECK_INT(run_cache_get(c, &key, &arena, &out), 0);
    CHECK_INT(run_cache_get(c, &others[2], &arena, &out), 10);
    run_cache_clear(c);
    CHECK_INT(run_cache_get(c, &others[2], &arena, &out), 0);
    arena_done(&arena);
    run_cache_free(c);
}

TEST(a_run_with_long_strings_is_not_remembered_and_not_mistaken)
{
    struct run_cache *c = run_cache_new();
    struct run_cache_key key = key_of(3, 1, run_a);
    struct run_state s = state_of("short"), out;
    char text[4096];
    struct arena arena;

    arena_init(&arena);
    run_cache_put(c, &key, 9, &s);
    memset(text, 'x', sizeof(text));
    s.closing_message = str_from(text, sizeof(text));
    run_cache_put(c, &key, 9, &s);
    CHECK_INT(run_cache_get(c, &key, &arena, &out), 0);
    arena_done(&arena);
    run_cache_free(c);
}

TEST(what_was_got_outlives_what_is_put_next)
{
    struct run_cache *c = run_cache_new();
    struct run_cache_key key = key_of(3, 1, run_a), rival = key_of(3, 2, run_b);
    struct run_state s = state_of("first"), out;
    struct arena arena;

    arena_init(&arena);
    run_cache_put(c, &key, 9, &s);
    CHECK_INT(run_cache_get(c, &key, &arena, &out), 9);
    s = state_of("a longer second message that needs other room");
    run_cache_put(c, &rival, 10, &s);
    CHECK_STR(out.step_message, "first");
    arena_done(&arena);
    run_cache_free(c);
}
