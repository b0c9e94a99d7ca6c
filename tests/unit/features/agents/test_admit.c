/* test_admit.c - when a writer looks an agent up again, and when it need not. */
#include "features/agents/admit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "engine/txn.h"
#include "features/access/tenants.h"
#include "features/agents/agent_cache.h"
#include "features/agents/agents_store.h"
#include "features/metrics.h"
#include "shape/shape.h"
#include "unit/temp_db.h"

enum { WRITERS = 2, CAP = 5, AT = 1000 };

/* One database and two writers of a process, which take turns. */
struct world {
    struct db *db;
    struct agent_cache *cache;
    struct txn txns[WRITERS];
    int64_t tenants[2];
};

static void world_init(struct world *w)
{
    struct tenant_row acme = { .slug = STR_LIT("acme"), .name = STR_LIT(""), .max_agents = CAP };
    struct tenant_row other = { .slug = STR_LIT("other"), .name = STR_LIT(""), .max_agents = CAP };

    *w = (struct world){ .db = temp_db_open(temp_db_migrated(), DB_WRITER),
                         .cache = agent_cache_new() };
    for (size_t i = 0; i < WRITERS; i++) {
        w->txns[i] = (struct txn){ .db = w->db };
        txn_set_part(&w->txns[i], admit_part, admit_new(w->cache));
    }
    CHECK(tenant_add(w->db, &acme, NULL) == 0);
    CHECK(tenant_add(w->db, &other, NULL) == 0);
    w->tenants[0] = acme.tenant_id;
    w->tenants[1] = other.tenant_id;
}

static void world_done(struct world *w)
{
    for (size_t i = 0; i < WRITERS; i++)
        admit_free(admit_of(&w->txns[i]));
    agent_cache_free(w->cache);
    db_close(w->db);
}

static struct admission admit(struct world *w, size_t writer, size_t tenant, const char *name)
{
    const struct applicant agent = { w->tenants[tenant], str_of(name), AT };
    struct admission ret;

    CHECK(admit_agent(&w->txns[writer], &agent, &ret, NULL) == 0);
    return ret;
}

/* Reports of these agents, one letter each, in one transaction; returns how many were looked up. */
static int report(struct world *w, size_t writer, size_t tenant, const char *names)
{
    const uint64_t before = metric_sum(METRIC_AGENT_LOOKUPS);

    CHECK(db_begin(w->db, NULL) == 0);
    for (; *names != '\0'; names++)
        CHECK_INT(admit(w, writer, tenant, (const char[]){ *names, '\0' }).verdict,
                  VERDICT_ACCEPTED);
    CHECK(db_commit(w->db, NULL) == 0);
    admit_committed(&w->txns[writer]);
    return (int)(metric_sum(METRIC_AGENT_LOOKUPS) - before);
}

static enum verdict verdict_on(struct world *w, size_t writer, const char *name)
{
    const enum verdict verdict = admit(w, writer, 0, name).verdict;

    admit_committed(&w->txns[writer]);
    return verdict;
}

TEST(a_change_that_is_rolled_back_changes_nothing)
{
    struct world w;

    world_init(&w);
    CHECK_INT(report(&w, 0, 0, "a"), 1);
    admit_agent_changed(admit_of(&w.txns[0]), w.tenants[0], 1);
    admit_rolled_back(&w.txns[0]);
    CHECK_INT(report(&w, 0, 0, "a"), 0);
    world_done(&w);
}

TEST(a_rollback_forgets_the_agents_of_its_transaction_alone)
{
    struct world w;

    world_init(&w);
    CHECK_INT(report(&w, 0, 0, "ab"), 2);
    CHECK(db_begin(w.db, NULL) == 0);
    CHECK_INT(admit(&w, 0, 0, "a").verdict, VERDICT_ACCEPTED);
    CHECK_INT(admit(&w, 0, 0, "new").verdict, VERDICT_ACCEPTED);
    db_rollback(w.db);
    admit_rolled_back(&w.txns[0]);
    CHECK_INT(report(&w, 0, 0, "ab"), 0);
    CHECK_INT(verdict_on(&w, 0, "new"), VERDICT_ACCEPTED);
    CHECK_INT(temp_db_int(w.db, &(const struct db_query){ .sql = "SELECT COUNT(*) FROM agents" },
                          DB_NO_ARGS),
              3);
    world_done(&w);
}

/* What a slow writer has read before a change is not believed when it comes after it. */
TEST(the_last_change_decides_whether_an_agent_is_enabled_whoever_is_late)
{
    struct world w;
    struct agent_entry *entry;
    int64_t before;

    world_init(&w);
    entry = agent_cache_get(w.cache, 1, 2);
    before = agent_cache_changes(w.cache).n;
    agent_entry_set_enabled(entry, true, before);
    agent_cache_changed(w.cache, 1, 2);
    CHECK(!agent_entry_holds(entry, before));
    agent_entry_set_enabled(entry, false, agent_cache_changes(w.cache).n);
    agent_entry_set_enabled(entry, true, before);
    CHECK(!agent_entry_is_enabled(entry));
    CHECK(agent_entry_holds(entry, agent_cache_changes(w.cache).n));
    world_done(&w);
}

/* A registration's name may be as long as its body. */
TEST(agents_whose_names_are_very_long_are_told_apart)
{
    enum { LONG = MIB(2) };
    char *name = mem_new(LONG + 1);
    int64_t first, second;
    struct world w;

    world_init(&w);
    memset(name, 'n', LONG);
    name[LONG] = '\0';
    first = admit(&w, 0, 0, name).agent_id;
    name[LONG - 1] = 'm';
    second = admit(&w, 0, 0, name).agent_id;
    CHECK(first != 0 && second != 0 && first != second);
    CHECK_INT(admit(&w, 0, 0, name).agent_id, second);
    free(name);
    world_done(&w);
}

struct changer {
    struct agent_cache *cache;
    atomic_bool ends;
};

static void *change_all(void *ctx)
{
    struct changer *changer = ctx;

    while (!atomic_load(&changer->ends))
        agent_cache_all_changed(changer->cache);
    return NULL;
}

/* Otherwise its readings of after the change could be replaced by those of before. With one
 * processor the two seldom meet, and the reads are enough. */
TEST(a_writer_that_knows_of_a_change_for_all_agents_has_counted_it)
{
    enum { MEETINGS = 20000, READS = 10000000 };
    struct changer changer = { .cache = agent_cache_new() };
    pthread_t thread;
    int64_t seen = 0;
    int met = 0;

    atomic_init(&changer.ends, false);
    CHECK_INT(pthread_create(&thread, NULL, change_all, &changer), 0);
    for (int i = 0; met < MEETINGS && (met == 0 || i < READS); i += i < READS) {
        const struct agent_changes changes = agent_cache_changes(changer.cache);

        CHECK(changes.of_all <= changes.n);
        met += changes.of_all != seen;
        seen = changes.of_all;
    }
    atomic_store(&changer.ends, true);
    CHECK_INT(pthread_join(thread, NULL), 0);
    agent_cache_free(changer.cache);
}
