/* fleet.h - reading agents: how they are doing, what they declared, what they ran. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct agent_detail;
struct agent_list;
struct agents_query;
struct db;
struct last_seen;
struct directives_cache;
struct tenant_entry;

/* Who looks, and by what. */
struct fleet_view {
    const struct tenant_entry *tenant;
    struct last_seen *last_seen;
    struct directives_cache *directives;
    int64_t now_us; /* wall clock */
};

/* A page of agents by name; in the arena. The cost of a page is bounded: one call scans at most
 * 10,000 agents and stops when the answer is long, so a page may have fewer than `limit`; a null
 * `next` marks the last page. */
int fleet_list(struct db *db, const struct fleet_view *view, const struct agents_query *query,
               struct arena *arena, struct agent_list *ret, struct error *err) MUST_CHECK;

/* All of one agent, in the arena. ERR_NOT_FOUND. */
int fleet_agent(struct db *db, const struct fleet_view *view, struct str agent_name,
                struct arena *arena, struct agent_detail *ret, struct error *err) MUST_CHECK;
