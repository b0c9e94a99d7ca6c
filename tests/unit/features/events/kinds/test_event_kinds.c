/* test_event_kinds.c - which texts of events get a number, and which number. */
#include "features/events/kinds/event_kinds.h"

#include "base/digest.h"
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

TEST(a_tenant_with_too_many_combinations_leaves_room_for_others)
{
    struct kinds_world w = world_new();
    struct error err = { 0 };
    char source[32];

    CHECK(db_begin(w.db, &err) == 0);
    for (int i = 0; i < EVENT_KINDS_PER_TENANT; i++) {
        (void)snprintf(source, sizeof(source), "%d", i);
        (void)find(&w, 1, "a", source);
        CHECK_INT(find(&w, 1, "a", source), i + 1);
    }
    CHECK(db_commit(w.db, &err) == 0);
    event_kinds_committed(w.kinds);
    (void)find(&w, 1, "a", "one more");
    CHECK_INT(find(&w, 1, "a", "one more"), 0);
    (void)find(&w, 2, "a", "one more");
    CHECK_INT(find(&w, 2, "a", "one more"), EVENT_KINDS_PER_TENANT + 1);
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
