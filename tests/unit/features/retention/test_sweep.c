/* test_sweep.c - what a pass deletes, by clocks that are set to the microsecond. */
#include "features/retention/sweep.h"

#include <pthread.h>

#include "base/clock.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/access/retention.h"
#include "features/access/tenants.h"
#include "features/agents/agents_store.h"
#include "features/events/event_log.h"
#include "features/events/shapes.h"
#include "unit/temp_db.h"

#define S(seconds) ((int64_t)(seconds) * USEC_PER_SEC)
#define DAYS(n)    ((int64_t)(n) * S(86400))

static const int64_t wall_start = 1700000000LL * USEC_PER_SEC, mono_start = 5000LL * USEC_PER_SEC;

static const struct db_query add_run = {
    .sql = "INSERT INTO runs (tenant_id, run_id, agent_id, event_count, start_at, first_at,"
           " last_at, closing_at, closing_seq, closing_event, closing_message, step_seq,"
           " step_message, version_seq, agent_version)"
           " VALUES ($1, 'r' || $2, $3, 1, $2, $2, $4, $5, 0, $6, '', 0, '', 0, '')",
};
static const struct db_query add_runs = {
    .sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3500)"
           " INSERT INTO runs (tenant_id, run_id, agent_id, event_count, start_at, first_at,"
           " last_at, closing_at, closing_seq, closing_event, closing_message, step_seq,"
           " step_message, version_seq, agent_version)"
           " SELECT $1, 'r' || i, $2, 1, $3 + i, $3, $3 + i, $3, 0, 1, '', 0, '', 0, '' FROM n",
};
static const struct db_query add_business = {
    .sql = "INSERT INTO business_runs (tenant_id, agent_id, run_id, timestamp, agent_version)"
           " VALUES ($1, $2, 'r' || $3, $3, '')",
};
static const struct db_query add_usage = {
    .sql = "INSERT INTO llm_usage (tenant_id, timestamp, agent_id, run_id, model, received_at,"
           " input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, calls,"
           " agent_version) VALUES ($1, $2, $3, 'r', 'm', 0, 0, 0, 0, 0, 0, '')",
};
static const struct db_query add_alert = {
    .sql = "INSERT INTO alerts (tenant_id, alert_id, type, agent_id, subject, open, told, since_at,"
           " opened_at, detail) VALUES ($1, 'a', 'run.stuck', $2, 'r' || $3, 1, 1, 0, 0, '{}')",
};
static const struct db_query count_open = { .sql = "SELECT COUNT(*) FROM alerts WHERE open = 1" };
static const struct db_query count_runs = { .sql = "SELECT COUNT(*) FROM runs" };
static const struct db_query count_events = { .sql = "SELECT COUNT(*) FROM events" };
static const struct db_query count_business = { .sql = "SELECT COUNT(*) FROM business_runs" };
static const struct db_query count_usage = { .sql = "SELECT COUNT(*) FROM llm_usage" };

struct world {
    struct txn txn;
    struct db *db, *reader;
    struct event_log *log;
    struct writer *writer;
    struct sweep *sweep;
    int64_t wall_us, mono_us;
    int64_t tenant_id, agent_id;
};

static void on_fatal(void *ctx, const struct error *err)
{
    (void)ctx;
    (void)err;
}

static void world_init(struct world *w)
{
    struct tenant_row tenant = { .slug = STR_LIT("acme"), .name = STR_LIT(""), .max_agents = 9 };
    const char *url = temp_db_migrated();
    struct writer_options writer = { .n_txns = 1,
                                     .limits = { 10, 10, 10, 0 },
                                     .on_fatal = on_fatal };
    struct agent_row agent;

    *w = (struct world){ .db = temp_db_open(url, DB_WRITER),
                         .wall_us = wall_start,
                         .mono_us = mono_start };
    CHECK(tenant_add(w->db, &tenant, NULL) == 0);
    CHECK(agents_add(w->db, tenant.tenant_id, STR_LIT("a"), 1, &agent, NULL) == 0);
    CHECK(event_log_new(w->db, &w->log, NULL) == 0);
    w->tenant_id = tenant.tenant_id;
    w->agent_id = agent.agent_id;
    w->reader = temp_db_open(url, DB_READER);
    w->txn.db = w->db;
    writer.txns = &w->txn;
    CHECK(writer_new(&writer, &w->writer, NULL) == 0);
    w->sweep = sweep_new(&(struct sweep_options){ w->reader, w->writer, w->log, false }, w->wall_us,
                         w->mono_us);
}

