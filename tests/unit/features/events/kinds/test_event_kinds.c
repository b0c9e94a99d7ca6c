/* test_event_kinds.c - which texts of events get a number, and which number. */
#include "features/events/kinds/event_kinds.h"

#include <stdlib.h>

#include "base/digest.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "features/events/event_log.h"
#include "features/events/shapes.h"
#include "unit/temp_db.h"

static const struct db_query count_kinds = { .sql = "SELECT COUNT(*) FROM event_kinds" };

struct kinds_world {
    struct db *db;
    struct event_kinds *kinds;
};

static struct kinds_world world_new(void)
{
    struct kinds_world w = { temp_db_open(temp_db_migrated(), DB_WRITER), event_kinds_new() };

    digest_init();
    return w;
}

static void world_done(struct kinds_world *w)
{
    event_kinds_free(w->kinds);
    db_close(w->db);
}

static int64_t find(struct kinds_world *w, int64_t tenant_id, const char *category,
                    const char *source)
{
    const struct telemetry_event event = { .agent_version = STR_LIT("1.0"),
                                           .level = STR_LIT("info"),
                                           .category = str_of(category),
                                           .source = str_of(source) };
    const struct event_item item = { .tenant_id = tenant_id, .event = &event };
    struct error err = { 0 };
    int64_t ret = -1;

    if (event_kinds_find(w->kinds, w->db, &item, &ret, &err) != 0)
        fail_msg("%s", err.text);
    return ret;
}

TEST(a_combination_has_a_number_from_its_second_event_on)
{
    struct kinds_world w = world_new();

    CHECK_INT(find(&w, 1, "a", "b"), 0);
    CHECK_INT(find(&w, 1, "a", "b"), 1);
    CHECK_INT(find(&w, 1, "a", "b"), 1);
    event_kinds_committed(w.kinds);
    CHECK_INT(temp_db_int(w.db, &count_kinds, DB_NO_ARGS), 1);
    world_done(&w);
}

TEST(combinations_that_differ_in_anything_have_different_numbers)
{
    struct kinds_world w = world_new();
    static const struct {
        int64_t tenant_id;
        const char *category, *source;
    } rows[] = { { 1, "ab", "c" }, { 1, "a", "bc" }, { 1, "abc", "" },
                 { 1, "", "abc" }, { 2, "ab", "c" }, { 1, "ab", "C" } };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_INT(find(&w, rows[i].tenant_id, rows[i].category, rows[i].source), 0);
        CHECK_INT(find(&w, rows[i].tenant_id, rows[i].category, rows[i].source), (int64_t)i + 1);
    }
    world_done(&w);
}

TEST(another_process_finds_the_same_numbers)
{
    struct kinds_world w = world_new();

    (void)find(&w, 1, "a", "b");
    CHECK_INT(find(&w, 1, "a", "b"), 1);
    event_kinds_free(w.kinds);
    w.kinds = event_kinds_new();
    CHECK_INT(find(&w, 1, "a", "b"), 1);
    (void)find(&w, 1, "a", "c");
    CHECK_INT(find(&w, 1, "a", "c"), 2);
    world_done(&w);
}

TEST(a_number_that_was_rolled_back_is_not_used_without_its_row)
{
    struct kinds_world w = world_new();
    struct error err = { 0 };

    (void)find(&w, 1, "a", "b");
    CHECK(db_begin(w.db, &err) == 0);
    CHECK_INT(find(&w, 1, "a", "b"), 1);
    db_rollback(w.db);
    event_kinds_rolled_back(w.kinds);
    CHECK_INT(temp_db_int(w.db, &count_kinds, DB_NO_ARGS), 0);
    CHECK_INT(find(&w, 1, "a", "b"), 1);
    CHECK_INT(temp_db_int(w.db, &count_kinds, DB_NO_ARGS), 1);
    world_done(&w);
}

/* The tenant gets `n` kinds more. */
static void fill(struct kinds_world *w, int64_t tenant_id, int n)
{
    struct error err = { 0 };
    char source[32];

    CHECK(db_begin(w->db, &err) == 0);
    for (int i = 0; i < n; i++) {
        (void)snprintf(source, sizeof(source), "%d", i);
        (void)find(w, tenant_id, "a", source);
        CHECK(find(w, tenant_id, "a", source) > 0);
    }
    CHECK(db_commit(w->db, &err) == 0);
    event_kinds_committed(w->kinds);
}

static int64_t find_twice(struct kinds_world *w, int64_t tenant_id, const char *source)
{
    (void)find(w, tenant_id, "a", source);
    return find(w, tenant_id, "a", source);
}

TEST(a_tenant_with_too_many_combinations_leaves_room_for_others)
{
    struct kinds_world w = world_new();
    const uint64_t refused = metric_sum(METRIC_KINDS_REFUSED);

    fill(&w, 1, EVENT_KINDS_PER_TENANT);
    CHECK_INT((int64_t)(metric_sum(METRIC_KINDS_REFUSED) - refused), 0);
    CHECK_INT(find_twice(&w, 1, "one more"), 0);
    CHECK_INT((int64_t)(metric_sum(METRIC_KINDS_REFUSED) - refused), 1);
    CHECK_INT(find_twice(&w, 2, "one more"), EVENT_KINDS_PER_TENANT + 1);
    world_done(&w);
}

