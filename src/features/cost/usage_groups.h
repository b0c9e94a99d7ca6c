/* usage_groups.h - sums usage into groups and keeps the most expensive ones.
 *
 * Open groups are in a table. usage_groups_settle() moves them to the result,
 * which has a fixed size: when it is full, the cheapest groups are dropped. So
 * memory is bounded for any number of groups, as long as not too many are open
 * at once.
 *
 * One thread at a time.
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "features/agents/agents.h"
#include "features/cost/cost.h"

/* Open groups. */
enum { USAGE_OPEN_MAX = 100000 };

/* The key of a group; members not grouped by are 0 or STR_NULL. */
struct usage_key {
    struct str model, run_id, version;
    int64_t agent_id;
    int64_t day; /* its start */
};

struct usage_entry {
    struct usage_key key;
    struct str agent_name; /* STR_NULL when not grouped by */
    struct cost_sum sum;
};

struct usage_groups {
    bool by_day;
    const struct agent_name *agents; /* sorted by agent_id; NULL: not grouped by */
    size_t n_agents;

    struct map open;         /* key -> struct usage_entry */
    struct arena open_arena; /* of the open groups */
    struct buf key;          /* scratch space for a lookup */
    bool too_many;           /* more than USAGE_OPEN_MAX were open: the result is invalid */

    struct usage_entry *kept;
    size_t n_kept;
    struct arena arenas[2]; /* of the strings in `kept`: one in use, one to move to */
    bool truncated;
};

/* Borrows the agents. */
void usage_groups_init(struct usage_groups *g, const struct agent_name *agents, size_t n_agents,
                       bool by_day);

void usage_groups_done(struct usage_groups *g);

/* The group's sum, to add to; NULL when too many groups are open. Copies the key. */
struct cost_sum *usage_groups_at(struct usage_groups *g, const struct usage_key *key);

/* The open groups are complete. */
void usage_groups_settle(struct usage_groups *g);

/* Settles and sorts `kept`, at most USAGE_GROUPS_MAX groups: by day if grouped by day, then the
 * most expensive first and unpriced ones last, then by names (bytes). */
void usage_groups_finish(struct usage_groups *g);
