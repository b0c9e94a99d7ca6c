/* test_registrations.c - a registration replaces what was declared, whole or not at all, and
 * nothing else. */
#include "features/agents/registrations.h"

#include <semaphore.h>

#include "base/buf.h"
#include "db/name_key.h"
#include "engine/txn.h"
#include "features/access/registry.h"
#include "features/access/tenants.h"
#include "features/agents/shapes.h"
#include "features/agents/store.h"
#include "hooks/fault.h"
#include "shape/problems.h"
#include "unit/temp_db.h"

enum { CAP = 2 };

/* clang-format off */
static const struct db_query all_agents = {
    .sql = "SELECT COALESCE(full_name, agent_name) || ' ' || enabled || ' v' || registered_version"
           " || ' ' || description || ' ' || telemetry_doc || ' ' || COALESCE(interval_seconds, 'null')"
           " || ' ' || COALESCE(inputs, 'null') || ' ' || COALESCE(outputs, 'null') || ' '"
           " || COALESCE(config_schema, 'null') || ' ' || COALESCE(registered_at, 'null')"
           " FROM agents ORDER BY agent_id",
};
static const struct db_query all_kpis = {
    .sql = "SELECT agent_id || ' ' || COALESCE(full_key, key) || ' ' || label || ' ' || unit || ' '"
           " || agg FROM kpis ORDER BY agent_id, key",
};
static const struct db_query all_entries = {
    .sql = "SELECT tenant_id || ' ' || COALESCE(full_key, key) || ' ' || secret || ' ' || edit"
           " || ' ' || see || ' ' || created_at FROM security_catalog ORDER BY tenant_id, key",
};
static const struct db_query count_all = {
    .sql = "SELECT (SELECT COUNT(*) FROM agents) + (SELECT COUNT(*) FROM kpis)"
           " + (SELECT COUNT(*) FROM security_catalog)",
};
/* clang-format on */

