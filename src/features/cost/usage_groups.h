/* usage_groups.h - usage gathered into groups, of which the dearest are kept.
 *
 * Groups under way are in a table. usage_groups_settle() moves them to the
 * result, which holds a bounded number: when it is full those that cost least
 * leave it. So memory is bounded however many groups there are, as long as
 * not too many are under way at once.
 *
 * One thread at a time.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "features/agents/store.h"
#include "features/cost/cost.h"

/* Under way at once. */
enum { USAGE_OPEN_MAX = 100000 };

/* What a group is of; what is not grouped by is 0 or STR_NULL. */
struct usage_key {
    struct str model, run_id;
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
    const struct agent_name *agents; /* sorted by number; NULL: not grouped by */
    size_t n_agents;

    struct map open;         /* key -> struct usage_entry */
    struct arena open_arena; /* of those */
    struct buf key;          /* being looked for */
    bool too_many;           /* more than USAGE_OPEN_MAX were under way: what there is, is wrong */

    struct usage_entry *kept;
    size_t n_kept;
    struct arena arenas[2]; /* of their strings: one in use, one to move to */
    bool truncated;
};

/* Borrows the agents. */
void usage_groups_init(struct usage_groups *g, const struct agent_name *agents, size_t n_agents,
                       bool by_day);

void usage_groups_done(struct usage_groups *g);

/* The group's sum, to be added to; NULL when there are too many. Copies the key. */
struct cost_sum *usage_groups_at(struct usage_groups *g, const struct usage_key *key);

/* No more will come for the groups under way. */
void usage_groups_settle(struct usage_groups *g);

/* Settles, and puts what is kept in order: by day where that is grouped by, then the dearest first,
 * what has no price last; then by the names' bytes. At most USAGE_GROUPS_MAX in `kept`. */
void usage_groups_finish(struct usage_groups *g);
