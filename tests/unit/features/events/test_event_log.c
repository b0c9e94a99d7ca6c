/* test_event_log.c - SQLite's log: numbers without gaps, and extents that cover the events. */
#include "drivers/story.h"
#include "features/access/stored_bytes.h"
#include "unit/temp_db.h"

static const struct db_query count_events = { .sql = "SELECT COUNT(*) FROM events" };
static const struct db_query last_event = { .sql = "SELECT MAX(event_no) FROM events" };
static const struct db_query count_runs = { .sql = "SELECT COUNT(*) FROM runs" };
static const struct db_query last_run = { .sql = "SELECT MAX(run_no) FROM runs" };
static const struct db_query sum_extents = { .sql = "SELECT SUM(n) FROM run_extents" };

static const struct db_query badly_covered = {
    .sql = "SELECT COUNT(*) FROM events e WHERE (SELECT COUNT(*) FROM run_extents x"
           " WHERE x.run_no = e.run_no AND e.event_no >= x.first_event_no"
           " AND e.event_no < x.first_event_no + x.n) <> 1",
};
static const struct db_query empty_extents = {
    .sql = "SELECT COUNT(*) FROM run_extents WHERE n < 1",
};
static const struct db_query of_other_tenants = {
    .sql = "SELECT COUNT(*) FROM events e JOIN runs r ON r.run_no = e.run_no"
           " WHERE r.tenant_id <> e.tenant_id",
};
/* Each event with an id, and each run. */
static const struct db_query indexed = {
    .sql = "SELECT (SELECT COALESCE(SUM(LENGTH(entries)), 0) / 16 FROM id_log)"
           " - (SELECT COUNT(*) FROM events WHERE event_id IS NOT NULL"
           " OR event_uuid IS NOT NULL) - (SELECT COUNT(*) FROM runs)",
};

static void check_rows(const struct story *s)
{
    CHECK_INT(temp_db_int(s->db, &count_events, DB_NO_ARGS), s->n_committed);
    CHECK_INT(temp_db_int(s->db, &last_event, DB_NO_ARGS), s->n_committed);
    CHECK_INT(temp_db_int(s->db, &last_run, DB_NO_ARGS),
              temp_db_int(s->db, &count_runs, DB_NO_ARGS));
    CHECK_INT(temp_db_int(s->db, &sum_extents, DB_NO_ARGS), s->n_committed);
    CHECK_INT(temp_db_int(s->db, &badly_covered, DB_NO_ARGS), 0);
    CHECK_INT(temp_db_int(s->db, &empty_extents, DB_NO_ARGS), 0);
    CHECK_INT(temp_db_int(s->db, &of_other_tenants, DB_NO_ARGS), 0);
    CHECK_INT(temp_db_int(s->db, &indexed, DB_NO_ARGS), 0);
}

TEST(extents_cover_each_event_once_and_numbers_have_no_gaps)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct story s;

        story_init(&s, temp_db_open(temp_db_new(), DB_WRITER), seed);
        for (int i = 0; i < 40; i++) {
            story_live(&s);
            check_rows(&s);
        }
        story_check(&s);
        story_done(&s);
    }
}

TEST(a_batch_makes_one_extent_for_each_of_its_runs)
{
    static const struct db_query extents = { .sql = "SELECT COUNT(*) FROM run_extents" };
    struct story_event events[STORY_BATCH_MAX];
    struct error err = { 0 };
    struct story s;

    story_init(&s, temp_db_open(temp_db_new(), DB_WRITER), 9);
    for (int i = 0; i < STORY_BATCH_MAX; i++) { /* runs by turns */
        events[i] = story_event(&s);
        events[i].tenant = 0;
        events[i].run = i % 4;
        events[i].event.run_id =
            arena_printf(&s.arena, "3f2b8c1e-9a4d-4e6f-8b7a-%012d", events[i].run);
        events[i].id = 0;
        events[i].event.event_id = STR_LIT("");
    }
    for (int batch = 1; batch <= 2; batch++) {
        story_must(story_append(&s, s.db, events, STORY_BATCH_MAX, &err), &err);
        CHECK_INT(temp_db_int(s.db, &extents, DB_NO_ARGS), 4 * batch);
        story_check(&s);
        check_rows(&s);
    }
    story_done(&s);
}

TEST(a_row_counts_as_many_bytes_as_its_event)
{
    static const struct db_query counted = {
        .sql = "SELECT SUM(" EVENT_STORED_BYTES(STORED_TEXT_SQLITE) ") FROM events",
    };
    int64_t expected = 0;
    struct story s;

    story_init(&s, temp_db_open(temp_db_new(), DB_WRITER), 23);
    for (int i = 0; i < 10; i++)
        story_live(&s);
    for (size_t i = 0; i < s.n_committed; i++)
        expected += event_stored_bytes(&s.stored[i].event);
    CHECK_INT(temp_db_int(s.db, &counted, DB_NO_ARGS), expected);
    story_done(&s);
}
