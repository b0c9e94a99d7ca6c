/* test_postgres_admit.c - agents that a group announces, while another writer changes them. */
#include "db/migrate.h"
#include "engine/txn.h"
#include "features/access/tenants.h"
#include "features/agents/admit.h"
#include "features/agents/agent_cache.h"
#include "features/agents/agents_store.h"
#include "features/metrics.h"
#include "shape/shape.h"
#include "suite.h"

enum { AT = 1000 };

/* A tenant whose plan has room for one agent, "x", which another writer has added. */
struct world {
    struct db *db;
    struct agent_cache *cache;
    struct txn txn;
    int64_t tenant_id, agent_id;
};

static void commit(struct txn *txn)
{
    CHECK(db_commit(txn->db, NULL) == 0);
    admit_committed(txn);
}

static struct admission admit(const struct world *w, struct txn *txn, const char *name)
{
    const struct applicant agent = { w->tenant_id, str_of(name), AT };
    struct error err = { 0 };
    struct admission ret;

    if (admit_agent(txn, &agent, &ret, &err) != 0)
        fail_msg("%s", err.text);
    return ret;
}

static void world_init(struct world *w)
{
    struct tenant_row tenant = { .slug = STR_LIT("t"), .name = STR_LIT(""), .max_agents = 1 };
    struct txn other;

    *w = (struct world){ .db = suite_open(suite_new_database(), DB_WRITER),
                         .cache = agent_cache_new() };
    CHECK(store_migrate(w->db, NULL) == 0);
    CHECK(tenant_add(w->db, &tenant, NULL) == 0);
    w->tenant_id = tenant.tenant_id;
    w->txn = (struct txn){ .db = w->db };
    txn_set_part(&w->txn, admit_part, admit_new(w->cache));
    other = (struct txn){ .db = w->db };
    txn_set_part(&other, admit_part, admit_new(w->cache));
    CHECK(db_begin(w->db, NULL) == 0);
    w->agent_id = admit(w, &other, "x").agent_id;
    CHECK(w->agent_id != 0);
    commit(&other);
    admit_free(admit_of(&other));
}

static void world_done(struct world *w)
{
    admit_free(admit_of(&w->txn));
    agent_cache_free(w->cache);
    db_close(w->db);
}

/* Begins a group with these agents, one letter each. */
static void announce(struct world *w, const char *names)
{
    struct error err = { 0 };

    CHECK(db_begin(w->db, NULL) == 0);
    for (; *names != '\0'; names++) {
        const struct applicant agent = { w->tenant_id, str_from(names, 1), AT };

        admit_expect(&w->txn, &agent, true);
    }
    if (admit_expected(&w->txn, &err) != 0)
        fail_msg("%s", err.text);
}

TEST(a_known_agent_that_changes_meanwhile_is_not_refused_for_the_cap)
{
    struct world w;

    world_init(&w);
    announce(&w, "yx");
    CHECK_INT(admit(&w, &w.txn, "y").verdict, VERDICT_AGENT_CAP);
    CHECK_INT(admit(&w, &w.txn, "x").verdict, VERDICT_ACCEPTED);
    agent_cache_changed(w.cache, w.tenant_id, w.agent_id); /* by the other writer */
    CHECK_INT(admit(&w, &w.txn, "x").verdict, VERDICT_ACCEPTED);
    CHECK_INT(admit(&w, &w.txn, "y").verdict, VERDICT_AGENT_CAP);
    commit(&w.txn);
    world_done(&w);
}

/* An agent that was announced and not found costs a full tenant one look-up more, not one with each
 * of its reports. */
TEST(a_group_asks_once_for_an_agent_that_a_full_tenant_does_not_have)
{
    struct world w;
    uint64_t before;

    world_init(&w);
    announce(&w, "y");
    before = metric_sum(METRIC_AGENT_LOOKUPS);
    for (int i = 0; i < 3; i++)
        CHECK_INT(admit(&w, &w.txn, "y").verdict, VERDICT_AGENT_CAP);
    CHECK_INT(metric_sum(METRIC_AGENT_LOOKUPS) - before, 1);
    commit(&w.txn);
    world_done(&w);
}
