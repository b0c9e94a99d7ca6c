/* test_export_lines.c - an export is whole although a step of it took too long. */
#include "features/export/export_run.h"

#include "db/driver.h"
#include "features/access/registry.h"
#include "features/cost/llm_totals.h"
#include "features/cost/prices.h"
#include "features/cost/reports.h"
#include "features/events/event_log.h"
#include "features/events/shapes.h"
#include "features/kpis/reports.h"
#include "features/kpis/rollups.h"
#include "features/kpis/shapes.h"
#include "hooks/fault.h"
#include "unit/store_world.h"

enum { RUNS = 12, SECONDS = 6 };

/* One export, and what it wrote. */
struct asked {
    struct export_job job;
    struct buf lines;
};

static struct world w;
static struct event_log *event_log;
static struct prices *prices;
static struct tenant_entry tenant;

static struct str body_of(int run, int second, const char *members)
{
    return arena_printf(&w.arena,
                        "{\"agent_name\":\"collector\",\"client_id\":\"acme\","
                        "\"run_id\":\"00000000-0000-4000-8000-%012d\","
                        "\"timestamp\":\"1970-01-01T00:00:%02dZ\",%s}",
                        run, second, members);
}

static void add_event(int run, int second)
{
    struct event_item item = { .tenant_id = w.tenant_id, .agent_id = w.agent_id, .received_at = 1 };
    const struct event_log_methods *m = event_log->methods;
    struct str members =
        arena_printf(&w.arena, "\"event\":\"in_progress\",\"event_id\":\"%d of %d\"", second, run);
    struct error err = { 0 };

    item.event = world_read(&w, &telemetry_event_shape, body_of(run, second, members.data));
    must(db_begin(w.db, &err), &err);
    must(m->add(event_log, w.db, &item, 1, &w.arena, &err), &err);
    must(m->save(event_log, w.db, &err), &err);
    must(db_commit(w.db, &err), &err);
    m->committed(event_log, &item, 1);
}

static void add_report(int run)
{
    const struct report_key place = { w.tenant_id, w.agent_id, 1, NULL };
    struct business_rows *rows = ARENA_NEW(&w.arena, struct business_rows);
    struct rollups *rollups = rollups_new();
    struct error err = { 0 };
    int64_t replaced;

    business_prepare(
        world_read(
            &w, &business_telemetry_shape,
            body_of(run, 1,
                    "\"metrics\":{\"cost_usd\":1,\"cpu\":2.5,\"cpu_ms\":\"text\",\"d\":4},"
                    "\"breakdowns\":[{\"metric\":\"cost_usd\",\"by\":\"x\",\"slices\":{\"p\":1,"
                    "\"q\":2}},"
                    "{\"metric\":\"cpu\",\"by\":\"y\",\"slices\":{\"p\":1,\"q\":2,\"r\":3}}]")),
        &w.arena, rows);
    must(business_put(w.db, &place, rows, rollups, &replaced, &err), &err);
    must(rollups_settle(rollups, w.db, &err), &err);
    rollups_free(rollups);
}

static void add_usage(int run, int second)
{
    const struct report_key place = { w.tenant_id, w.agent_id, 1, NULL };
    struct llm_totals *totals = llm_totals_new();
    struct error err = { 0 };
    bool replaced;

    must(llm_usage_put(
             w.db, &place,
             world_read(&w, &llm_usage_shape, body_of(run, second, "\"model\":\"m\",\"calls\":1")),
             totals, &replaced, &err),
         &err);
    must(llm_totals_save(totals, w.db, &err), &err);
    llm_totals_free(totals);
}

static void begin(void)
{
    struct error err = { 0 };

    world_init(&w);
    tenant = (struct tenant_entry){ .id = w.tenant_id, .slug = STR_LIT("acme") };
    must(event_log_new(w.db, &event_log, &err), &err);
    prices = prices_new();
    for (int run = 0; run < RUNS; run++) {
        for (int second = 0; second < SECONDS; second++) {
            add_event(run, second);
            add_usage(run, second);
        }
        add_report(run);
    }
}

static void end(void)
{
    event_log->methods->free(event_log);
    prices_free(prices);
    world_done(&w);
}

