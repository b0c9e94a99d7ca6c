/* story.h - random events for an event log, beside a plain list of what it must have stored.
 *
 * The same seed tells the same story to every database, and what a database has of it is written
 * out as text: so what equals the list's text on one equals it on all.
 */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/buf.h"
#include "db/db.h"
#include "db/migrate.h"
#include "db/servers.h"
#include "features/access/tenants.h"
#include "features/agents/agents_store.h"
#include "features/events/event_log.h"
#include "features/events/event_rows.h"
#include "features/events/runs.h"
#include "features/events/shapes.h"
#include "test.h"
#include "unit/random.h"

enum {
    STORY_TENANTS = 2,
    STORY_AGENTS = 2,
    STORY_RUNS = 9,
    STORY_IDS = 400,
    STORY_EVENTS_MAX = 20000,
    STORY_BATCH_MAX = 40,
};

struct story_event {
    struct telemetry_event event;
    int tenant, agent, run;
    int id; /* which event_id; 0: the empty one */
    int64_t received_at;
    int64_t run_no, run_events; /* once it is stored */
};

struct story {
    struct db *db;
    struct event_log *log;
    struct random random;
    struct arena arena; /* of what the events hold */
    int64_t tenant_ids[STORY_TENANTS], agent_ids[STORY_TENANTS][STORY_AGENTS];
    int64_t run_nos[STORY_TENANTS][STORY_RUNS]; /* once seen */

    struct story_event *stored; /* the list: the first n_committed are committed */
    size_t n, n_committed;
    size_t duplicates;
};

static inline void story_must(int r, const struct error *err)
{
    if (r != 0)
        fail_msg("%s", err->text);
}

static inline void story_reopen(struct story *s)
{
    struct error err = { 0 };

    if (s->log != NULL)
        s->log->methods->free(s->log);
    story_must(event_log_new(s->db, &s->log, &err), &err);
    s->n = s->n_committed;
}

/* Takes the connection, to an empty database. */
static inline void story_init(struct story *s, struct db *db, uint64_t seed)
{
    static const char *const slugs[STORY_TENANTS] = { "acme", "other" };
    struct error err = { 0 };

    *s = (struct story){ .db = db,
                         .random = { seed },
                         .stored = malloc(STORY_EVENTS_MAX * sizeof(struct story_event)) };
    arena_init(&s->arena);
    story_must(store_migrate(db, &err), &err);
    for (int t = 0; t < STORY_TENANTS; t++) {
        struct tenant_row tenant = { .slug = str_of(slugs[t]),
                                     .name = STR_LIT(""),
                                     .max_agents = 10 };

        story_must(tenant_add(db, &tenant, &err), &err);
        s->tenant_ids[t] = tenant.tenant_id;
        for (int a = 0; a < STORY_AGENTS; a++) {
            struct agent_row agent = { 0 };

            story_must(agents_add(db, tenant.tenant_id, a == 0 ? STR_LIT("a") : STR_LIT("b"), 1,
                                  &agent, &err),
                       &err);
            s->agent_ids[t][a] = agent.agent_id;
        }
    }
    story_reopen(s);
}

static inline void story_done(struct story *s)
{
    s->log->methods->free(s->log);
    db_close(s->db);
    free(s->stored);
    arena_done(&s->arena);
}

/* --- what happens --- */

/* Texts that break where quoting is forgotten. */
static inline struct str story_text(struct story *s)
{
    static const struct str texts[] = {
        STR_INIT(""),
        STR_INIT("NULL"),
        STR_INIT("a,b"),
        STR_INIT("{\"x\"}"),
        STR_INIT("back\\slash \\\" 'quote'"),
        STR_INIT("line\nbreak\r\n\t"),
        STR_INIT("\xc3\xa4\xe4\xb8\xad\xf0\x9f\x9a\x80"),
        STR_INIT(" spaces "),
        STR_INIT("$1 %s ?"),
    };

    return texts[random_below(&s->random, COUNT_OF(texts))];
}