struct world {
    struct txn txn;
    struct db *real, *fault, *reader;
    struct writer *writer;
    struct tenant_entry tenants[2];
    struct buf text;
    int64_t now;
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

static void add_tenant(struct world *w, size_t i, const char *slug)
{
    struct tenant_row row = { .slug = str_of(slug), .name = STR_LIT(""), .max_agents = CAP };

    CHECK(store_tenant_add(w->real, &row, NULL) == 0);
    w->tenants[i].id = row.tenant_id;
    w->tenants[i].slug = row.slug;
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

    *w = (struct world){ .real = temp_db_open(url, DB_WRITER) };
    buf_init(&w->text, MIB(1));
    add_tenant(w, 0, "acme");
    add_tenant(w, 1, "other");
    w->reader = temp_db_open(url, DB_READER);
    w->fault = db_fault_new(w->real, nth, code);
    w->txn.db = w->fault;
    CHECK(writer_new(&options, &w->writer, NULL) == 0);
}

static void world_done(struct world *w)
{
    writer_free(w->writer);
    buf_done(&w->text);
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

/* A letter for what became of it: Registered, Updated, cap (C), or ! when it failed. */
static char put(struct world *w, size_t tenant, const char *text)
{
    struct agent_register body = { 0 };
    struct sent s = { 0 };
    struct arena arena;
    char letter;

    arena_init(&arena);
    if (shape_read_json(&agent_register_shape, str_of(text), &arena, &body,
                        problems_new(&arena, "body")) != 0)
        fail_msg("%s", text);
    CHECK(sem_init(&s.told, 0, 0) == 0);
    s.request = (struct registration_request){ .tenant = &w->tenants[tenant],
                                               .body = &body,
                                               .arena = &arena,
                                               .bytes = strlen(text),
                                               .received_at = ++w->now };
    registrations_prepare(&s.request);
    s.request.job.done = done;
    CHECK(writer_submit(w->writer, &s.request.job, NULL) == 0);
    while (sem_wait(&s.told) != 0)
        continue;
    if (s.result != ERR_NONE)
        letter = '!';
    else if (s.request.verdict == VERDICT_AGENT_CAP)
        letter = 'C';
    else
        letter = s.request.is_new ? 'R' : 'U';
    (void)sem_destroy(&s.told);
    arena_done(&arena);
    return letter;
}

static bool add_row(void *ctx, const struct db_row *row)
{
    struct buf *text = ctx;

    if (text->len > 0)
        buf_add_char(text, '\n');
    buf_add(text, db_get_text(row, 0));
    return true;
}

/* The rows, one a line; until the next call. */
static struct str rows(struct world *w, const struct db_query *q)
{
    struct error err = { 0 };

    buf_clear(&w->text);
    if (db_exec(w->reader, q, DB_NO_ARGS, add_row, &w->text, &err) != 0)
        fail_msg("%s", err.text);
    return buf_str(&w->text);
}

/* clang-format off */
#define FULL                                                                                       \
    "{\"agent_name\":\"a\",\"agent_version\":\"1\",\"description\":\"d\",\"telemetry_doc\":\"t\"," \
    "\"interval_seconds\":60,\"business_kpis\":[{\"key\":\"x\",\"label\":\"X\"},"                  \
    "{\"key\":\"y\",\"unit\":\"odd\",\"agg\":\"max\"}],\"inputs\":[{\"key\":\"i\"}],"              \
    "\"outputs\":[{\"key\":\"o\",\"type\":\"number\"}],"                                           \
    "\"config_schema\":{\"params\":[{\"key\":\"url\"},{\"key\":\"token\"}]}}"
/* clang-format on */

TEST(a_registration_replaces_whole_what_was_declared)
{
    struct world w;

    world_init(&w, -1, ERR_NONE);
    CHECK_INT(put(&w, 0, FULL), 'R');
    CHECK_STR(rows(&w, &all_agents),
              "a 1 v1 d t 60 [{\"key\":\"i\",\"type\":\"any\",\"required\":true}] "
              "[{\"key\":\"o\",\"type\":\"number\",\"required\":true}] {\"version\":1,\"params\":["
              "{\"key\":\"url\",\"label\":\"\",\"value_type\":\"string\",\"required\":false,"
              "\"help\":\"\",\"default\":\"\",\"opciones\":[],\"restart_required\":false},"
              "{\"key\":\"token\",\"label\":\"\",\"value_type\":\"string\",\"required\":false,"
              "\"help\":\"\",\"default\":\"\",\"opciones\":[],\"restart_required\":false}]} 1");
    CHECK_STR(rows(&w, &all_kpis), "1 x X count sum\n1 y  odd max");
    CHECK_INT(put(&w, 0, FULL), 'U');
    CHECK_STR(rows(&w, &all_kpis), "1 x X count sum\n1 y  odd max");
    CHECK_INT(put(&w, 0, "{\"agent_name\":\"a\",\"business_kpis\":[{\"key\":\"y\"}]}"), 'U');
    CHECK_STR(rows(&w, &all_agents), "a 1 v   null null null null 3");
    CHECK_STR(rows(&w, &all_kpis), "1 y  count sum");
    CHECK_INT(put(&w, 0, "{\"agent_name\":\"a\"}"), 'U');
    CHECK_STR(rows(&w, &all_kpis), "");
    world_done(&w);
}

/* Each place in the order of keys: before, between and after those that stay. */
TEST(kpis_that_differ_are_replaced_and_others_stay)
{
#define KPI(key, label) "{\"key\":\"" key "\",\"label\":\"" label "\"}"
#define DECLARES(kpis)  "{\"agent_name\":\"a\",\"business_kpis\":[" kpis "]}"
    struct world w;

    world_init(&w, -1, ERR_NONE);
    CHECK_INT(put(&w, 0, DECLARES(KPI("b", "B") "," KPI("d", "D") "," KPI("f", "F"))), 'R');
    CHECK_INT(put(&w, 0, DECLARES(KPI("f", "F") "," KPI("d", "new") "," KPI("b", "B"))), 'U');
    CHECK_STR(rows(&w, &all_kpis), "1 b B count sum\n1 d new count sum\n1 f F count sum");
    CHECK_INT(put(&w, 0, DECLARES(KPI("a", "A") "," KPI("d", "new") "," KPI("g", "G"))), 'U');
    CHECK_STR(rows(&w, &all_kpis), "1 a A count sum\n1 d new count sum\n1 g G count sum");
    CHECK_INT(put(&w, 0, DECLARES(KPI("d ", "E") "," KPI("d", "new"))), 'U');
    CHECK_STR(rows(&w, &all_kpis), "1 d new count sum\n1 d  E count sum");
    CHECK_INT(put(&w, 0, DECLARES(KPI("z", "Z"))), 'U');
    CHECK_STR(rows(&w, &all_kpis), "1 z Z count sum");
    world_done(&w);
#undef KPI
#undef DECLARES
}

TEST(a_disabled_agent_registers_and_stays_disabled)
{
    struct world w;
    int64_t agent_id;

    world_init(&w, -1, ERR_NONE);
    CHECK_INT(put(&w, 0, "{\"agent_name\":\"a\"}"), 'R');
    CHECK(store_agent_enable(w.real, w.tenants[0].id, STR_LIT("a"), false, &agent_id, NULL) == 0);
    CHECK_INT(put(&w, 0, "{\"agent_name\":\"a\",\"description\":\"new\"}"), 'U');
    CHECK_STR(rows(&w, &all_agents), "a 0 v new  null null null null 2");
    world_done(&w);
}

TEST(a_new_agent_counts_against_the_cap_of_its_tenant)
{
    struct world w;

    world_init(&w, -1, ERR_NONE);
    CHECK_INT(put(&w, 0, "{\"agent_name\":\"a\"}"), 'R');
    CHECK_INT(put(&w, 0, "{\"agent_name\":\"b\"}"), 'R');
    CHECK_INT(put(&w, 0,
                  "{\"agent_name\":\"c\",\"business_kpis\":[{\"key\":\"k\"}],"
                  "\"config_schema\":{\"params\":[{\"key\":\"k\"}]}}"),
              'C');
    CHECK_INT(put(&w, 0, "{\"agent_name\":\"a\"}"), 'U');
    CHECK_INT(put(&w, 1, "{\"agent_name\":\"c\"}"), 'R');
    CHECK_INT(temp_db_int(w.reader, &count_all, DB_NO_ARGS), 3);
    world_done(&w);
}

/* Names that differ only where an index entry would not reach are still two. */
TEST(names_of_any_length_are_kept_apart_and_whole)
{
    struct world w;
    struct buf body, expected;

    world_init(&w, -1, ERR_NONE);
    buf_init(&body, MIB(1));
    buf_init(&expected, MIB(1));
    for (int i = 0; i < 2; i++) {
        buf_clear(&body);
        buf_add_c(&body, "{\"agent_name\":\"");
        for (int n = 0; n < 3 * NAME_KEY_MAX; n++)
            buf_add_char(&body, 'x');
        buf_printf(&body, "%d\"}%c", i, 0);
        CHECK_INT(put(&w, 0, body.data), 'R');
        CHECK_INT(put(&w, 0, body.data), 'U');
        if (i > 0)
            buf_add_char(&expected, '\n');
        for (int n = 0; n < 3 * NAME_KEY_MAX; n++)
            buf_add_char(&expected, 'x');
        buf_printf(&expected, "%d 1 v   null null null null %d", i, 2 * i + 2);
    }
    CHECK(str_eq(rows(&w, &all_agents), buf_str(&expected)));
    buf_done(&body);
    buf_done(&expected);
    world_done(&w);
}

/* Everything an agent can say about a parameter, in the hope that it is taken for harmless. */
TEST(no_registration_ever_changes_an_entry_of_the_security_catalog)
{
    /* clang-format off */
    static const char *const members[] = {
        "", ",\"label\":\"public\"", ",\"value_type\":\"integer\"", ",\"value_type\":\"secret\"",
        ",\"value_type\":\"public\"", ",\"required\":true", ",\"help\":\"not secret\"",
        ",\"default\":\"vault:token\"", ",\"opciones\":[\"a\"]", ",\"restart_required\":true",
        ",\"secret\":false", ",\"secret\":true", ",\"secret\":0", ",\"secret\":null",
        ",\"edit\":\"member\"", ",\"edit\":\"agent\"", ",\"see\":\"member\"", ",\"see\":\"admin\"",
        ",\"see\":\"everybody\"", ",\"security\":{\"secret\":false}", ",\"created_at\":0",
        ",\"full_key\":\"other\"", ",\"key\":\"token\"",
    };
    static const char *const shapes[] = {
        "{\"agent_name\":\"a\",\"config_schema\":{\"params\":[{\"key\":\"token\"%s}]}}",
        "{\"agent_name\":\"b\",\"config_schema\":{\"params\":[{\"key\":\"token\"%s}]}}",
        "{\"agent_name\":\"a\",\"config_schema\":{\"version\":99,\"params\":[{\"key\":\"url\"},{\"key\":\"token\"%s}]}}",
    };
    /* clang-format on */
    static const char entries[] = "1 token 1 admin nobody 1\n1 url 0 admin member 1";
    char body[512];
    struct world w;

    world_init(&w, -1, ERR_NONE);
    CHECK_INT(put(&w, 0, FULL), 'R');
    CHECK_STR(rows(&w, &all_entries), entries);
    CHECK(COUNT_OF(members) * COUNT_OF(shapes) >= 50);
    for (size_t i = 0; i < COUNT_OF(members) * COUNT_OF(shapes); i++) {
        const char *shape = shapes[i % COUNT_OF(shapes)];
        const char *hole = strstr(shape, "%s");

        (void)snprintf(body, sizeof(body), "%.*s%s%s", (int)(hole - shape), shape,
                       members[i / COUNT_OF(shapes)], hole + 2);
        CHECK(put(&w, 0, body) != '!');
        CHECK_STR(rows(&w, &all_entries), entries);
    }
    CHECK_INT(put(&w, 0, "{\"agent_name\":\"a\"}"), 'U'); /* nor does silence */
    CHECK_STR(rows(&w, &all_entries), entries);
    CHECK_INT(put(&w, 1, FULL), 'R'); /* each tenant its own */
    (void)snprintf(body, sizeof(body), "%s\n2 token 1 admin nobody %lld\n2 url 0 admin member %lld",
                   entries, (long long)w.now, (long long)w.now);
    CHECK_STR(rows(&w, &all_entries), body);
    world_done(&w);
}

/* Whichever call fails, a registration is stored whole or not at all, and its agent with it. */
TEST(a_registration_is_all_or_nothing_whichever_call_fails)
{
    bool more = true;
    int fired = 0;

    for (int nth = 0; more; nth++) {
        struct world w;
        char letter;

        world_init(&w, nth, ERR_FULL);
        letter = put(&w, 0, FULL);
        writer_free(w.writer);
        w.writer = NULL;
        more = db_fault_fired(w.fault);
        fired += more;
        CHECK_INT(letter, more ? '!' : 'R');
        CHECK_INT(temp_db_int(w.reader, &count_all, DB_NO_ARGS), more ? 0 : 1 + 2 + 2);
        world_done(&w);
    }
    /* begin, seven for the agent, four that declare, two for the catalog, commit */
    CHECK_INT(fired, 15);
}
