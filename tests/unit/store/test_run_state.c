/* test_run_state.c - what a run is follows from its events, not from the order they came in. */
#include "base/clock.h"
#include "contract/event.h"
#include "store/run_state.h"
#include "test.h"

enum { EVENTS_MAX = 6 };

#define S ((int64_t)USEC_PER_SEC)

/* An event in few words; what is left out is as the contract's defaults say. */
struct brief {
    enum run_event event;
    int64_t timestamp, seq;
    const char *message, *version, *workflow, *error_type;
    int64_t duration_ms, records; /* 0: null */
};

static struct telemetry_event event_of(const struct brief *b)
{
    return (struct telemetry_event){ .event = (int)b->event,
                                     .timestamp = b->timestamp,
                                     .seq = b->seq,
                                     .message = str_of(b->message == NULL ? "" : b->message),
                                     .agent_version = str_of(b->version == NULL ? "" : b->version),
                                     .workflow_run_id = str_of(b->workflow),
                                     .error_type = str_of(b->error_type),
                                     .error_message = str_of(b->error_type),
                                     .duration_ms = { b->duration_ms != 0, b->duration_ms },
                                     .records_processed = { b->records != 0, b->records } };
}

static struct run_summary summarise(const struct brief *briefs, size_t n)
{
    struct run_summary run = { 0 };
    struct run_state state;

    run_state_init(&state);
    for (size_t i = 0; i < n; i++) {
        struct telemetry_event event = event_of(&briefs[i]);

        run_state_add(&state, &event);
    }
    run_state_summary(&state, &run);
    return run;
}

#define AT(kind, moment) .event = EVENT_##kind, .timestamp = (moment)

TEST(the_latest_closing_event_by_timestamp_seq_and_arrival_decides)
{
    static const struct {
        const char *status;
        struct brief events[EVENTS_MAX];
        size_t n;
    } rows[] = {
        { "in_progress", { { AT(STARTED, 1 * S) } }, 1 },
        { "in_progress", { { AT(IN_PROGRESS, 1 * S) } }, 1 },
        { "in_progress", { { AT(STARTED, 1 * S) }, { AT(IN_PROGRESS, 2 * S) } }, 2 },
        { "completed", { { AT(COMPLETED, 1 * S) } }, 1 },
        { "failed", { { AT(FAILED, 1 * S) } }, 1 },
        { "completed", { { AT(STARTED, 1 * S) }, { AT(COMPLETED, 2 * S) } }, 2 },
        { "completed", { { AT(COMPLETED, 2 * S) }, { AT(STARTED, 1 * S) } }, 2 },
        /* a closed run keeps accepting events, and stays closed */
        { "completed",
          { { AT(COMPLETED, 2 * S) }, { AT(STARTED, 3 * S) }, { AT(IN_PROGRESS, 4 * S) } },
          3 },
        { "failed", { { AT(COMPLETED, 2 * S) }, { AT(FAILED, 3 * S) } }, 2 },
        { "failed", { { AT(FAILED, 3 * S) }, { AT(COMPLETED, 2 * S) } }, 2 },
        { "completed", { { AT(FAILED, 2 * S) }, { AT(COMPLETED, 3 * S) } }, 2 },
        { "completed",
          { { AT(FAILED, 2 * S), .seq = 9 }, { AT(COMPLETED, 3 * S), .seq = 1 } },
          2 }, /* time before seq */
        { "failed",
          { { AT(FAILED, 2 * S), .seq = 9 }, { AT(COMPLETED, 2 * S), .seq = 1 } },
          2 }, /* then seq */
        { "failed", { { AT(COMPLETED, 2 * S), .seq = 1 }, { AT(FAILED, 2 * S), .seq = 9 } }, 2 },
        { "completed",
          { { AT(FAILED, 2 * S), .seq = 5 }, { AT(COMPLETED, 2 * S), .seq = 5 } },
          2 }, /* then arrival */
        { "failed", { { AT(COMPLETED, 2 * S), .seq = 5 }, { AT(FAILED, 2 * S), .seq = 5 } }, 2 },
        { "failed",
          { { AT(COMPLETED, -2 * S), .seq = -5 }, { AT(FAILED, -1 * S), .seq = -9 } },
          2 },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct run_summary run = summarise(rows[i].events, rows[i].n);

        CHECK_STR(run.status, rows[i].status);
        CHECK_INT(run.event_count, rows[i].n);
        CHECK((run.ended_at == TIME_NULL) == (strcmp(rows[i].status, "in_progress") == 0));
    }
}