/* Events of a few kinds, which a store may keep apart, and others. */
static inline void story_choose_kind(struct story *s, struct telemetry_event *e)
{
    static const struct str levels[] = { STR_INIT("info"), STR_INIT("error") };
    static const struct str sources[] = { STR_INIT("a.py:1"), STR_INIT("\xc3\xa4.py") };

    if (random_percent(&s->random, 50))
        return;
    e->agent_version = STR_LIT("1.0");
    e->level = levels[random_below(&s->random, COUNT_OF(levels))];
    e->category = STR_LIT("");
    e->source = sources[random_below(&s->random, COUNT_OF(sources))];
}

/* Most ids of agents are UUIDs. */
static inline struct str story_id(struct story *s, int id)
{
    if (id == 0)
        return STR_LIT("");
    return id % 3 == 0 ? arena_printf(&s->arena, "id \"%d\\", id)
                       : arena_printf(&s->arena, "0f8fad5b-d9cb-469f-a165-%012d", id);
}

static inline struct str story_text_or_null(struct story *s)
{
    return random_percent(&s->random, 40) ? STR_NULL : story_text(s);
}

static inline struct opt_int story_number(struct story *s)
{
    static const int64_t numbers[] = { 0, -1, 1500, INT64_MIN, INT64_MAX };
    int64_t number = numbers[random_below(&s->random, COUNT_OF(numbers))];

    return random_percent(&s->random, 40) ? (struct opt_int){ 0 }
                                          : (struct opt_int){ true, number };
}

/* Few different times and places, so that there are ties; few ids, so that there are duplicates. */
static inline struct story_event story_event(struct story *s)
{
    static const char *const objects[] = { "{}", "{\"a\":\"\\\"\\\\,\"}", "{\"b\":\"\xc3\xa4\"}",
                                           "{\"b\":\"100 %s\"}", "{\"%s%\":\"\",\"d\":\"7\"}" };
    struct random *r = &s->random;
    struct story_event e = {
        .tenant = (int)random_below(r, STORY_TENANTS),
        .agent = (int)random_below(r, STORY_AGENTS),
        .run = (int)random_below(r, STORY_RUNS),
        .id = random_percent(r, 15) ? 0 : 1 + (int)random_below(r, STORY_IDS),
        .received_at = (int64_t)random_below(r, 1000000),
    };

    e.event = (struct telemetry_event){
        .event_id = story_id(s, e.id),
        .agent_name = e.agent == 0 ? STR_LIT("a") : STR_LIT("b"),
        .agent_version = story_text(s),
        .run_id = arena_printf(&s->arena, "3f2b8c1e-9a4d-4e6f-8b7a-%012d", e.run),
        .event = (int)random_below(r, 4),
        .timestamp = 1735787045000000 + (int64_t)random_below(r, 6) * 1000700,
        .duration_ms = story_number(s),
        .records_processed = story_number(s),
        .error_type = story_text_or_null(s),
        .error_message = story_text_or_null(s),
        .metadata = str_of(objects[random_below(r, COUNT_OF(objects))]),
        .output = random_percent(r, 50) ? STR_NULL : str_of(objects[random_below(r, 3)]),
        .workflow_run_id = random_percent(r, 70) ? STR_NULL : story_text(s),
        .message = story_text(s),
        .level = story_text(s),
        .category = story_text(s),
        .source = story_text(s),
        .seq = (int64_t)random_below(r, 4) - 1,
        .metrics = random_percent(r, 50) ? STR_LIT("{}") : STR_LIT("{\"x\":1e-7}"),
        .links = random_percent(r, 50) ? STR_LIT("[]") : STR_LIT("[\"a\\\"b\"]"),
    };
    story_choose_kind(s, &e.event);
    if (random_percent(r, 50))
        e.received_at += e.event.timestamp;
    return e;
}

static inline bool story_knows(const struct story *s, const struct story_event *e)
{
    if (e->id == 0)
        return false;
    for (size_t i = 0; i < s->n; i++)
        if (s->stored[i].id == e->id && s->stored[i].tenant == e->tenant)
            return true;
    return false;
}

