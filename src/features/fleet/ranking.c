/* ranking.c - all agents of a tenant in any order, counted by state. */
#include "features/fleet/ranking.h"

#include <stdlib.h>

#include "base/mem.h"
#include "db/db.h"
#include "features/access/registry.h"
#include "features/agents/agent_cache.h"
#include "features/agents/liveness.h"
#include "features/fleet/fleet.h"
#include "features/fleet/store.h"

/* What a person should look at first. */
static const enum liveness_state by_trouble[] = {
    LIVENESS_SILENT, LIVENESS_LATE,        LIVENESS_NEVER_REPORTED,
    LIVENESS_UP,     LIVENESS_UNSCHEDULED, LIVENESS_DISABLED,
};

_Static_assert(sizeof(by_trouble) / sizeof(*by_trouble) == LIVENESS_STATES, "each state once");

struct ranked {
    int64_t agent_id;
    int64_t last_seen_at; /* TIME_NULL */
};

/* Agents that were added by name. By trouble there is a rank for each state; by agent, one; by last
 * seen, one for those that were seen and one for the others. */
struct rank {
    struct ranked *agents;
    size_t n, room;
};

struct scan {
    const struct fleet_view *view;
    const struct agents_query *query;
    struct rank ranks[LIVENESS_STATES]; /* the first is listed first */
    size_t counts[LIVENESS_STATES];
};

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

bool fleet_name_matches(const struct agents_query *query, struct str agent_name)
{
    const struct str part = query->q;

    if (str_is_null(part))
        return true;
    for (size_t at = 0; at + part.len <= agent_name.len; at++) {
        size_t n = 0;

        while (n < part.len && lower(agent_name.data[at + n]) == lower(part.data[n]))
            n++;
        if (n == part.len)
            return true;
    }
    return false;
}

static void add_to_rank(struct rank *rank, const struct ranked *agent)
{
    rank->agents = mem_grow(rank->agents, rank->n, &rank->room, sizeof(*rank->agents));
    rank->agents[rank->n++] = *agent;
}

/* The rank that the agent belongs to. */
static size_t place_of(const struct scan *scan, enum liveness_state state, int64_t last_seen_at)
{
    size_t place = 0;

    if (scan->query->order == AGENTS_BY_LAST_SEEN)
        return last_seen_at == TIME_NULL;
    if (scan->query->order != AGENTS_BY_TROUBLE)
        return 0;
    while (by_trouble[place] != state)
        place++;
    return place;
}

static void add_agent(void *ctx, const struct fleet_sign *sign)
{
    struct scan *scan = ctx;
    const struct fleet_view *view = scan->view;
    const struct liveness facts = {
        .enabled = sign->enabled,
        .schedule = schedule_of(&sign->interval_seconds, &sign->schedule),
        .windows = { view->windows.items, view->windows.n, sign->agent_id },
        .last_seen_at = agent_cache_last_seen(view->cache, view->tenant->id, sign->agent_id,
                                              sign->last_seen_at, view->now_us),
        .state_only = true,
    };
    enum liveness_state state;

    if (!fleet_name_matches(scan->query, sign->agent_name))
        return;
    state = liveness_of(&facts, view->now_us).state;
    scan->counts[state]++;
    if (scan->query->state < 0 || scan->query->state == (int)state)
        add_to_rank(&scan->ranks[place_of(scan, state, facts.last_seen_at)],
                    &(struct ranked){ sign->agent_id, facts.last_seen_at });
}

/* The latest first; at the same time, in an order that stays. */
static int compare_last_seen(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->last_seen_at != y->last_seen_at)
        return x->last_seen_at > y->last_seen_at ? -1 : 1;
    return x->agent_id < y->agent_id ? -1 : x->agent_id > y->agent_id;
}

static void reverse(struct rank *rank)
{
    for (size_t i = 0; i < rank->n / 2; i++) {
        const struct ranked first = rank->agents[i];

        rank->agents[i] = rank->agents[rank->n - 1 - i];
        rank->agents[rank->n - 1 - i] = first;
    }
}

/* Sorts the first rank, which all agents of the orders but trouble are in that have a place. */
static void sort_first(struct scan *scan)
{
    struct rank *rank = &scan->ranks[0];

    if (scan->query->order == AGENTS_BY_TROUBLE || rank->n == 0)
        return;
    if (scan->query->order == AGENTS_BY_LAST_SEEN)
        qsort(rank->agents, rank->n, sizeof(*rank->agents), compare_last_seen);
    if (scan->query->reverse)
        reverse(rank);
}

/* Copies the page of the query out of the ranks. */
static void take_page(const struct scan *scan, struct arena *arena, struct fleet_ranking *ret)
{
    size_t skip = (size_t)scan->query->offset, limit = (size_t)scan->query->limit;

    ret->agent_ids = ARENA_ARRAY(arena, int64_t, limit);
    ret->n = 0;
    for (size_t i = 0; i < LIVENESS_STATES; i++) {
        const struct rank *rank = &scan->ranks[i];

        for (size_t at = skip; at < rank->n && ret->n < limit; at++)
            ret->agent_ids[ret->n++] = rank->agents[at].agent_id;
        skip -= skip < rank->n ? skip : rank->n;
    }
}

static struct agent_counts counts_of(const size_t n[LIVENESS_STATES])
{
    return (struct agent_counts){
        .up = (int64_t)n[LIVENESS_UP],
        .late = (int64_t)n[LIVENESS_LATE],
        .silent = (int64_t)n[LIVENESS_SILENT],
        .unscheduled = (int64_t)n[LIVENESS_UNSCHEDULED],
        .never_reported = (int64_t)n[LIVENESS_NEVER_REPORTED],
        .disabled = (int64_t)n[LIVENESS_DISABLED],
    };
}

int fleet_rank(struct db *db, const struct fleet_view *view, const struct agents_query *query,
               struct arena *arena, struct fleet_ranking *ret, struct error *err)
{
    struct scan scan = { .view = view, .query = query };
    int r = fleet_signs(db, view->tenant->id, add_agent, &scan, err);

    if (r == 0) {
        sort_first(&scan);
        take_page(&scan, arena, ret);
        ret->counts = counts_of(scan.counts);
    }
    for (size_t i = 0; i < LIVENESS_STATES; i++)
        free(scan.ranks[i].agents);
    return r;
}