static void world_done(struct world *w)
{
    writer_free(w->writer);
    sweep_free(w->sweep);
    w->log->methods->free(w->log);
    db_close(w->reader);
    db_close(w->db);
}

/* A statement on the writer's thread, whose connection it is. */
struct statement {
    const struct db_query *query;
    struct db_args args;
};

static int run_statement(void *ctx, struct db *db, struct error *err)
{
    const struct statement *s = ctx;

    return db_exec(db, s->query, s->args, NULL, NULL, err);
}

static void exec(struct world *w, const struct db_query *query, struct db_args args)
{
    struct statement s = { query, args };
    struct error err = { 0 };

    if (writer_run_sync(w->writer, run_statement, &s, &err) != 0)
        fail_msg("%s", err.text);
}

struct setting {
    int64_t tenant_id;
    struct retention_limits limits;
};

static int run_setting(void *ctx, struct db *db, struct error *err)
{
    const struct setting *s = ctx;

    return retention_set(db, s->tenant_id, &s->limits, 1, err);
}

static void limit(struct world *w, int64_t days, int64_t keep_failed)
{
    const struct opt_int limit = { true, days };
    struct setting s = { w->tenant_id, { limit, limit, limit, keep_failed } };

    CHECK(writer_run_sync(w->writer, run_setting, &s, NULL) == 0);
}

enum status { OPEN = -1, COMPLETED = 1, FAILED = 2 };

static void run(struct world *w, int64_t start_at, int64_t last_at, enum status status)
{
    exec(w, &add_run,
         DB_ARGS(db_int(w->tenant_id), db_int(start_at), db_int(w->agent_id), db_int(last_at),
                 status == OPEN ? db_null() : db_int(last_at),
                 db_int(status == OPEN ? 0 : (int64_t)status)));
}

static int nothing(void *ctx, struct db *db, struct error *err)
{
    (void)ctx;
    (void)db;
    (void)err;
    return 0;
}

/* A pass from its beginning to its end: each step is in the queue when the one before is done. */
static void pass(struct world *w)
{
    w->wall_us += S(60);
    w->mono_us += S(60);
    for (int i = 0; i < 50; i++) {
        CHECK(sweep_tick(w->sweep, w->wall_us, w->mono_us, NULL) == 0);
        CHECK(writer_run_sync(w->writer, nothing, NULL, NULL) == 0);
    }
}

static int64_t count(struct world *w, const struct db_query *query)
{
    return temp_db_int(w->reader, query, DB_NO_ARGS);
}

TEST(what_is_exactly_as_old_as_the_limit_stays)
{
    struct world w;
    int64_t before;

    world_init(&w);
    limit(&w, 3, 0);
    before = w.wall_us + S(60) - DAYS(3);
    for (int64_t at = before - 1; at <= before; at++) {
        const struct db_value usage[] = { db_int(w.tenant_id), db_int(at), db_int(w.agent_id) };
        const struct db_args report = DB_ARGS(usage[0], usage[2], usage[1]);

        run(&w, at, at, COMPLETED);
        exec(&w, &add_business, report);
        exec(&w, &add_usage, DB_ARGS_OF(usage));
    }
    run(&w, before - DAYS(10), before, COMPLETED); /* by its last event */
    pass(&w);
    CHECK_INT(count(&w, &count_runs), 2);
    CHECK_INT(count(&w, &count_business), 1);
    CHECK_INT(count(&w, &count_usage), 1);
    pass(&w);
    CHECK_INT(count(&w, &count_runs), 0);
    CHECK_INT(count(&w, &count_business), 0);
    CHECK_INT(count(&w, &count_usage), 0);
    world_done(&w);
}

TEST(an_open_run_has_a_week)
{
    struct world w;
    int64_t week;

    world_init(&w);
    limit(&w, 1, 0);
    week = w.wall_us + S(60) - DAYS(7);
    run(&w, week - DAYS(9), week, OPEN);
    run(&w, week - DAYS(8), week - 1, OPEN);
    exec(&w, &add_alert, DB_ARGS(db_int(w.tenant_id), db_int(w.agent_id), db_int(week - DAYS(8))));
    pass(&w);
    CHECK_INT(count(&w, &count_runs), 1);
    CHECK_INT(count(&w, &count_open), 0); /* a deleted run is not stuck */
    limit(&w, 8, 0);                      /* a longer limit holds for open ones too */
    pass(&w);
    CHECK_INT(count(&w, &count_runs), 1);
    world_done(&w);
}

