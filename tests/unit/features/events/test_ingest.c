/* test_ingest.c - the verdict on each event, and a request stored whole or not at all. */
#include <pthread.h>

#include "features/access/registry.h"
#include "features/access/tenants.h"
#include "features/agents/agent_cache.h"
#include "features/agents/agents_store.h"
#include "features/events/event_log.h"
#include "features/events/ingest.h"
#include "features/events/shapes.h"
#include "hooks/fault.h"
#include "unit/temp_db.h"
#include "unit/txn_parts.h"

enum { EVENTS_MAX = 8, CAP = 3 };

static const struct db_query count_events = { .sql = "SELECT COUNT(*) FROM events" };
static const struct db_query count_runs = { .sql = "SELECT COUNT(*) FROM runs" };
static const struct db_query count_agents = { .sql = "SELECT COUNT(*) FROM agents" };

struct world {
    struct db *real, *fault, *reader;
    struct budgets budgets;
    struct registry *registry;
    struct agent_cache *cache;
    struct event_log *log;
    struct txn txn;
    struct writer *writer;
    struct tenant_entry tenants[2];
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t told;
    bool done;
    enum err_code result;
};

struct sent {
    struct ingest_request request;
    struct world *world;
};

static void on_fatal(void *ctx, const struct error *err)
{
    (void)ctx;
    (void)err;
}

static void add_tenant(struct world *w, size_t i, const char *slug)
{
    struct tenant_row row = {
        .slug = str_of(slug), .name = STR_LIT(""), .max_agents = CAP, .rate_limit = 100
    };

    CHECK(tenant_add(w->real, &row, NULL) == 0);
    w->tenants[i].id = row.tenant_id;
    w->tenants[i].slug = row.slug;
}

static void world_init(struct world *w, int nth, enum err_code code)
{
    const char *url = temp_db_migrated();
    struct writer_options options = {
        .hooks = &txn_parts_hooks,
        .n_txns = 1,
        .limits = { .events_max = 1000, .bytes_max = MIB(1), .group_max = 1000 },
        .on_fatal = on_fatal,
    };

    *w = (struct world){ .real = temp_db_open(url, DB_WRITER) };
    add_tenant(w, 0, "acme");
    add_tenant(w, 1, "other");
    w->reader = temp_db_open(url, DB_READER);
    w->fault = db_fault_new(w->real, nth, code);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->told, NULL);
    budgets_init(&w->budgets);
    w->registry = registry_new(&w->budgets);
    w->cache = agent_cache_new();
    CHECK(event_log_new(w->real, &w->log, NULL) == 0);
    w->txn = txn_parts_new(w->fault, w->log, w->cache);
    options.txns = &w->txn;
    CHECK(writer_new(&options, &w->writer, NULL) == 0);
}

static void world_done(struct world *w)
{
    writer_free(w->writer);
    txn_parts_done(&w->txn);
    w->log->methods->free(w->log);
    agent_cache_free(w->cache);
    registry_free(w->registry);
    db_close(w->fault);
    db_close(w->reader);
    db_close(w->real);
    pthread_cond_destroy(&w->told);
    pthread_mutex_destroy(&w->lock);
}

static void done(struct writer_job *job, const struct error *err)
{
    struct world *w = CONTAINER_OF(job, struct sent, request.job)->world;

    pthread_mutex_lock(&w->lock);
    w->done = true;
    w->result = err == NULL ? ERR_NONE : err->code;
    pthread_cond_signal(&w->told);
    pthread_mutex_unlock(&w->lock);
}

/* "agent/run/id": what matters of an event here. */
static struct telemetry_event event_of(const char *text)
{
    struct str rest = str_of(text);
    struct str agent = str_split(&rest, '/'), run = str_split(&rest, '/');

    return (struct telemetry_event){ .agent_name = agent,
                                     .run_id = run,
                                     .event_id = rest,
                                     .event = EVENT_STARTED,
                                     .agent_version = STR_LIT(""),
                                     .message = STR_LIT(""),
                                     .level = STR_LIT("info"),
                                     .category = STR_LIT(""),
                                     .source = STR_LIT(""),
                                     .metadata = STR_LIT("{}"),
                                     .metrics = STR_LIT("{}"),
                                     .links = STR_LIT("[]") };
}

/* Sends the blank-separated events as one request, waits, and returns a letter for each verdict:
 * Accepted, Duplicate, disabled (X), cap (C); or "!" when it failed. */
