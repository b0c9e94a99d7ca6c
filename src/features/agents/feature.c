/* feature.c - the agents, their directives and handed out secrets in memory. */
#include "engine/feature.h"
#include "db/servers.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "db/db.h"
#include "engine/engine.h"
#include "engine/writer.h"
#include "features/access/registry.h"
#include "features/access/tenants.h"
#include "features/agents/admit.h"
#include "features/agents/agent_cache.h"
#include "features/agents/agents.h"
#include "features/agents/config/config.h"
#include "features/agents/directives/directives.h"
#include "features/agents/routes.h"
#include "features/features.h"

enum { SAVE_PERIOD_TICKS = 2, CHANGED_TENANTS = 16 };

struct agents {
    struct agent_cache *cache;
    struct directives_cache *directives;
    struct handouts *handouts;
    unsigned ticks; /* only the tick uses it */
};

static const struct agents *agents_of(const struct engine *e)
{
    return engine_state(e, &agents_feature);
}

struct agent_cache *agents_cache(const struct engine *e)
{
    return agents_of(e)->cache;
}

struct directives_cache *agents_directives(const struct engine *e)
{
    return agents_of(e)->directives;
}

struct handouts *agents_handouts(const struct engine *e)
{
    return agents_of(e)->handouts;
}

/* What changes of the registry are about. */
struct changed {
    const struct agents *agents;
    bool again;                       /* rows of agents may be of before the change */
    int64_t tenants[CHANGED_TENANTS]; /* whose directives changed */
    size_t n_tenants;
    bool any_tenants; /* there are more */
};

static void note_directives_changed(void *ctx, int64_t tenant_id)
{
    struct changed *changed = ctx;

    for (size_t i = 0; i < changed->n_tenants; i++)
        if (changed->tenants[i] == tenant_id)
            return;
    if (changed->n_tenants < CHANGED_TENANTS)
        changed->tenants[changed->n_tenants++] = tenant_id;
    else
        changed->any_tenants = true;
}

/* An agent that is deleted takes its directives along. */
static void note_agent_changed(void *ctx, int64_t tenant_id, int64_t agent_id)
{
    struct changed *changed = ctx;

    agent_cache_changed(changed->agents->cache, tenant_id, agent_id);
    agent_cache_set_schedules_changed(changed->agents->cache);
    if (changed->again)
        agent_cache_recheck(changed->agents->cache, tenant_id, agent_id, clock_mono_us());
    note_directives_changed(changed, tenant_id);
}

static int load_directives(const struct changed *changed, bool all, struct db *db,
                           struct error *err)
{
    struct directives_cache *cache = changed->agents->directives;

    if (all || changed->any_tenants)
        return directives_cache_load(cache, db, err);
    for (size_t i = 0; i < changed->n_tenants; i++)
        if (directives_cache_load_tenant(cache, changed->tenants[i], db, err) != 0)
            return -1;
    return 0;
}

/* Loads the directives that changed, and has writers look up the agents that were enabled, disabled
 * or deleted, by whichever process. */
static int agents_on_registry_load(void *ctx, struct db *db, const struct change_span *span,
                                   struct error *err)
{
    struct changed changed = { .agents = ctx, .again = db_is_distributed(db) };
    struct registry_abouts abouts = { .on_agent = note_agent_changed,
                                      .on_directives = note_directives_changed,
                                      .ctx = &changed };

    if (span == NULL)
        abouts.any_agents = abouts.any_directives = abouts.schedules = true;
    else if (registry_load_abouts(db, *span, &abouts, err) != 0)
        return -1;
    if (load_directives(&changed, abouts.any_directives, db, err) != 0)
        return -1;
    if (abouts.schedules)
        agent_cache_set_schedules_changed(changed.agents->cache);
    if (abouts.any_agents)
        agent_cache_all_changed(changed.agents->cache);
    if (abouts.any_agents && changed.again)
        agent_cache_recheck_all(changed.agents->cache, clock_mono_us());
    return 0;
}

static int agents_open(struct engine *e, void **ret_state, struct error *err)
{
    struct agents *agents = NEW(struct agents);

    (void)err;
    agents->cache = agent_cache_new();
    agents->directives = directives_cache_new();
    agents->handouts = handouts_new();
    registry_on_load(access_registry(e), agents_on_registry_load, agents);
    *ret_state = agents;
    return 0;
}

static int agents_tick(struct engine *e, const struct tick *tick, struct error *err)
{
    struct agents *agents = engine_state(e, &agents_feature);
    const bool whole = tick->healthy && !db_any_is_away(engine_watch_db(e));

    (void)err;
    agent_cache_tick(agents->cache, tick->mono_us, whole);
    if (++agents->ticks % SAVE_PERIOD_TICKS == 0)
        agent_cache_save(agents->cache, engine_writer(e));
    return 0;
}

static void agents_stop(struct engine *e)
{
    agent_cache_save(agents_cache(e), engine_writer(e));
}

static void agents_close(void *state)
{
    struct agents *agents = state;

    if (agents == NULL)
        return;
    agent_cache_free(agents->cache);
    directives_cache_free(agents->directives);
    handouts_free(agents->handouts);
    free(agents);
}

static void agents_txn_open(struct engine *e, struct txn *txn)
{
    txn_set_part(txn, admit_part, admit_new(agents_cache(e)));
}

static void agents_txn_close(struct txn *txn)
{
    admit_free(admit_of(txn));
}

const struct feature agents_feature = {
    .name = "agents",
    .about = "Registration and heartbeats of agents; their schedule, model, command policy, "
             "document and configuration.",
    .routes = { register_routes, heartbeat_routes, directive_routes, config_routes, document_routes,
                agent_routes, value_routes, schedule_routes },
    .commands = { agent_commands, config_commands, directive_commands, document_commands,
                  schedule_commands },
    .open = agents_open,
    .tick = agents_tick,
    .stop = agents_stop,
    .close = agents_close,
    .txn = { .open = agents_txn_open,
             .close = agents_txn_close,
             .announced = admit_expected,
             .committed = admit_committed,
             .rolled_back = admit_rolled_back },
};