TEST(a_run_starts_with_its_earliest_started_else_with_its_earliest_event)
{
    static const struct {
        int64_t started_at, last_event_at;
        struct brief events[EVENTS_MAX];
        size_t n;
    } rows[] = {
        { 5 * S, 5 * S, { { AT(STARTED, 5 * S) } }, 1 },
        { 5 * S, 7 * S, { { AT(IN_PROGRESS, 7 * S) }, { AT(IN_PROGRESS, 5 * S) } }, 2 },
        { 3 * S, 9 * S, { { AT(STARTED, 9 * S) }, { AT(STARTED, 3 * S) } }, 2 },
        /* an event before the start does not move it */
        { 5 * S,
          8 * S,
          { { AT(IN_PROGRESS, 1 * S) }, { AT(STARTED, 5 * S) }, { AT(COMPLETED, 8 * S) } },
          3 },
        { 0, 0, { { AT(STARTED, 0) } }, 1 },
        { -5 * S, -4 * S, { { AT(STARTED, -5 * S) }, { AT(IN_PROGRESS, -4 * S) } }, 2 },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct run_summary run = summarise(rows[i].events, rows[i].n);

        CHECK_INT(run.started_at, rows[i].started_at);
        CHECK_INT(run.last_event_at, rows[i].last_event_at);
    }
}

TEST(the_end_duration_and_records_are_those_of_the_event_that_decides)
{
    const struct brief told[] = {
        { AT(STARTED, 1 * S), .duration_ms = 1, .records = 1 },
        { AT(COMPLETED, 9 * S), .duration_ms = 42, .records = 7 },
        { AT(FAILED, 5 * S), .duration_ms = 99, .records = 9, .error_type = "no" },
    };
    const struct brief computed[] = { { AT(STARTED, 1 * S) }, { AT(COMPLETED, 3 * S + 1500) } };
    const struct brief open[] = { { AT(STARTED, 1 * S), .duration_ms = 5, .records = 5 } };
    struct run_summary run = summarise(told, COUNT_OF(told));

    CHECK_INT(run.ended_at, 9 * S);
    CHECK(run.duration_ms.has);
    CHECK_INT(run.duration_ms.value, 42);
    CHECK_INT(run.records_processed.value, 7);
    CHECK(str_is_null(run.error_type)); /* it did not fail in the end */
    CHECK(str_is_null(run.error_message));
    run = summarise(computed, COUNT_OF(computed));
    CHECK(run.duration_ms.has);
    CHECK_INT(run.duration_ms.value, 2001);
    CHECK(!run.records_processed.has);
    run = summarise(open, COUNT_OF(open));
    CHECK(!run.duration_ms.has);
    CHECK(!run.records_processed.has);
}

TEST(an_error_is_told_only_of_a_run_that_failed)
{
    const struct brief failed[] = { { AT(STARTED, 1 * S), .error_type = "early" },
                                    { AT(FAILED, 2 * S), .error_type = "Timeout" } };
    const struct brief completed[] = { { AT(COMPLETED, 2 * S), .error_type = "odd" } };
    struct run_summary run = summarise(failed, COUNT_OF(failed));

    CHECK_STR(run.error_type, "Timeout");
    CHECK_STR(run.error_message, "Timeout");
    CHECK(str_is_null(summarise(completed, 1).error_type));
    CHECK(str_is_null(summarise(failed, 1).error_type)); /* in progress */
}