TEST(the_newest_failed_runs_stay)
{
    struct world w;

    world_init(&w);
    limit(&w, 1, 3);
    for (int i = 1; i <= 8; i++) {
        run(&w, w.wall_us - DAYS(10 * i), w.wall_us - DAYS(10 * i), FAILED);
        run(&w, w.wall_us - DAYS(10 * i) + 1, w.wall_us - DAYS(10 * i) + 1, COMPLETED);
    }
    pass(&w);
    CHECK_INT(count(&w, &count_runs), 3);
    run(&w, w.wall_us, w.wall_us, FAILED); /* one that is new moves the oldest out */
    pass(&w);
    CHECK_INT(count(&w, &count_runs), 3);
    limit(&w, 1, 0);
    pass(&w);
    CHECK_INT(count(&w, &count_runs), 1);
    world_done(&w);
}

struct event {
    struct world *world;
    struct telemetry_event event;
    struct event_item item;
};

static int run_event(void *ctx, struct db *db, struct error *err)
{
    struct event *e = ctx;
    struct event_log *log = e->world->log;
    struct arena arena;
    int r;

    arena_init(&arena);
    r = log->methods->add(log, db, &e->item, 1, &arena, err);
    if (r == 0)
        r = log->methods->prepare(log, db, err);
    arena_done(&arena);
    return r;
}

static void report(struct world *w, const char *event_id, int64_t at)
{
    struct event e = { .world = w,
                       .event = { .event_id = str_of(event_id),
                                  .run_id = STR_LIT("3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b"),
                                  .event = EVENT_COMPLETED,
                                  .timestamp = at,
                                  .agent_version = STR_LIT(""),
                                  .message = STR_LIT(""),
                                  .level = STR_LIT(""),
                                  .category = STR_LIT(""),
                                  .source = STR_LIT(""),
                                  .metadata = STR_LIT("{}"),
                                  .metrics = STR_LIT("{}"),
                                  .links = STR_LIT("[]") } };
    struct error err = { 0 };

    e.item = (struct event_item){
        .tenant_id = w->tenant_id, .agent_id = w->agent_id, .received_at = at, .event = &e.event
    };
    if (writer_run_sync(w->writer, run_event, &e, &err) != 0)
        fail_msg("%s", err.text);
    CHECK(!e.item.duplicate);
    w->log->methods->committed(w->log, &e.item, 1);
}

/* The log remembers runs that had an event a moment ago; one that is gone it must not. */
TEST(an_event_of_a_run_that_just_went_makes_a_new_one)
{
    struct world w;

    world_init(&w);
    limit(&w, 3, 0);
    report(&w, "a", w.wall_us - DAYS(4));
    pass(&w);
    CHECK_INT(count(&w, &count_runs), 0);
    CHECK_INT(count(&w, &count_events), 0);
    report(&w, "a", w.wall_us);
    report(&w, "b", w.wall_us);
    CHECK_INT(count(&w, &count_runs), 1);
    CHECK_INT(count(&w, &count_events), 2);
    pass(&w);
    CHECK_INT(count(&w, &count_events), 2);
    world_done(&w);
}

/* Steps of 1,000 rows, tenants one after the other. */
TEST(a_pass_deletes_all_there_is_however_much)
{
    struct world w;

    world_init(&w);
    exec(&w, &add_runs,
         DB_ARGS(db_int(w.tenant_id), db_int(w.agent_id), db_int(w.wall_us - DAYS(9))));
    pass(&w);
    CHECK_INT(count(&w, &count_runs), 3500); /* this tenant keeps everything */
    limit(&w, 3, 0);
    pass(&w);
    CHECK_INT(count(&w, &count_runs), 0);
    world_done(&w);
}

TEST(a_clock_that_is_set_ahead_deletes_nothing)
{
    struct world w;

    world_init(&w);
    limit(&w, 3, 0);
    run(&w, w.wall_us, w.wall_us, COMPLETED);
    w.wall_us += DAYS(400);
    pass(&w);
    CHECK_INT(count(&w, &count_runs), 1);
    w.wall_us -= DAYS(800);
    pass(&w);
    CHECK_INT(count(&w, &count_runs), 1);
    w.mono_us += DAYS(3);
    w.wall_us = wall_start + (w.mono_us - mono_start);
    pass(&w);
    CHECK_INT(count(&w, &count_runs), 0);
    world_done(&w);
}
