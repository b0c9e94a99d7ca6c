/* test_events.c - an event comes back from the store as it went in, field by field. */
#include "features/events/runs.h"
#include "unit/features/events/log_world.h"

static const int64_t received_at = 1735787045000001;

static void check_text(struct str actual, struct str expected)
{
    CHECK_INT(str_is_null(actual), str_is_null(expected));
    CHECK_INT(actual.len, expected.len);
    CHECK(str_eq(actual, expected));
}

static void check_number(struct opt_int actual, struct opt_int expected)
{
    CHECK_INT(actual.has, expected.has);
    CHECK_INT(actual.value, expected.value);
}

static void check_event(const struct stored_event *stored, const struct telemetry_event *sent)
{
    const struct telemetry_event *e = &stored->event;

    CHECK_STR(e->agent_name, "collector");
    CHECK_INT(stored->received_at, received_at);
    CHECK_INT(e->event, sent->event);
    CHECK_INT(e->timestamp, sent->timestamp);
    CHECK_INT(e->seq, sent->seq);
    check_text(e->event_id, sent->event_id);
    check_text(e->agent_version, sent->agent_version);
    check_number(e->duration_ms, sent->duration_ms);
    check_number(e->records_processed, sent->records_processed);
    check_text(e->error_type, sent->error_type);
    check_text(e->error_message, sent->error_message);
    check_text(e->metadata, sent->metadata);
    check_text(e->output, sent->output);
    check_text(e->workflow_run_id, sent->workflow_run_id);
    check_text(e->message, sent->message);
    check_text(e->level, sent->level);
    check_text(e->category, sent->category);
    check_text(e->source, sent->source);
    check_text(e->metrics, sent->metrics);
    check_text(e->links, sent->links);
}

#define T(literal) STR_INIT(literal)

/* Nothing but what is required. */
static const struct telemetry_event bare = {
    .event_id = T(""),
    .run_id = T("run"),
    .event = EVENT_STARTED,
    .timestamp = 0,
    .agent_version = T(""),
    .message = T(""),
    .level = T("info"),
    .category = T(""),
    .source = T(""),
    .metadata = T("{}"),
    .metrics = T("{}"),
    .links = T("[]"),
};

/* Everything, with odd letters; null and empty where both may be. */
static const struct telemetry_event full = {
    .event_id = T("id-1"),
    .run_id = T("run"),
    .event = EVENT_FAILED,
    .timestamp = -62135596800000000,
    .seq = INT64_MIN,
    .agent_version = T("1.0 \xce\xb2"),
    .duration_ms = { true, 0 },
    .records_processed = { true, INT64_MAX },
    .error_type = T(""),
    .error_message = T("line\nbreak\t\"quoted\" \\ \x1b"),
    .metadata = T("{\"a\":\"\"}"),
    .output = T("{}"),
    .workflow_run_id = T("w"),
    .message = T("\xf0\x9f\x9a\x80 '; DROP TABLE events; --"),
    .level = T("error"),
    .category = T("\xe4\xb8\xad\xe6\x96\x87"),
    .source = T("a.c:1"),
    .metrics = T("{\"x\":1e-7,\"y\":12345678901234567890}"),
    .links = T("[\"https://example.org/\"]"),
};

TEST(every_field_comes_back_as_it_went_in)
{
    static char megabyte[1 << 20];
    struct telemetry_event big = full;
    const struct telemetry_event *sent[] = { &bare, &full, &big };
    struct stored_event *events;
    struct log_world w;

    memset(megabyte, 'x', sizeof(megabyte));
    big.event_id = STR_LIT("id-2");
    big.message = big.error_message = str_from(megabyte, 4 * 16384);
    big.output = str_from(megabyte, sizeof(megabyte));
    big.timestamp = 253402300799999999;
    big.seq = INT64_MAX;
    big.records_processed = (struct opt_int){ true, INT64_MIN };
    log_world_init(&w);
    for (size_t i = 0; i < COUNT_OF(sent); i++)
        CHECK(log_add_one(&w, received_at, sent[i]));
    CHECK_INT(log_events(&w, "run", &events), COUNT_OF(sent));
    for (size_t i = 0; i < COUNT_OF(sent); i++)
        check_event(&events[i], sent[i]);
    log_world_done(&w);
}

