/* test_postgres_event_log.c - several writers at once store each event once, and runs change where
 * they are. */
#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "db/driver.h"
#include "db/servers.h"
#include "story.h"
#include "suite.h"

#define RUN "3f2b8c1e-9a4d-4e6f-8b7a-000000000077"

enum { WRITERS = 4, EVENTS = 120, EACH = 8 };

struct writer {
    const char *url;
    struct story *story;
    const struct story_event *events;
    struct random random;
    size_t stored;
    int busy;
    struct error err;
    pthread_t id;
};

static int write_batch(struct writer *w, struct db *db, struct event_item *items, size_t n)
{
    const struct event_log_methods *log = w->story->log->methods;
    struct arena arena;
    int r = -1;

    arena_init(&arena);
    if (db_begin(db, &w->err) != 0)
        goto out;
    if (log->add(w->story->log, db, items, n, &arena, &w->err) == 0 &&
        log->save(w->story->log, db, &w->err) == 0)
        r = db_commit(db, &w->err);
    if (r != 0)
        db_rollback(db);
    else
        log->committed(w->story->log, items, n);
out:
    arena_done(&arena);
    return r;
}

/* Sends all events in an order of its own, some again, each batch until it is taken. */
static int write_all(struct writer *w, struct db *db)
{
    for (int sent = 0; sent < 2 * EVENTS; sent += EACH) {
        struct event_item items[EACH];

        for (int i = 0; i < EACH; i++) {
            const struct story_event *e = &w->events[random_below(&w->random, EVENTS)];

            items[i] = (struct event_item){ .tenant_id = w->story->tenant_ids[e->tenant],
                                            .agent_id = w->story->agent_ids[e->tenant][e->agent],
                                            .event = &e->event };
        }
        while (write_batch(w, db, items, EACH) != 0) {
            if (w->err.code != ERR_BUSY)
                return -1;
            w->busy += strstr(w->err.text, "another node") == NULL;
        }
        for (int i = 0; i < EACH; i++)
            w->stored += !items[i].duplicate;
    }
    return 0;
}

static void *run_writer(void *arg)
{
    struct writer *w = arg;
    struct db *db = NULL;

    w->err = (struct error){ 0 };
    if (db_open(w->url, DB_WRITER, &db, &w->err) == 0 && write_all(w, db) == 0)
        w->err = (struct error){ 0 };
    db_close(db);
    return NULL;
}

static const struct db_query count_events = { .postgres = "SELECT COUNT(*) FROM events" };
static const struct db_query count_ids = {
    .postgres =
        "SELECT COUNT(*) FROM (SELECT DISTINCT tenant_id, event_id, event_uuid FROM events) x",
};
static const struct db_query wrong_counts = {
    .postgres = "SELECT COUNT(*) FROM runs r WHERE event_count <> (SELECT COUNT(*) FROM events e"
                " WHERE e.tenant_id = r.tenant_id AND e.run_no = r.run_no) OR event_count = 0",
};
static const struct db_query without_run = {
    .postgres = "SELECT COUNT(*) FROM events e WHERE NOT EXISTS (SELECT FROM runs r"
                " WHERE r.tenant_id = e.tenant_id AND r.run_no = e.run_no)",
};

/* The folded state of each run, as if its events were read again. */
static void check_states(struct story *s)
{
    for (int t = 0; t < STORY_TENANTS; t++) {
        for (int run = 0; run < STORY_RUNS; run++) {
            struct run_summary actual = { 0 }, expected = { 0 };
            struct error err = { 0 };
            struct run_state state;
            struct run_row row;
            struct list events;
            struct buf a, b;
            int64_t run_no = story_run_no(s, t, run);

            if (run_no == 0)
                continue;
            story_must(runs_get(s->db, s->tenant_ids[t], run_no, &s->arena, &row, &err), &err);
            story_must(run_events(s->db, s->tenant_ids[t], run_no, &s->arena, &events, &err), &err);
            run_state_init(&state);
            for (size_t i = 0; i < events.n; i++)
                run_state_add(&state, &((struct stored_event *)events.items)[i].event);
            run_state_summary(&state, &expected);
            run_state_summary(&row.state, &actual);
            buf_init(&a, MIB(1));
            buf_init(&b, MIB(1));
            shape_write_json(&run_summary_shape, &actual, &a);
            shape_write_json(&run_summary_shape, &expected, &b);
            CHECK(str_eq(buf_str(&a), buf_str(&b)));
            buf_done(&a);
            buf_done(&b);
        }
    }
}

/* Ids and runs of the events: retries of the same, or one id under different runs as well, so that
 * no lock on a run decides it all. */
static void make_events(struct story *s, struct story_event *events, bool retries)
{
    for (int i = 0; i < EVENTS; i++) {
        struct story_event *e = &events[i];

        do
            *e = story_event(s);
        while (e->id == 0 || e->id > EVENTS / 2);
        if (!retries)
            continue;
        e->run = e->id % STORY_RUNS;
        e->event.run_id = arena_printf(&s->arena, "3f2b8c1e-9a4d-4e6f-8b7a-%012d", e->run);
    }
}

