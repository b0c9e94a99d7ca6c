/* fleet.h - agents as front ends read them: state, declarations and runs. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "features/agents/schedules/schedules.h"

struct db;
struct agent_cache;
struct directives_cache;
struct tenant_entry;

/* Whose agents are read, and with which data in memory. */
struct fleet_view {
    const struct tenant_entry *tenant;
    struct agent_cache *cache;
    struct directives_cache *directives;
    int64_t now_us;         /* wall clock */
    struct windows windows; /* of the tenant: filled in by the functions below */
};

/* An agent; its name lives until the call returns. */
struct fleet_state {
    struct str agent_name;
    enum liveness_state state;
    int64_t last_seen_at; /* TIME_NULL */
};

typedef void fleet_state_fn(void *ctx, const struct fleet_state *agent);

/* Calls `fn` with the tenant's agents by name, in one snapshot: all of them, or the first 10,000
 * with *ret_more. */
int fleet_walk(struct db *db, const struct fleet_view *view, fleet_state_fn *fn, void *ctx,
               bool *ret_more, struct error *err) MUST_CHECK;