/* Also after a start, which counts the kinds by reading them. */
TEST(tenants_that_fill_a_store_leave_every_other_its_first_combinations)
{
    enum { FURTHER = EVENT_KINDS_PER_TENANT - EVENT_KINDS_FIRST };
    const int whole = EVENT_KINDS_MAX / FURTHER, rest = EVENT_KINDS_MAX % FURTHER;
    struct kinds_world w = world_new();
    int64_t last = 0;

    for (int i = 0; i < whole; i++)
        fill(&w, ++last, EVENT_KINDS_PER_TENANT);
    fill(&w, ++last, EVENT_KINDS_FIRST + rest);
    CHECK_INT(find_twice(&w, last, "one more"), 0);
    event_kinds_free(w.kinds);
    w.kinds = event_kinds_new();
    CHECK_INT(find_twice(&w, last, "one more"), 0);
    fill(&w, ++last, EVENT_KINDS_FIRST);
    CHECK_INT(find_twice(&w, last, "one more"), 0);
    world_done(&w);
}

TEST(combinations_that_come_once_hide_none_of_another_tenant)
{
    struct kinds_world w = world_new();
    char source[32];

    (void)find(&w, 2, "a", "b");
    for (int i = 0; i < 20000; i++) {
        (void)snprintf(source, sizeof(source), "%d", i);
        (void)find(&w, 1, "a", source);
    }
    CHECK_INT(find(&w, 2, "a", "b") > 0, 1);
    world_done(&w);
}

TEST(kinds_that_nothing_uses_are_dropped_and_the_others_stay)
{
    const uint8_t bits[1] = { 1U << 3 }; /* events have the third */
    struct kinds_world w = world_new();
    struct kinds_used used = { .bits = bits };
    struct error err = { 0 };
    size_t dropped;

    fill(&w, 1, 4);
    CHECK(event_kinds_begin_sweep(w.kinds, w.db, &used.below_no, &err) == 0);
    CHECK_INT(used.below_no, 5);
    CHECK_INT(find(&w, 1, "a", "1"), 2); /* used since then */
    CHECK_INT(find_twice(&w, 1, "new"), 5);
    CHECK(event_kinds_drop(w.kinds, w.db, &used, 1, &dropped, &err) == 0);
    CHECK_INT((int64_t)dropped, 1);
    CHECK(event_kinds_drop(w.kinds, w.db, &used, 10, &dropped, &err) == 0);
    CHECK_INT((int64_t)dropped, 1);
    event_kinds_committed(w.kinds);
    CHECK_INT(temp_db_int(w.db, &count_kinds, DB_NO_ARGS), 3);
    CHECK_INT(find(&w, 1, "a", "1"), 2);
    CHECK_INT(find(&w, 1, "a", "2"), 3);
    CHECK_INT(find(&w, 1, "a", "new"), 5);
    CHECK_INT(find_twice(&w, 1, "0"), 6); /* a new one, with a row of its own */
    CHECK_INT(temp_db_int(w.db, &count_kinds, DB_NO_ARGS), 4);
    world_done(&w);
}

TEST(a_drop_that_is_rolled_back_leaves_the_kinds_in_use)
{
    const uint8_t bits[1] = { 0 };
    struct kinds_world w = world_new();
    struct kinds_used used = { .bits = bits };
    struct error err = { 0 };
    size_t dropped;

    fill(&w, 1, 2);
    CHECK(event_kinds_begin_sweep(w.kinds, w.db, &used.below_no, &err) == 0);
    CHECK(db_begin(w.db, &err) == 0);
    CHECK(event_kinds_drop(w.kinds, w.db, &used, 10, &dropped, &err) == 0);
    CHECK_INT((int64_t)dropped, 2);
    db_rollback(w.db);
    event_kinds_rolled_back(w.kinds);
    CHECK_INT(find(&w, 1, "a", "0"), 1);
    CHECK_INT(find(&w, 1, "a", "1"), 2);
    CHECK_INT(temp_db_int(w.db, &count_kinds, DB_NO_ARGS), 2);
    world_done(&w);
}

/* A tenant that dropped its many has room again, and leaves what it had to others. */
TEST(dropped_kinds_leave_their_room)
{
    struct kinds_world w = world_new();
    struct kinds_used used = { 0 };
    struct error err = { 0 };
    uint8_t *bits;
    size_t dropped;

    CHECK(!event_kinds_are_many(w.kinds));
    fill(&w, 1, EVENT_KINDS_PER_TENANT);
    CHECK(event_kinds_are_many(w.kinds));
    CHECK_INT(find_twice(&w, 1, "one more"), 0);
    CHECK(event_kinds_begin_sweep(w.kinds, w.db, &used.below_no, &err) == 0);
    CHECK(!event_kinds_are_many(w.kinds));
    used.bits = bits = mem_new((size_t)used.below_no / 8 + 1);
    CHECK(event_kinds_drop(w.kinds, w.db, &used, EVENT_KINDS_PER_TENANT, &dropped, &err) == 0);
    CHECK_INT((int64_t)dropped, EVENT_KINDS_PER_TENANT);
    event_kinds_committed(w.kinds);
    fill(&w, 1, EVENT_KINDS_PER_TENANT);
    CHECK_INT(find_twice(&w, 1, "one more"), 0);
    free(bits);
    world_done(&w);
}

TEST(long_texts_have_no_number)
{
    struct kinds_world w = world_new();
    char source[512];

    memset(source, 'x', sizeof(source));
    source[sizeof(source) - 1] = '\0';
    (void)find(&w, 1, "a", source);
    CHECK_INT(find(&w, 1, "a", source), 0);
    world_done(&w);
}