static void check_several_writers(bool retries)
{
    static struct story_event events[EVENTS];
    struct writer writers[WRITERS];
    const char *url = suite_new_database();
    size_t stored = 0;
    struct story s;

    story_init(&s, suite_open(url, DB_WRITER), 31);
    make_events(&s, events, retries);
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i] =
            (struct writer){ .url = url, .story = &s, .events = events, .random = { 1000 + i } };
        CHECK(pthread_create(&writers[i].id, NULL, run_writer, &writers[i]) == 0);
    }
    for (size_t i = 0; i < WRITERS; i++)
        (void)pthread_join(writers[i].id, NULL);
    for (size_t i = 0; i < WRITERS; i++) {
        story_must(writers[i].err.code == ERR_NONE ? 0 : -1, &writers[i].err);
        CHECK(!retries || writers[i].busy == 0);
        stored += writers[i].stored;
    }
    CHECK(stored > EVENTS / 3);
    CHECK_INT(suite_int(s.db, &count_events), stored);
    CHECK_INT(suite_int(s.db, &count_ids), stored);
    CHECK_INT(suite_int(s.db, &wrong_counts), 0);
    CHECK_INT(suite_int(s.db, &without_run), 0);
    check_states(&s);
    story_done(&s);
}

/* And none of them waits for another in a circle. */
TEST(several_writers_at_once_store_each_retry_once)
{
    check_several_writers(true);
}

TEST(several_writers_at_once_store_an_id_once_whatever_its_run)
{
    check_several_writers(false);
}

/* A table leaves out the rows that it is given: the events are not stored, and another try will do.
 */
static void check_left_out(const char *table)
{
    struct story_event events[3];
    struct error err = { 0 };
    struct story s;
    char sql[300];

    story_init(&s, suite_open(suite_new_database(), DB_WRITER), 1);
    for (size_t i = 0; i < COUNT_OF(events); i++)
        events[i] = story_event(&s);
    (void)snprintf(sql, sizeof(sql),
                   "CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS"
                   " 'BEGIN RETURN NULL; END'; CREATE TRIGGER leave_out BEFORE INSERT ON %s"
                   " FOR EACH ROW EXECUTE FUNCTION leave_out()",
                   table);
    suite_script(s.db, sql);
    CHECK(story_append(&s, s.db, events, COUNT_OF(events), &err) != 0);
    CHECK_INT(err.code, ERR_BUSY);
    story_check(&s);
    (void)snprintf(sql, sizeof(sql), "DROP TRIGGER leave_out ON %s", table);
    suite_script(s.db, sql);
    story_must(story_append(&s, s.db, events, COUNT_OF(events), &err), &err);
    story_check(&s);
    story_done(&s);
}

/* As when two events get the same number: it must not pass for a duplicate. */
TEST(an_event_that_is_neither_inserted_nor_known_is_stored_by_another_try)
{
    check_left_out("events");
}

/* As when a run is deleted between two statements. */
TEST(events_of_a_run_that_is_not_there_are_not_stored)
{
    check_left_out("runs");
}

static struct event_log *another_log(const struct story *s)
{
    struct event_log *log;
    struct error err = { 0 };

    story_must(event_log_new(s->db, &log, &err), &err);
    return log;
}

/* An event of the run in a transaction of its own, tried again as the writer does; the run's
 * number.
 */
static int64_t store_event(struct story *s, struct event_log *log, int kind, const char *id)
{
    const struct str none = STR_LIT("");
    const struct telemetry_event event = { .event_id = str_of(id),
                                           .run_id = STR_LIT(RUN),
                                           .event = kind,
                                           .timestamp = 1000,
                                           .agent_version = none,
                                           .message = none,
                                           .level = none,
                                           .category = none,
                                           .source = none };
    struct event_item item = { .tenant_id = s->tenant_ids[0],
                               .agent_id = s->agent_ids[0][0],
                               .event = &event };
    struct error err = { 0 };

    story_must(db_begin(s->db, &err), &err);
    if (log->methods->add(log, s->db, &item, 1, &s->arena, &err) != 0) {
        CHECK(db_was_contended(s->db));
        db_rollback(s->db);
        story_must(db_begin(s->db, &err), &err);
        story_must(log->methods->add(log, s->db, &item, 1, &s->arena, &err), &err);
    }
    story_must(db_commit(s->db, &err), &err);
    log->methods->committed(log, &item, 1);
    CHECK(!item.duplicate);
    return item.run_no;
}

/* Two nodes, each of which assumes what it has seen of the run. */
TEST(a_run_that_another_node_began_or_deleted_has_all_its_events_under_one_number)
{
    struct event_log *other;
    struct story s;
    int64_t run_no;

    story_init(&s, suite_open(suite_new_database(), DB_WRITER), 1);
    other = another_log(&s);
    run_no = store_event(&s, s.log, EVENT_STARTED, "1");
    CHECK_INT(store_event(&s, s.log, EVENT_IN_PROGRESS, "2"), run_no);
    CHECK_INT(store_event(&s, other, EVENT_STARTED, "3"), run_no); /* it seemed to be new */
    CHECK_INT(suite_int(s.db, &count_events), 3);
    CHECK_INT(suite_int(s.db, &wrong_counts), 0);
    CHECK_INT(suite_int(s.db, &without_run), 0);
    suite_script(s.db, "DELETE FROM events; DELETE FROM runs");
    CHECK(store_event(&s, s.log, EVENT_IN_PROGRESS, "4") != run_no); /* it was known */
    CHECK_INT(suite_int(s.db, &count_events), 1);
    CHECK_INT(suite_int(s.db, &wrong_counts), 0);
    CHECK_INT(suite_int(s.db, &without_run), 0);
    other->methods->free(other);
    story_done(&s);
}