TEST(events_come_back_in_order_of_arrival_beyond_the_first_page_of_memory)
{
    static struct telemetry_event sent[500];
    static struct event_item items[COUNT_OF(sent)];
    struct stored_event *events;
    struct log_world w;

    log_world_init(&w);
    for (size_t i = 0; i < COUNT_OF(sent); i++) {
        sent[i] = bare;
        sent[i].seq = (int64_t)((i * 7919) % COUNT_OF(sent));
        items[i] = (struct event_item){ .tenant_id = w.tenant_id,
                                        .agent_id = w.agent_id,
                                        .received_at = received_at,
                                        .event = &sent[i] };
    }
    log_add(&w, items, 250); /* some in each of two transactions */
    log_add(&w, items + 250, 250);
    CHECK_INT(log_events(&w, "run", &events), COUNT_OF(sent));
    for (size_t i = 0; i < COUNT_OF(sent); i++)
        CHECK_INT(events[i].event.seq, sent[i].seq);
    log_world_done(&w);
}

TEST(a_second_event_of_one_id_is_not_stored)
{
    struct telemetry_event other = bare;
    struct stored_event *events;
    struct log_world w;

    log_world_init(&w);
    other.event_id = full.event_id;
    CHECK(log_add_one(&w, received_at, &full));
    CHECK(!log_add_one(&w, received_at, &other));
    other.run_id = STR_LIT("elsewhere");
    CHECK(!log_add_one(&w, received_at, &other));
    CHECK_INT(log_events(&w, "run", &events), 1);
    check_event(&events[0], &full);                         /* the first stays */
    CHECK_INT(log_run_no(&w, w.tenant_id, "elsewhere"), 0); /* a duplicate makes no run */
    log_world_done(&w);
}

/* What a transaction that was undone brought is forgotten: the next may bring it again. */
TEST(an_event_that_was_rolled_back_is_not_a_duplicate)
{
    struct stored_event *events;
    struct error err = { 0 };
    struct log_world w;

    log_world_init(&w);
    for (int i = 0; i < 3; i++) {
        struct event_item item = { .tenant_id = w.tenant_id,
                                   .agent_id = w.agent_id,
                                   .event = &full };

        log_must(db_begin(w.db, &err), &err);
        log_must(w.log->methods->add(w.log, w.db, &item, 1, &w.arena, &err), &err);
        CHECK(!item.duplicate);
        if (i > 0)
            log_must(w.log->methods->prepare(w.log, w.db, &err), &err);
        db_rollback(w.db);
        w.log->methods->rolled_back(w.log);
        CHECK_INT(log_run_no(&w, w.tenant_id, "run"), 0);
    }
    CHECK(log_add_one(&w, received_at, &full));
    CHECK(!log_add_one(&w, received_at, &full));
    CHECK_INT(log_events(&w, "run", &events), 1);
    check_event(&events[0], &full);
    log_world_done(&w);
}

/* Ids are remembered by hash and order in memory: more of them than fit must still all be known,
 * also by a log that was opened again. */
TEST(thousands_of_ids_are_each_known_after_a_reopening)
{
    enum { N = 5000, EACH = 500 };
    static struct telemetry_event sent[N];
    static struct event_item items[N];
    static char ids[N][16];
    struct error err = { 0 };
    struct log_world w;

    log_world_init(&w);
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "id-%zu", i * 7919 % N);
        sent[i] = bare;
        sent[i].event_id = str_of(ids[i]);
        items[i] = (struct event_item){ .tenant_id = w.tenant_id,
                                        .agent_id = w.agent_id,
                                        .event = &sent[i] };
    }
    for (size_t i = 0; i < N; i += EACH)
        log_add(&w, items + i, EACH);
    for (int opened = 0; opened < 2; opened++) {
        for (size_t i = 0; i < N; i++)
            items[i].duplicate = false;
        for (size_t i = 0; i < N; i += EACH)
            log_add(&w, items + i, EACH);
        for (size_t i = 0; i < N; i++)
            CHECK(items[i].duplicate);
        w.log->methods->free(w.log);
        log_must(event_log_new(w.db, &w.log, &err), &err);
    }
    log_world_done(&w);
}

TEST(a_run_belongs_to_its_tenant_and_to_the_agent_of_its_first_event)
{
    struct run_row run;
    struct log_world w;
    int64_t run_no;

    log_world_init(&w);
    CHECK(log_add_one(&w, received_at, &full));
    CHECK(log_add_one(&w, received_at, &bare));
    run_no = log_run_no(&w, w.tenant_id, "run");
    CHECK(run_no != 0);
    CHECK(store_run(w.db, w.tenant_id, run_no, &w.arena, &run, NULL) == 0);
    CHECK_STR(run.agent_name, "collector");
    CHECK_INT(run.state.event_count, 2);
    CHECK_INT(log_run_no(&w, w.tenant_id + 1, "run"), 0);
    CHECK(store_run(w.db, w.tenant_id + 1, run_no, &w.arena, &run, NULL) == 0);
    CHECK_INT(run.state.event_count, 0); /* not theirs */
    log_world_done(&w);
}
