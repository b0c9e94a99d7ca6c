/* fleet.h - agents as front ends read them: state, declarations and runs. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "features/agents/schedules/windows.h"

struct agent_detail;
struct agent_list;
struct agent_listed;
struct agents_query;
struct db;
struct last_seen;
struct directives_cache;
struct tenant_entry;

/* Whose agents are read, and with which data in memory. */
struct fleet_view {
    const struct tenant_entry *tenant;
    struct last_seen *last_seen;
    struct directives_cache *directives;
    int64_t now_us;         /* wall clock */
    struct windows windows; /* of the tenant: filled in by the functions below */
};

/* A page of agents; in the arena. By name, one page scans at most 10,000 agents and is limited in
 * size, so it may be short; only a null `next` is the end. In any other order, every page reads
 * what the states of all agents are derived from. */
int fleet_list(struct db *db, const struct fleet_view *view, const struct agents_query *query,
               struct arena *arena, struct agent_list *ret, struct error *err) MUST_CHECK;

/* Called with an agent without its runs; its strings live until the call returns. */
typedef void fleet_agent_fn(void *ctx, const struct agent_listed *agent);

/* Calls `fn` with the tenant's agents by name, in one snapshot: all of them, or the first 10,000
 * with *ret_more. */
int fleet_walk(struct db *db, const struct fleet_view *view, fleet_agent_fn *fn, void *ctx,
               bool *ret_more, struct error *err) MUST_CHECK;

/* One agent in full, in the arena. ERR_NOT_FOUND. */
int fleet_agent(struct db *db, const struct fleet_view *view, struct str agent_name,
                struct arena *arena, struct agent_detail *ret, struct error *err) MUST_CHECK;
