/* feature.c - agents' last-seen times, directives and handed out secrets in memory. */
#include "engine/feature.h"

#include <stdlib.h>

#include "base/mem.h"
#include "engine/engine.h"
#include "features/access/access.h"
#include "features/access/registry.h"
#include "features/agents/admit.h"
#include "features/agents/agents.h"
#include "features/agents/config/handouts.h"
#include "features/agents/directives/directives.h"
#include "features/agents/last_seen.h"
#include "features/agents/routes.h"
#include "features/features.h"

enum { SAVE_PERIOD_TICKS = 2 };

struct agents {
    struct last_seen *last_seen;
    struct directives_cache *directives;
    struct handouts *handouts;
    unsigned ticks; /* only the tick uses it */
};

static const struct agents *agents_of(const struct engine *e)
{
    return engine_state(e, &agents_feature);
}

struct last_seen *agents_last_seen(const struct engine *e)
{
    return agents_of(e)->last_seen;
}

struct directives_cache *agents_directives(const struct engine *e)
{
    return agents_of(e)->directives;
}

struct handouts *agents_handouts(const struct engine *e)
{
    return agents_of(e)->handouts;
}

static int load_directives(void *ctx, struct db *db, struct error *err)
{
    return directives_cache_load(ctx, db, err);
}

static int agents_open(struct engine *e, void **ret_state, struct error *err)
{
    struct agents *agents = NEW(struct agents);

    (void)err;
    agents->last_seen = last_seen_new();
    agents->directives = directives_cache_new();
    agents->handouts = handouts_new();
    registry_on_load(access_registry(e), load_directives, agents->directives);
    *ret_state = agents;
    return 0;
}

static int agents_tick(struct engine *e, const struct tick *tick, struct error *err)
{
    struct agents *agents = engine_state(e, &agents_feature);

    (void)tick;
    (void)err;
    if (++agents->ticks % SAVE_PERIOD_TICKS == 0)
        last_seen_save(agents->last_seen, engine_writer(e));
    return 0;
}

static void agents_stop(struct engine *e)
{
    last_seen_save(agents_last_seen(e), engine_writer(e));
}

static void agents_close(void *state)
{
    struct agents *agents = state;

    if (agents == NULL)
        return;
    last_seen_free(agents->last_seen);
    directives_cache_free(agents->directives);
    handouts_free(agents->handouts);
    free(agents);
}

static void agents_txn_open(struct engine *e, struct txn *txn)
{
    txn->admit = admit_new(access_registry(e), agents_last_seen(e));
}

static void agents_txn_close(struct txn *txn)
{
    admit_free(txn->admit);
}

static void agents_txn_committed(struct txn *txn)
{
    admit_expect_none(txn->admit);
}

/* A rollback may have undone the adding of agents; an exclusive job may have changed them. */
static void agents_txn_forget(struct txn *txn)
{
    admit_forget(txn->admit);
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
             .committed = agents_txn_committed,
             .rolled_back = agents_txn_forget,
             .changed = agents_txn_forget },
};