/* One call of add(). When it succeeds, its verdicts must be those of the list. */
static inline int story_add(struct story *s, struct db *db, const struct story_event *events,
                            size_t n, struct error *err)
{
    struct event_item items[STORY_BATCH_MAX];
    struct arena arena;
    int r;

    arena_init(&arena);
    for (size_t i = 0; i < n; i++)
        items[i] = (struct event_item){ .tenant_id = s->tenant_ids[events[i].tenant],
                                        .agent_id = s->agent_ids[events[i].tenant][events[i].agent],
                                        .received_at = events[i].received_at,
                                        .event = &events[i].event,
                                        .duplicate = i % 2 == 0 };
    r = s->log->methods->add(s->log, db, items, n, &arena, err);
    for (size_t i = 0; i < n && r == 0; i++) {
        bool known = story_knows(s, &events[i]);

        CHECK_INT(items[i].duplicate, known);
        s->duplicates += known;
        if (known)
            continue;
        CHECK(s->n < STORY_EVENTS_MAX);
        s->stored[s->n] = events[i];
        s->stored[s->n].run_events = items[i].run_events;
        s->stored[s->n++].run_no = items[i].run_no;
    }
    arena_done(&arena);
    return r;
}

/* The transaction is committed. */
static inline void story_committed(struct story *s)
{
    const size_t n = s->n - s->n_committed;
    struct event_item *items = calloc(n + 1, sizeof(*items));

    for (size_t i = 0; i < n; i++) {
        const struct story_event *e = &s->stored[s->n_committed + i];

        items[i] = (struct event_item){ .tenant_id = s->tenant_ids[e->tenant],
                                        .event = &e->event,
                                        .run_no = e->run_no,
                                        .run_events = e->run_events };
    }
    s->log->methods->committed(s->log, items, n);
    s->n_committed = s->n;
    free(items);
}

static inline void story_roll_back(struct story *s, struct db *db)
{
    db_rollback(db);
    s->log->methods->rolled_back(s->log);
    s->n = s->n_committed;
}

/* All of a transaction, through a connection that may fail; once more after contention, as the
 * writer does. */
static inline int story_append(struct story *s, struct db *db, const struct story_event *events,
                               size_t n, struct error *err)
{
    const struct event_log_methods *log = s->log->methods;

    for (int attempt = 0; attempt < 2; attempt++) {
        if (db_begin(db, err) != 0)
            return -1;
        if (story_add(s, db, events, n, err) == 0 && log->save(s->log, db, err) == 0 &&
            db_commit(db, err) == 0) {
            story_committed(s);
            return 0;
        }
        story_roll_back(s, db);
        if (!db_was_contended(db))
            break;
    }
    return -1;
}

/* --- how it looks afterwards --- */

/* A run belongs to the agent that started it, else to that of its first event. */
static inline void story_write_run(const struct run_state *state, const struct story_event *owner,
                                   struct buf *out)
{
    struct run_summary run = { .run_id = owner->event.run_id,
                               .agent_name = owner->event.agent_name };

    run_state_summary(state, &run);
    shape_write_json(&run_summary_shape, &run, out);
    buf_add_char(out, '\n');
}

static inline void story_write_event(struct stored_event *stored, const struct story_event *first,
                                     struct buf *out)
{
    stored->event.run_id = first->event.run_id;
    stored->event.client_id = STR_LIT("x");
    shape_write_json(&stored_event_shape, stored, out);
    buf_add_char(out, '\n');
}

/* The run by the list, folded again; false when it has no event. */
static inline bool story_write_expected(const struct story *s, int tenant, int run, struct buf *out)
{
    const struct story_event *first = NULL, *owner = NULL;
    struct run_state state;

    run_state_init(&state);
    for (size_t i = 0; i < s->n_committed; i++) {
        const struct story_event *e = &s->stored[i];
        struct stored_event stored = { .event = e->event, .received_at = e->received_at };

        if (e->tenant != tenant || e->run != run)
            continue;
        if (first == NULL)
            owner = first = e;
        if (e->event.event == EVENT_STARTED && state.started_at == TIME_NULL)
            owner = e;
        run_state_add(&state, &e->event);
        story_write_event(&stored, first, out);
    }
    if (first != NULL)
        story_write_run(&state, owner, out);
    return first != NULL;
}