static const char *deliver(struct world *w, size_t tenant, const char *events)
{
    static const char letters[] = { [VERDICT_ACCEPTED] = 'A',
                                    [VERDICT_DUPLICATE] = 'D',
                                    [VERDICT_AGENT_DISABLED] = 'X',
                                    [VERDICT_AGENT_CAP] = 'C' };
    static char answer[EVENTS_MAX + 1];
    static char texts[EVENTS_MAX][64];
    struct telemetry_event list[EVENTS_MAX];
    enum verdict verdicts[EVENTS_MAX];
    struct sent sent = { .world = w };
    struct str rest = str_of(events);
    size_t n = 0;

    while (!str_is_null(rest)) {
        struct str text = str_split(&rest, ' ');

        (void)snprintf(texts[n], sizeof(texts[n]), "%.*s", STR_ARG(text));
        list[n] = event_of(texts[n]);
        n++;
    }
    sent.request = (struct ingest_request){ .tenant = &w->tenants[tenant],
                                            .events = list,
                                            .n = n,
                                            .bytes = 100,
                                            .received_at = 1,
                                            .verdicts = verdicts };
    ingest_job_init(&sent.request);
    sent.request.job.done = done;
    w->done = false;
    CHECK(writer_submit(w->writer, &sent.request.job, NULL) == 0);
    pthread_mutex_lock(&w->lock);
    while (!w->done)
        pthread_cond_wait(&w->told, &w->lock);
    pthread_mutex_unlock(&w->lock);
    if (w->result != ERR_NONE)
        return "!";
    for (size_t i = 0; i < n; i++)
        answer[i] = letters[verdicts[i]];
    answer[n] = '\0';
    return answer;
}

TEST(an_event_id_is_accepted_once_whatever_else_differs)
{
    static const struct {
        size_t tenant;
        const char *events, *verdicts;
        int64_t stored;
    } rows[] = {
        { 0, "a/r1/x", "A", 1 },
        { 0, "a/r1/x", "D", 1 },
        { 0, "b/r2/x", "D", 1 },
        { 1, "a/r1/x", "A", 2 },                 /* another tenant's */
        { 0, "a/r1/y a/r1/y a/r9/y", "ADD", 3 }, /* in one request */
        { 0, "a/r1/z a/r1/y a/r1/w", "ADA", 5 },
        { 0, "a/r1/ a/r1/ a/r1/", "AAA", 8 }, /* an empty id is never a duplicate */
        { 0, "a/r1/", "A", 9 },
        { 0, "a/r1/X", "A", 10 }, /* case counts */
    };
    struct world w;

    world_init(&w, -1, ERR_NONE);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_STR(str_of(deliver(&w, rows[i].tenant, rows[i].events)), rows[i].verdicts);
        CHECK_INT(temp_db_int(w.reader, &count_events, DB_NO_ARGS), rows[i].stored);
    }
    CHECK_INT(temp_db_int(w.reader, &count_runs, DB_NO_ARGS), 2); /* a duplicate makes no run */
    world_done(&w);
}

/* Whichever call fails, a request's events are stored whole or not at all. */
TEST(a_request_is_all_or_nothing_whichever_call_fails)
{
    static const enum err_code codes[] = { ERR_FULL, ERR_IO, ERR_CONFLICT };

    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        int fired = 0, nth = 0;
        bool more = true;

        for (; more; nth++) {
            struct world w;
            bool stored;

            world_init(&w, nth, codes[i]);
            stored = strcmp(deliver(&w, 0, "a/r1/1 b/r2/2 a/r1/3"), "AAA") == 0;
            writer_free(w.writer);
            w.writer = NULL;
            more = db_fault_fired(w.fault);
            fired += more;
            CHECK(stored == !more);
            CHECK_INT(temp_db_int(w.reader, &count_events, DB_NO_ARGS), stored ? 3 : 0);
            CHECK_INT(temp_db_int(w.reader, &count_runs, DB_NO_ARGS), stored ? 2 : 0);
            CHECK_INT(temp_db_int(w.reader, &count_agents, DB_NO_ARGS), stored ? 2 : 0);
            world_done(&w);
        }
        CHECK(fired >= 5); /* begin, three inserts, commit at the least: the fault fires */
        CHECK_INT(nth, fired + 1);
    }
}
