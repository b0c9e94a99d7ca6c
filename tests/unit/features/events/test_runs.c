/* test_runs.c - a run and its events as one story, in the order that people read. */
#include "features/events/runs.h"

#include "base/clock.h"
#include "features/access/registry.h"
#include "features/events/shapes.h"
#include "unit/features/events/log_world.h"

#define S ((int64_t)USEC_PER_SEC)

static void add_event(struct log_world *w, int64_t timestamp, int64_t seq, const char *message)
{
    const struct telemetry_event event = { .event_id = STR_LIT(""),
                                           .run_id = STR_LIT("r"),
                                           .event = EVENT_IN_PROGRESS,
                                           .timestamp = timestamp,
                                           .seq = seq,
                                           .agent_version = STR_LIT(""),
                                           .message = str_of(message),
                                           .level = STR_LIT("info"),
                                           .category = STR_LIT(""),
                                           .source = STR_LIT("") };

    CHECK(log_add_one(w, 1 * S, &event));
}

static const struct narrative_query all_events = { .after = { INT64_MIN, INT64_MIN, 0 },
                                                   .level = -1 };

TEST(a_narrative_goes_by_seq_then_timestamp_then_arrival_and_marks_clocks_ahead)
{
    static const struct {
        int64_t timestamp, seq;
        const char *message;
    } arrivals[] = {
        { 9 * S, 3, "5" }, { 2 * S, 1, "2" },        { 1 * S, 1, "1" },
        { 2 * S, 1, "3" }, { 3601 * S + 1, 2, "4" }, { 3601 * S, 4, "6" },
    };
    struct tenant_entry tenant = { .slug = STR_LIT("t") };
    const struct run_key key = { &tenant, STR_LIT("r"), &all_events };
    struct run_narrative narrative = { 0 };
    const struct stored_event *events;
    struct error err = { 0 };
    struct log_world w;

    log_world_init(&w);
    tenant.id = w.tenant_id;
    CHECK(run_read(w.log, w.db, &key, &w.arena, &narrative, &err) != 0); /* no event yet */
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK(strstr(err.text, "'r'") != NULL && strstr(err.text, "'t'") != NULL);
    for (size_t i = 0; i < COUNT_OF(arrivals); i++)
        add_event(&w, arrivals[i].timestamp, arrivals[i].seq, arrivals[i].message);
    log_must(run_read(w.log, w.db, &key, &w.arena, &narrative, &err), &err);
    CHECK_INT(narrative.events.n, COUNT_OF(arrivals));
    events = narrative.events.items;
    for (size_t i = 0; i < narrative.events.n; i++) {
        CHECK_INT(events[i].event.message.data[0] - '1', i);
        CHECK_INT(events[i].clock_skewed, i == 3); /* over an hour ahead, not just an hour */
        CHECK_STR(events[i].event.client_id, "t");
        CHECK_STR(events[i].event.run_id, "r");
    }
    CHECK_STR(narrative.run->agent_name, "collector");
    CHECK_INT(narrative.run->event_count, COUNT_OF(arrivals));
    log_world_done(&w);
}

/* A step with a large output, so that few of them are a long page. */
static void add_large(struct log_world *w, const char *run_id, int64_t timestamp, struct str output)
{
    const struct telemetry_event event = { .event_id = STR_LIT(""),
                                           .run_id = str_of(run_id),
                                           .event = EVENT_IN_PROGRESS,
                                           .timestamp = timestamp,
                                           .agent_version = STR_LIT(""),
                                           .message = STR_LIT(""),
                                           .level = STR_LIT("info"),
                                           .category = STR_LIT(""),
                                           .source = STR_LIT(""),
                                           .output = output };

    CHECK(log_add_one(w, 1 * S, &event));
}

TEST(a_page_with_steps_ends_before_they_are_too_much_and_the_next_goes_on)
{
    static const char *const ids[] = { "3f2b8c1e-9a4d-4e6f-8b7a-000000000000",
                                       "3f2b8c1e-9a4d-4e6f-8b7a-000000000001",
                                       "3f2b8c1e-9a4d-4e6f-8b7a-000000000002",
                                       "3f2b8c1e-9a4d-4e6f-8b7a-000000000003" };
    struct runs_query query = { .include_steps = true,
                                .limit = 50,
                                .status = -1,
                                .range = { INT64_MIN, INT64_MAX },
                                .after = RUN_CURSOR_TOP };
    struct tenant_entry tenant = { .slug = STR_LIT("t") };
    const struct run_list_request request = { .tenant = &tenant, .query = &query };
    struct str output;
    struct error err = { 0 };
    struct run_list list;
    struct log_world w;

    log_world_init(&w);
    tenant.id = w.tenant_id;
    output = str_from(memset(arena_alloc(&w.arena, MIB(6)), 'x', MIB(6)), MIB(6));
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        add_large(&w, ids[i], -(int64_t)i, output);
    for (size_t page = 0; page < 2; page++) {
        const struct run_listed *runs;

        log_must(run_list_read(w.db, &request, &w.arena, &list, &err), &err);
        CHECK_INT(list.runs.n, 2); /* the third would exceed 16 MiB */
        runs = list.runs.items;
        for (size_t i = 0; i < list.runs.n; i++) {
            CHECK_STR(runs[i].run.run_id, ids[page * 2 + i]);
            CHECK_INT(runs[i].steps.n, 1);
        }
        CHECK(str_is_null(list.next) || run_cursor_parse(list.next, &query.after));
        CHECK_INT(str_is_null(list.next), page == 1);
    }
    query.include_steps = false;
    query.after = RUN_CURSOR_TOP;
    log_must(run_list_read(w.db, &request, &w.arena, &list, &err), &err);
    CHECK_INT(list.runs.n, COUNT_OF(ids));
    log_world_done(&w);
}
