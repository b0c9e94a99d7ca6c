/* test_registrations.c - a registration is stored whole or not at all. */
#include "features/agents/registrations.h"

#include <semaphore.h>

#include "engine/txn.h"
#include "features/access/registry.h"
#include "features/access/tenants.h"
#include "features/agents/shapes.h"
#include "hooks/fault.h"
#include "shape/problems.h"
#include "unit/temp_db.h"

/* clang-format off */
static const struct db_query count_all = {
    .sql = "SELECT (SELECT COUNT(*) FROM agents) + (SELECT COUNT(*) FROM kpis)"
           " + (SELECT COUNT(*) FROM security_catalog)",
};
/* clang-format on */

struct world {
    struct txn txn;
    struct db *real, *fault, *reader;
    struct writer *writer;
    struct tenant_entry tenant;
};

struct sent {
    struct registration_request request;
    sem_t told;
    enum err_code result;
};

static void on_fatal(void *ctx, const struct error *err)
{
    (void)ctx;
    (void)err;
}

static void world_init(struct world *w, int nth, enum err_code code)
{
    const char *url = temp_db_migrated();
    struct writer_options options = {
        .txns = &w->txn,
        .n_txns = 1,
        .limits = { .events_max = 1000, .bytes_max = MIB(1), .group_max = 1000 },
        .on_fatal = on_fatal,
    };
    struct tenant_row tenant = { .slug = STR_LIT("acme"), .name = STR_LIT(""), .max_agents = 1 };

    *w = (struct world){ .real = temp_db_open(url, DB_WRITER) };
    CHECK(tenant_add(w->real, &tenant, NULL) == 0);
    w->tenant.id = tenant.tenant_id;
    w->reader = temp_db_open(url, DB_READER);
    w->fault = db_fault_new(w->real, nth, code);
    w->txn.db = w->fault;
    CHECK(writer_new(&options, &w->writer, NULL) == 0);
}

static void world_done(struct world *w)
{
    writer_free(w->writer);
    db_close(w->fault);
    db_close(w->reader);
    db_close(w->real);
}

static void done(struct writer_job *job, const struct error *err)
{
    struct sent *s = CONTAINER_OF(job, struct sent, request.job);

    s->result = err == NULL ? ERR_NONE : err->code;
    CHECK(sem_post(&s->told) == 0);
}

static bool put(struct world *w, const char *text)
{
    struct agent_register body = { 0 };
    struct sent s = { 0 };
    struct arena arena;

    arena_init(&arena);
    if (shape_read_json(&agent_register_shape, str_of(text), &arena, &body,
                        problems_new(&arena, "body")) != 0)
        fail_msg("%s", text);
    CHECK(sem_init(&s.told, 0, 0) == 0);
    s.request = (struct registration_request){ .tenant = &w->tenant,
                                               .body = &body,
                                               .arena = &arena,
                                               .bytes = strlen(text),
                                               .received_at = 1 };
    registrations_prepare(&s.request);
    s.request.job.done = done;
    CHECK(writer_submit(w->writer, &s.request.job, NULL) == 0);
    while (sem_wait(&s.told) != 0)
        continue;
    (void)sem_destroy(&s.told);
    arena_done(&arena);
    return s.result == ERR_NONE;
}

/* clang-format off */
#define FULL                                                                                       \
    "{\"agent_name\":\"a\",\"agent_version\":\"1\",\"description\":\"d\",\"telemetry_doc\":\"t\"," \
    "\"interval_seconds\":60,\"business_kpis\":[{\"key\":\"x\",\"label\":\"X\"},"                  \
    "{\"key\":\"y\",\"unit\":\"odd\",\"agg\":\"max\"}],\"inputs\":[{\"key\":\"i\"}],"              \
    "\"outputs\":[{\"key\":\"o\",\"type\":\"number\"}],"                                           \
    "\"config_schema\":{\"params\":[{\"key\":\"url\"},{\"key\":\"token\"}]}}"
/* clang-format on */

/* Whichever call fails, a registration is stored whole or not at all, and its agent with it. */
TEST(a_registration_is_all_or_nothing_whichever_call_fails)
{
    bool more = true;
    int fired = 0;

    for (int nth = 0; more; nth++) {
        struct world w;
        bool stored;

        world_init(&w, nth, ERR_FULL);
        stored = put(&w, FULL);
        writer_free(w.writer);
        w.writer = NULL;
        more = db_fault_fired(w.fault);
        fired += more;
        CHECK(stored == !more);
        CHECK_INT(temp_db_int(w.reader, &count_all, DB_NO_ARGS), more ? 0 : 1 + 2 + 2);
        world_done(&w);
    }
    /* begin, seven for the agent, four that declare, two for the catalog, commit */
    CHECK_INT(fired, 15);
}