TEST(the_message_is_the_closing_events_else_the_latest_steps)
{
    static const struct {
        const char *message;
        struct brief events[EVENTS_MAX];
        size_t n;
    } rows[] = {
        { "", { { AT(STARTED, 1 * S), .message = "hello" } }, 1 }, /* a start is no step */
        { "two",
          { { AT(IN_PROGRESS, 2 * S), .message = "two" },
            { AT(IN_PROGRESS, 1 * S), .message = "one" } },
          2 },
        { "bye",
          { { AT(COMPLETED, 3 * S), .message = "bye" },
            { AT(IN_PROGRESS, 9 * S), .message = "one" } },
          2 },
        { "one", { { AT(COMPLETED, 3 * S) }, { AT(IN_PROGRESS, 1 * S), .message = "one" } }, 2 },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        CHECK_STR(summarise(rows[i].events, rows[i].n).message, rows[i].message);
}

TEST(the_version_is_the_latest_that_is_told_and_the_workflow_the_first)
{
    const struct brief events[] = {
        { AT(IN_PROGRESS, 3 * S), .version = "1.2", .workflow = NULL },
        { AT(IN_PROGRESS, 9 * S), .workflow = "flow-1" },
        { AT(STARTED, 1 * S), .version = "1.1", .workflow = "flow-2" },
    };

    CHECK_STR(summarise(events, COUNT_OF(events)).agent_version, "1.2");
    CHECK_STR(summarise(events, COUNT_OF(events)).workflow_run_id, "flow-1");
    CHECK_STR(summarise(events + 1, 1).agent_version, "");
    CHECK(str_is_null(summarise(events, 1).workflow_run_id));
}

static void check_same(const struct run_summary *a, const struct run_summary *b)
{
    CHECK(str_eq(a->status, b->status));
    CHECK(str_eq(a->message, b->message));
    CHECK(str_eq(a->agent_version, b->agent_version));
    CHECK(str_eq(a->error_type, b->error_type));
    CHECK(str_eq(a->workflow_run_id, b->workflow_run_id));
    CHECK_INT(a->started_at, b->started_at);
    CHECK_INT(a->ended_at, b->ended_at);
    CHECK_INT(a->duration_ms.value, b->duration_ms.value);
    CHECK_INT(a->records_processed.value, b->records_processed.value);
    CHECK_INT(a->event_count, b->event_count);
    CHECK_INT(a->last_event_at, b->last_event_at);
}

/* Visits every order of `events`; returns how many there were. */
static int permute(struct brief *events, size_t n, size_t fixed, const struct run_summary *expected)
{
    int visited = 0;

    if (fixed == n) {
        struct run_summary run = summarise(events, n);

        check_same(&run, expected);
        return 1;
    }
    for (size_t i = fixed; i < n; i++) {
        struct brief first = events[fixed];

        events[fixed] = events[i];
        events[i] = first;
        visited += permute(events, n, fixed + 1, expected);
        events[i] = events[fixed];
        events[fixed] = first;
    }
    return visited;
}

TEST(a_run_is_the_same_in_whatever_order_its_events_arrive)
{
    struct brief events[] = {
        { AT(STARTED, 1 * S), .seq = 1, .version = "1.0", .message = "go" },
        { AT(IN_PROGRESS, 2 * S), .seq = 2, .message = "step one", .workflow = "w" },
        { AT(IN_PROGRESS, 2 * S), .seq = 3, .message = "step two", .version = "1.1" },
        { AT(FAILED, 3 * S), .seq = 4, .error_type = "Timeout" },
        { AT(FAILED, 3 * S), .seq = 5, .error_type = "Refused", .records = 8 },
        { AT(COMPLETED, 2 * S + 1), .seq = 9, .duration_ms = 12 },
    };
    struct run_summary expected = summarise(events, COUNT_OF(events));

    CHECK_STR(expected.status, "failed");
    CHECK_STR(expected.error_type, "Refused");
    CHECK_STR(expected.message, "step two");
    CHECK_INT(permute(events, COUNT_OF(events), 0, &expected), 720);
}
