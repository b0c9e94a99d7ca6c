/* test_directives.c - what an agent is told is the most special of what is set, as soon as it is.
 */
#include "features/agents/directives/directives.h"

#include <pthread.h>
#include <stdatomic.h>

#include "features/access/registry.h"
#include "features/access/tenants.h"
#include "features/agents/directives/store.h"
#include "features/agents/shapes.h"
#include "unit/temp_db.h"

enum { PLATFORM = 0, ACME = 1, OTHER = 2 }; /* ids that the tests give themselves */

struct world {
    struct db *db;
    struct budgets budgets;
    struct registry *registry;
    struct directives_cache *directives;
    struct arena arena;
};

static void note_agent(void *ctx, int64_t tenant_id, int64_t agent_id)
{
    (void)ctx;
    fail_msg("a change is about agent %lld of %lld", (long long)agent_id, (long long)tenant_id);
}

static void note_tenant(void *ctx, int64_t tenant_id)
{
    *(int64_t *)ctx = tenant_id;
}

static int load_directives(void *ctx, struct db *db, const struct change_span *span,
                           struct error *err)
{
    int64_t tenant_id = DIRECTIVES_OF_ALL;
    struct registry_abouts abouts = { note_agent, note_tenant, &tenant_id, false, false, false };

    if (span != NULL && registry_load_abouts(db, *span, &abouts, err) != 0)
        return -1;
    if (span == NULL || abouts.any_directives)
        return directives_cache_load(ctx, db, err);
    return tenant_id == DIRECTIVES_OF_ALL ? 0
                                          : directives_cache_load_tenant(ctx, tenant_id, db, err);
}

static void world_init(struct world *w)
{
    w->db = temp_db_open(temp_db_migrated(), DB_WRITER);
    budgets_init(&w->budgets);
    w->registry = registry_new(&w->budgets);
    w->directives = directives_cache_new();
    registry_on_load(w->registry, load_directives, w->directives);
    arena_init(&w->arena);
}

static void world_done(struct world *w)
{
    arena_done(&w->arena);
    registry_free(w->registry);
    directives_cache_free(w->directives);
    db_close(w->db);
}

static struct directive_key place_of(int64_t tenant, const char *agent)
{
    return (struct directive_key){
        .scope = tenant == PLATFORM ? SCOPE_PLATFORM
                 : agent == NULL    ? SCOPE_WORKSPACE
                                    : SCOPE_AGENT,
        .tenant_id = tenant,
        .agent_name = agent == NULL ? STR_LIT("") : str_of(agent),
    };
}

/* As an administrative change does it: first the one, then the other. */
static void will_change(struct world *w)
{
    CHECK(registry_changed(w->db, NULL) == 0);
}

static void changed(struct world *w)
{
    CHECK(registry_refresh(w->registry, w->db, NULL) == 0);
}

/* "model/source" in effect at the target then; a NULL model unsets. */
static struct str set_model(struct world *w, int64_t tenant, const char *agent, const char *model)
{
    const struct directive_key place = place_of(tenant, agent);
    const struct directive_row set = { .target = place, .model = str_of(model), .updated_at = 1 };
    struct directive_row row;

    will_change(w);
    CHECK(registry_about_directives(w->db, tenant, NULL) == 0);
    CHECK((model == NULL ? directive_remove(w->db, DIRECTIVE_MODEL, &place, NULL)
                         : directive_put(w->db, DIRECTIVE_MODEL, &set, NULL)) == 0);
    changed(w);
    CHECK(directive_in_effect(w->db, DIRECTIVE_MODEL, &place, &w->arena, &row, NULL) == 0);
    if (str_is_null(row.model))
        return STR_LIT("/");
    return arena_printf(&w->arena, "%.*s/%s", STR_ARG(row.model),
                        directive_scope_names[row.target.scope]);
}

/* "model/source" as agents are told. */
static struct str told(struct world *w, int64_t tenant, struct str agent)
{
    struct agent_model model;

