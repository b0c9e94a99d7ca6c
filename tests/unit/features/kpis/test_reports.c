/* test_reports.c - the verdict on a report, and a report stored whole or not at all. */
#include "features/kpis/reports.h"

#include <pthread.h>

#include "features/access/registry.h"
#include "features/access/tenants.h"
#include "features/agents/agent_cache.h"
#include "features/agents/agents_store.h"
#include "features/cost/reports.h"
#include "features/events/event_log.h"
#include "features/kpis/shapes.h"
#include "hooks/fault.h"
#include "shape/problems.h"
#include "unit/temp_db.h"
#include "unit/txn_parts.h"

enum { CAP = 2 };

static const struct db_query count_values = { .sql = "SELECT COUNT(*) FROM business_values" };
static const struct db_query count_breakdowns = { .sql =
                                                      "SELECT COUNT(*) FROM business_breakdowns" };
static const struct db_query count_runs = { .sql = "SELECT COUNT(*) FROM business_runs" };
static const struct db_query count_usage = { .sql = "SELECT COUNT(*) FROM llm_usage" };
static const struct db_query count_agents = { .sql = "SELECT COUNT(*) FROM agents" };

struct world {
    struct db *real, *fault, *reader;
    struct event_log *log;
    struct budgets budgets;
    struct registry *registry;
    struct agent_cache *cache;
    struct txn txn;
    struct writer *writer;
    struct tenant_entry tenants[2];
};

/* A report that its sender waits for. */
struct sent {
    union {
        struct report report; /* the first member of both */
        struct business_report business;
        struct llm_report llm;
    };
    struct arena arena;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t told;
    bool done;
    enum err_code result;
};

static void on_fatal(void *ctx, const struct error *err)
{
    (void)ctx;
    (void)err;
}

static void add_tenant(struct world *w, size_t i, const char *slug)
{
    struct tenant_row row = { .slug = str_of(slug), .name = STR_LIT(""), .max_agents = CAP };

    CHECK(tenant_add(w->real, &row, NULL) == 0);
    w->tenants[i].id = row.tenant_id;
    w->tenants[i].slug = row.slug;
}

static void world_init(struct world *w, int nth, enum err_code code)
{
    const char *url = temp_db_migrated();
    struct writer_options options = {
        .txns = &w->txn,
        .n_txns = 1,
        .hooks = &txn_parts_hooks,
        .limits = { .events_max = 1000, .bytes_max = MIB(1), .group_max = 1000 },
        .on_fatal = on_fatal,
    };

    *w = (struct world){ .real = temp_db_open(url, DB_WRITER) };
    add_tenant(w, 0, "acme");
    add_tenant(w, 1, "other");
    w->reader = temp_db_open(url, DB_READER);
    CHECK(event_log_new(w->real, &w->log, NULL) == 0);
    budgets_init(&w->budgets);
    w->registry = registry_new(&w->budgets);
    w->cache = agent_cache_new();
    w->fault = db_fault_new(w->real, nth, code);
    w->txn = txn_parts_new(w->fault, w->log, w->cache);
    CHECK(writer_new(&options, &w->writer, NULL) == 0);
}

static void world_done(struct world *w)
{
    writer_free(w->writer);
    txn_parts_done(&w->txn);
    agent_cache_free(w->cache);
    registry_free(w->registry);
    w->log->methods->free(w->log);
    db_close(w->fault);
    db_close(w->reader);
    db_close(w->real);
}

static void done(struct writer_job *job, const struct error *err)
{
    struct sent *s = CONTAINER_OF(job, struct sent, report.job);

    pthread_mutex_lock(&s->lock);
    s->done = true;
    s->result = err == NULL ? ERR_NONE : err->code;
    pthread_cond_signal(&s->told);
    pthread_mutex_unlock(&s->lock);
}

static void *read_body(struct sent *s, const struct shape *shape, const char *agent, int second,
                       const char *members)
{
    struct problems *problems = problems_new(&s->arena, "body");
    void *value = arena_zalloc(&s->arena, shape->size);
    struct str body = arena_printf(&s->arena,
                                   "{\"agent_name\":\"%s\",\"timestamp\":\"1970-01-01T00:00:%02dZ\""
                                   ",\"run_id\":\"3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b\",%s}",
                                   agent, second, members);

    CHECK(shape_read_json(shape, body, &s->arena, value, problems) == 0);
    return value;
}

static void sent_init(struct sent *s, const struct tenant_entry *tenant)
{
    *s = (struct sent){
        .report = { .tenant = tenant, .arena = &s->arena, .bytes = 100, .received_at = 1 }
    };
    arena_init(&s->arena);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->told, NULL);
}

static void submit(struct world *w, struct sent *s)
{
    s->report.job.done = done;
    CHECK(writer_submit(w->writer, &s->report.job, NULL) == 0);
}

