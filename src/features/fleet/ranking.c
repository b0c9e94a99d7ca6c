/* ranking.c - all agents of a tenant by state, the ones in trouble first. */
#include "features/fleet/ranking.h"

#include <stdlib.h>

#include "base/mem.h"
#include "db/db.h"
#include "features/access/registry.h"
#include "features/agents/last_seen.h"
#include "features/agents/liveness.h"
#include "features/fleet/fleet.h"
#include "features/fleet/store.h"

/* What a person should look at first. */
static const enum liveness_state by_trouble[] = {
    LIVENESS_SILENT, LIVENESS_LATE,        LIVENESS_NEVER_REPORTED,
    LIVENESS_UP,     LIVENESS_UNSCHEDULED, LIVENESS_DISABLED,
};

_Static_assert(sizeof(by_trouble) / sizeof(*by_trouble) == LIVENESS_STATES, "each state once");

/* The agents of one state, by name. */
struct rank {
    int64_t *agent_ids;
    size_t n, room;
};

struct scan {
    const struct fleet_view *view;
    const struct agents_query *query;
    struct rank ranks[LIVENESS_STATES];
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

static void add_to_rank(struct rank *rank, int64_t agent_id)
{
    if (rank->n == rank->room) {
        rank->room = rank->room == 0 ? 64 : rank->room * 2;
        rank->agent_ids = mem_resize(rank->agent_ids, rank->room * sizeof(*rank->agent_ids));
    }
    rank->agent_ids[rank->n++] = agent_id;
}

static void add_agent(void *ctx, const struct fleet_sign *sign)
{
    struct scan *scan = ctx;
    const struct fleet_view *view = scan->view;
    const struct liveness facts = {
        .enabled = sign->enabled,
        .schedule = schedule_of(&sign->interval_seconds, &sign->schedule),
        .windows = { view->windows.items, view->windows.n, sign->agent_id },
        .last_seen_at = last_seen_latest(view->last_seen, view->tenant->id, sign->agent_id,
                                         sign->last_seen_at, view->now_us),
        .state_only = true,
    };
    enum liveness_state state;

    if (!fleet_name_matches(scan->query, sign->agent_name))
        return;
    state = liveness_of(&facts, view->now_us).state;
    scan->counts[state]++;
    if (scan->query->state < 0 || scan->query->state == (int)state)
        add_to_rank(&scan->ranks[state], sign->agent_id);
}

/* Copies the page of the query out of the ranks. */
static void take_page(const struct scan *scan, struct arena *arena, struct fleet_ranking *ret)
{
    size_t skip = (size_t)scan->query->offset, limit = (size_t)scan->query->limit;

    ret->agent_ids = ARENA_ARRAY(arena, int64_t, limit);
    ret->n = 0;
    for (size_t i = 0; i < LIVENESS_STATES; i++) {
        const struct rank *rank = &scan->ranks[by_trouble[i]];

        for (size_t at = skip; at < rank->n && ret->n < limit; at++)
            ret->agent_ids[ret->n++] = rank->agent_ids[at];
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
    int r = store_fleet_signs(db, view->tenant->id, add_agent, &scan, err);

    if (r == 0) {
        take_page(&scan, arena, ret);
        ret->counts = counts_of(scan.counts);
    }
    for (size_t i = 0; i < LIVENESS_STATES; i++)
        free(scan.ranks[i].agent_ids);
    return r;
}