    directives_cache_model(w->directives, tenant, agent, &w->arena, &model);
    CHECK(str_eq(model.agent_name, agent));
    CHECK(str_is_null(model.model) == str_is_null(model.source));
    return arena_printf(&w->arena, "%.*s/%.*s", STR_ARG(model.model), STR_ARG(model.source));
}

/* What is stored without a change of the registry is seen only when its tenant is loaded. */
static void store_unseen(struct world *w, int64_t tenant, const char *model)
{
    const struct directive_row row = { .target = place_of(tenant, NULL),
                                       .model = str_of(model),
                                       .updated_at = 1 };

    CHECK(directive_put(w->db, DIRECTIVE_MODEL, &row, NULL) == 0);
}

TEST(a_change_loads_the_directives_of_its_tenant_alone)
{
    struct world w;

    world_init(&w);
    CHECK_STR(set_model(&w, OTHER, NULL, "first"), "first/workspace");
    CHECK_STR(set_model(&w, ACME, NULL, "mine"), "mine/workspace");
    store_unseen(&w, OTHER, "unseen");
    CHECK_STR(set_model(&w, ACME, NULL, "new"), "new/workspace");
    CHECK_STR(told(&w, ACME, STR_LIT("a")), "new/workspace");
    CHECK_STR(told(&w, OTHER, STR_LIT("a")), "first/workspace");
    will_change(&w); /* of a key, say */
    changed(&w);
    CHECK_STR(told(&w, OTHER, STR_LIT("a")), "first/workspace");

    will_change(&w);
    CHECK(registry_reload(w.db, NULL) == 0);
    changed(&w);
    CHECK_STR(told(&w, OTHER, STR_LIT("a")), "unseen/workspace");
    CHECK_STR(told(&w, ACME, STR_LIT("a")), "new/workspace");
    world_done(&w);
}

TEST(many_tenants_are_loaded_one_by_one_and_then_all_again)
{
    enum { TENANTS = 150 };
    struct world w;

    world_init(&w);
    for (int64_t tenant = 1; tenant <= TENANTS; tenant++)
        (void)set_model(&w, tenant, NULL, "same");
    (void)set_model(&w, TENANTS, NULL, "last");
    for (int64_t tenant = 1; tenant < TENANTS; tenant++)
        CHECK_STR(told(&w, tenant, STR_LIT("a")), "same/workspace");
    CHECK_STR(told(&w, TENANTS, STR_LIT("a")), "last/workspace");
    world_done(&w);
}

struct asker {
    struct directives_cache *directives;
    atomic_bool stop;
    int64_t wrong;
};

/* Every answer is whole: the two models are as long as their letter is repeated. */
static void *ask(void *arg)
{
    struct asker *asker = arg;
    struct arena arena;

    arena_init(&arena);
    while (!atomic_load(&asker->stop)) {
        struct agent_model m;

        directives_cache_model(asker->directives, ACME, STR_LIT("a"), &arena, &m);
        if (!str_is_null(m.model) && !str_eq(m.model, STR_LIT("aaaaaaaaaaaaaaaa")) &&
            !str_eq(m.model, STR_LIT("bb")))
            asker->wrong++;
        arena_reset(&arena);
    }
    arena_done(&arena);
    return NULL;
}

TEST(who_asks_during_a_change_gets_one_or_the_other)
{
    enum { CHANGES = 200 };
    struct asker asker;
    pthread_t thread;
    struct world w;

    world_init(&w);
    asker = (struct asker){ .directives = w.directives };
    CHECK(pthread_create(&thread, NULL, ask, &asker) == 0);
    for (int i = 0; i < CHANGES; i++)
        (void)set_model(&w, ACME, "a", i % 2 == 0 ? "aaaaaaaaaaaaaaaa" : "bb");
    atomic_store(&asker.stop, true);
    (void)pthread_join(thread, NULL);
    CHECK_INT(asker.wrong, 0);
    world_done(&w);
}
