/* ranking.h - all agents of a tenant in any order, counted by state. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/fleet/shapes.h"

struct db;
struct fleet_view;

/* The tenant's agents that match the name and state of a query, in its order. Names are compared
 * only while they are read, so 16 bytes are kept for each. */
struct fleet_ranking {
    int64_t *agent_ids; /* the page of the query: `limit` after `offset` */
    size_t n;
    struct agent_counts counts; /* of all states, for agents whose name matches */
};

int fleet_rank(struct db *db, const struct fleet_view *view, const struct agents_query *query,
               struct arena *arena, struct fleet_ranking *ret, struct error *err) MUST_CHECK;

/* Does the agent's name contain the query's text? */
bool fleet_name_matches(const struct agents_query *query, struct str agent_name);