/* A letter for what became of it: Accepted, disabled (X), cap (C), or ! when it failed. */
static char wait_for(struct sent *s)
{
    static const char letters[] = { [VERDICT_ACCEPTED] = 'A',
                                    [VERDICT_DUPLICATE] = 'D',
                                    [VERDICT_AGENT_DISABLED] = 'X',
                                    [VERDICT_AGENT_CAP] = 'C' };

    pthread_mutex_lock(&s->lock);
    while (!s->done)
        pthread_cond_wait(&s->told, &s->lock);
    pthread_mutex_unlock(&s->lock);
    pthread_cond_destroy(&s->told);
    pthread_mutex_destroy(&s->lock);
    if (s->result != ERR_NONE)
        return '!';
    return letters[s->report.verdict];
}

static void start_business(struct world *w, struct sent *s, size_t tenant, const char *agent,
                           int second, const char *members)
{
    sent_init(s, &w->tenants[tenant]);
    s->report.agent_name = str_of(agent);
    s->business.body = read_body(s, &business_telemetry_shape, agent, second, members);
    business_report_prepare(&s->business);
    submit(w, s);
}

static char send_business(struct world *w, size_t tenant, const char *agent)
{
    struct sent s;
    char letter;

    start_business(w, &s, tenant, agent, 1,
                   "\"metrics\":{\"a\":1,\"b\":\"x\"},"
                   "\"breakdowns\":[{\"metric\":\"a\",\"by\":\"d\",\"slices\":{\"x\":1}}]");
    letter = wait_for(&s);
    if (letter != '!')
        CHECK_INT(s.business.undeclared.n, letter == 'A' ? 2 : 0);
    arena_done(&s.arena);
    return letter;
}

static char send_llm(struct world *w, size_t tenant, const char *agent)
{
    struct sent s;
    char letter;

    sent_init(&s, &w->tenants[tenant]);
    s.report.agent_name = str_of(agent);
    s.llm.body = read_body(&s, &llm_usage_shape, agent, 1, "\"model\":\"m\"");
    llm_report_prepare(&s.llm);
    submit(w, &s);
    letter = wait_for(&s);
    arena_done(&s.arena);
    return letter;
}

typedef char send_fn(struct world *w, size_t tenant, const char *agent);

static const struct {
    send_fn *send;
    const struct db_query *count;
    int64_t rows; /* of one report */
} channels[] = {
    { send_business, &count_values, 2 },
    { send_llm, &count_usage, 1 },
};

/* As an administrative change does it. */
static void enable(struct world *w, const char *agent, bool enabled)
{
    int64_t agent_id;

    CHECK(agents_enable(w->real, w->tenants[0].id, str_of(agent), enabled, &agent_id, NULL) == 0);
    agent_cache_changed(w->cache, w->tenants[0].id, agent_id);
}

TEST(a_disabled_agents_report_is_rejected_and_not_stored)
{
    for (size_t i = 0; i < COUNT_OF(channels); i++) {
        struct world w;

        world_init(&w, -1, ERR_NONE);
        CHECK_INT(channels[i].send(&w, 0, "a"), 'A');
        CHECK_INT(channels[i].send(&w, 1, "a"), 'A');
        enable(&w, "a", false);
        CHECK_INT(channels[i].send(&w, 0, "a"), 'X');
        CHECK_INT(channels[i].send(&w, 1, "a"), 'A');
        enable(&w, "a", true);
        CHECK_INT(channels[i].send(&w, 0, "a"), 'A');
        CHECK_INT(temp_db_int(w.reader, channels[i].count, DB_NO_ARGS), 2 * channels[i].rows);
        world_done(&w);
    }
}

static int64_t stored(struct world *w)
{
    return temp_db_int(w->reader, &count_values, DB_NO_ARGS) +
           temp_db_int(w->reader, &count_breakdowns, DB_NO_ARGS) +
           temp_db_int(w->reader, &count_runs, DB_NO_ARGS) +
           temp_db_int(w->reader, &count_usage, DB_NO_ARGS) +
           temp_db_int(w->reader, &count_agents, DB_NO_ARGS);
}

/* Whichever call fails, a report is stored whole or not at all, and its agent with it. */
TEST(a_report_is_all_or_nothing_whichever_call_fails)
{
    static const enum err_code codes[] = { ERR_FULL, ERR_IO, ERR_CONFLICT };
    static const int64_t rows[] = { 2 + 1 + 1 + 1, 1 + 1 };
    static const int calls[] = { 7, 3 }; /* begin, run, rows, undeclared, commit at the least */

    for (size_t i = 0; i < COUNT_OF(channels) * COUNT_OF(codes); i++) {
        size_t channel = i % COUNT_OF(channels);
        bool more = true;
        int fired = 0;

        for (int nth = 0; more; nth++) {
            struct world w;
            char letter;

            world_init(&w, nth, codes[i / COUNT_OF(channels)]);
            letter = channels[channel].send(&w, 0, "a");
            writer_free(w.writer);
            w.writer = NULL;
            more = db_fault_fired(w.fault);
            fired += more;
            CHECK_INT(letter, more ? '!' : 'A');
            CHECK_INT(stored(&w), more ? 0 : rows[channel]);
            world_done(&w);
        }
        CHECK(fired >= calls[channel]);
    }
}