static bool take_part(struct export_job *job, struct buf *part)
{
    struct asked *a = CONTAINER_OF(job, struct asked, job);

    buf_add(&a->lines, buf_str(part));
    buf_clear(part);
    return true;
}

/* What becomes of an export over this connection; its lines are in ret->lines. */
static int export_over(struct db *db, enum export_kind kind, struct str run_id, struct asked *ret,
                       struct error *err)
{
    static const atomic_bool goes_on;
    const struct export_source source = { .events = event_log,
                                          .prices = prices,
                                          .stopping = &goes_on };

    *ret = (struct asked){ .job = { .kind = kind,
                                    .format = EXPORT_NDJSON,
                                    .tenant = &tenant,
                                    .range = { 0, INT64_MAX },
                                    .run_id = run_id,
                                    .write = take_part } };
    atomic_init(&ret->job.cancelled, false);
    buf_init(&ret->lines, MIB(16));
    return export_lines(&ret->job, &source, db, err);
}

static const struct {
    enum export_kind kind;
    struct str run_id;
    size_t lines;
} kinds[] = {
    { EXPORT_EVENTS, { NULL, 0 }, (size_t)RUNS *SECONDS },
    { EXPORT_EVENTS, { "00000000-0000-4000-8000-000000000003", 36 }, SECONDS },
    { EXPORT_BUSINESS, { NULL, 0 }, (size_t)RUNS * 9 },
    { EXPORT_LLM, { NULL, 0 }, (size_t)RUNS *SECONDS },
};

static size_t count_lines(const struct buf *text)
{
    size_t n = 0;

    for (size_t i = 0; i < text->len; i++)
        n += text->data[i] == '\n';
    return n;
}

/* Every statement in turn takes too long, after some of its rows. False when there is no such
 * statement. */
static bool check_late(size_t i, const struct buf *whole, int nth, size_t rows)
{
    struct db *late = db_fault_new_after_rows(w.db, nth, rows, ERR_BUSY);
    struct error err = { 0 };
    struct asked a;
    int r = export_over(late, kinds[i].kind, kinds[i].run_id, &a, &err);
    const bool fired = db_fault_fired(late);

    if (r == 0)
        CHECK_STR(buf_str(&a.lines), whole->data);
    else
        CHECK(fired && a.lines.len == 0); /* before the first line: the answer is a 503 */
    buf_done(&a.lines);
    db_close(late);
    return fired;
}

TEST(a_step_that_takes_too_long_costs_no_line_and_none_comes_twice)
{
    begin();
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct error err = { 0 };
        struct asked whole;
        int nth = 0;

        must(export_over(w.db, kinds[i].kind, kinds[i].run_id, &whole, &err), &err);
        CHECK_INT(count_lines(&whole.lines), kinds[i].lines);
        buf_add_char(&whole.lines, '\0');
        while (check_late(i, &whole.lines, nth, 0) && check_late(i, &whole.lines, nth, 1) &&
               check_late(i, &whole.lines, nth, 4))
            nth++;
        CHECK(nth > 0);
        buf_done(&whole.lines);
    }
    end();
}

/* A statement that never gives a row in time. */
struct stuck {
    struct db_driver driver;
    struct db base;
    int calls;
};

static int exec_in_vain(struct db *db, const struct db_query *q, struct db_args args,
                        db_row_fn *on_row, void *ctx, struct error *err)
{
    struct stuck *s = CONTAINER_OF(db, struct stuck, base);

    if (s->calls++ < 2) /* the last number, and since when days are noted */
        return db_exec(w.db, q, args, on_row, ctx, err);
    return err_set(err, ERR_BUSY, "too late");
}

TEST(an_export_that_never_gets_a_row_ends)
{
    struct error err = { 0 };
    struct stuck s = { 0 };
    struct asked a;

    begin();
    s.driver = *w.db->driver;
    s.driver.exec = exec_in_vain;
    s.base.driver = &s.driver;
    CHECK_INT(export_over(&s.base, EXPORT_EVENTS, STR_NULL, &a, &err), -1);
    CHECK_INT(err.code, ERR_BUSY);
    CHECK(s.calls > 3 && s.calls < 100);
    buf_done(&a.lines);
    end();
}