static inline void story_write_actual(struct story *s, int tenant, int64_t run_no, int run,
                                      struct buf *out)
{
    struct story_event head = { 0 };
    struct error err = { 0 };
    struct run_row row;
    struct list events;
    struct arena arena;

    arena_init(&arena);
    story_must(runs_get(s->db, s->tenant_ids[tenant], run_no, &arena, &row, &err), &err);
    story_must(run_events(s->db, s->tenant_ids[tenant], run_no, &arena, &events, &err), &err);
    head.event.run_id = arena_printf(&arena, "3f2b8c1e-9a4d-4e6f-8b7a-%012d", run);
    head.event.agent_name = row.agent_name;
    for (size_t i = 0; i < events.n; i++)
        story_write_event((struct stored_event *)events.items + i, &head, out);
    story_write_run(&row.state, &head, out);
    arena_done(&arena);
}

static inline int64_t story_run_no(struct story *s, int tenant, int run)
{
    char run_id[64];
    struct error err = { 0 };
    int64_t run_no = -1;

    (void)snprintf(run_id, sizeof(run_id), "3f2b8c1e-9a4d-4e6f-8b7a-%012d", run);
    story_must(s->log->methods->find_run(s->log, s->db, s->tenant_ids[tenant], str_of(run_id),
                                         &run_no, &err),
               &err);
    return run_no;
}

/* Every run is as the list says, byte for byte, and under the number it always had. */
static inline void story_check(struct story *s)
{
    struct buf expected, actual;

    buf_init(&expected, MIB(64));
    buf_init(&actual, MIB(64));
    for (int t = 0; t < STORY_TENANTS; t++) {
        for (int run = 0; run < STORY_RUNS; run++) {
            int64_t run_no = story_run_no(s, t, run);

            buf_clear(&expected);
            buf_clear(&actual);
            if (!story_write_expected(s, t, run, &expected)) {
                CHECK_INT(run_no, 0);
                continue;
            }
            CHECK(run_no > 0);
            if (s->run_nos[t][run] == 0)
                s->run_nos[t][run] = run_no;
            CHECK_INT(run_no, s->run_nos[t][run]);
            story_write_actual(s, t, run_no, run, &actual);
            if (!str_eq(buf_str(&actual), buf_str(&expected)))
                fail_msg("run %d of tenant %d is\n%.*s\nbut should be\n%.*s", run, t,
                         STR_ARG(actual), STR_ARG(expected));
        }
    }
    buf_done(&expected);
    buf_done(&actual);
}

/* --- random transactions --- */

/* One to three calls of add(), and one of the ends that there are. */
static inline void story_live(struct story *s)
{
    const struct event_log_methods *log = s->log->methods;
    struct story_event events[STORY_BATCH_MAX];
    uint64_t end = random_below(&s->random, 100);
    struct error err = { 0 };

    story_must(db_begin(s->db, &err), &err);
    for (uint64_t calls = 1 + random_below(&s->random, 3); calls > 0; calls--) {
        size_t n = random_below(&s->random, STORY_BATCH_MAX);

        for (size_t i = 0; i < n; i++)
            events[i] = story_event(s);
        if (story_add(s, s->db, events, n, &err) != 0) { /* another call has changed its runs */
            CHECK(db_was_contended(s->db));
            story_roll_back(s, s->db);
            return;
        }
    }
    if (end < 90)
        story_must(log->save(s->log, s->db, &err), &err);
    if (end < 75) {
        story_must(db_commit(s->db, &err), &err);
        story_committed(s);
    } else if (end < 80) { /* the process ends after the commit … */
        story_must(db_commit(s->db, &err), &err);
        s->n_committed = s->n;
        story_reopen(s);
    } else if (end < 85) { /* … and before it */
        db_rollback(s->db);
        story_reopen(s);
    } else {
        story_roll_back(s, s->db);
    }
}
