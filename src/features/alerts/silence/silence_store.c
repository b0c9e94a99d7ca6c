/* silence_store.c - SQL of the facts that decide whether an agent is silent. */
#include "features/alerts/silence/silence_store.h"

#include <assert.h>

#include "base/clock.h"
#include "db/id_list.h"
#include "features/agents/schedules/store.h"
#include "shape/rows.h"
#include "shape/table.h"

enum { COUNTS_MAX = 10000 }; /* tenants of one portion, on Citus */

/* clang-format off */
#define FACTS                                                                                      \
    "SELECT a.tenant_id, a.agent_id, a.interval_seconds, s.last_seen_at, a.muted_until,"           \
    " l.alert_id, l.since_at, l.opened_at, l.limit_seconds," SCHEDULE_COLUMNS ","                   \
    " CASE WHEN a.deleted_at IS NULL THEN a.enabled ELSE 0 END AS enabled,"                        \
    " CASE WHEN a.deleted_at IS NULL THEN 0 ELSE 1 END AS deleted"
#define FROM                                                                                       \
    " FROM agents a"                                                                               \
    " JOIN agent_signs s ON s.tenant_id = a.tenant_id AND s.agent_id = a.agent_id" SCHEDULE_JOIN   \
    " LEFT JOIN alerts l ON l.tenant_id = a.tenant_id AND l.type = 'agent.silent'"                 \
    " AND l.agent_id = a.agent_id AND l.subject = '' AND l.open = 1"

ROW_TABLE(silence_row,
    INT(tenant_id), INT(agent_id), STR(agent_name), BOOL(enabled), BOOL(deleted),
    OPT_INT(interval_seconds), TIME(last_seen_at), TIME(muted_until), STR(alert_id),
    TIME(since_at), TIME(opened_at), OPT_INT(limit_seconds),
    EMBEDDED(schedule, OPT_INT(every_seconds), STR(cron), STR(time_zone), OPT_INT(grace_seconds), BOOL(paused),
        TIME(scheduled_at)));

ROW_TABLE(silent_agent, INT(tenant_id), INT(agent_id));

/* Of those with an interval, not the ones seen so lately that nothing is due before $2. In seconds, and
 * nothing is added to a declared interval, which may be any number. A time of the future ($1 is now) is
 * for others to judge. */
#define INTERVAL "COALESCE(c.every_seconds, a.interval_seconds)"
#define ARE_NEAR                                                                                    \
    " AND ((a.enabled = 1 AND a.deleted_at IS NULL AND (c.cron IS NOT NULL"                         \
    " OR (" INTERVAL " > 0 AND NOT (s.last_seen_at <= CAST($1 AS BIGINT)"                           \
    " AND " INTERVAL " > CAST($2 AS BIGINT) - s.last_seen_at / 1000000))))"                         \
    " OR l.alert_id IS NOT NULL)"                                                                  \
    " ORDER BY s.tenant_id, s.agent_id"
/* The range is said of both tables: PostgreSQL would read one as a whole that is joined by ids alone. And
 * not as (tenant_id, agent_id) > ($3, $4): it guesses badly how many these are. */
DB_ROWS_QUERY(near_of_tenants, silence_row,
    FACTS FROM " WHERE a.tenant_id >= $3 AND a.tenant_id <= $4"
    " AND s.tenant_id >= $3 AND s.tenant_id <= $4" ARE_NEAR);
DB_ROWS_QUERY(near_of_tenant, silence_row,
    FACTS FROM " WHERE a.tenant_id = $3 AND a.agent_id > $4 AND a.agent_id <= $5"
    " AND s.tenant_id = $3 AND s.agent_id > $4 AND s.agent_id <= $5" ARE_NEAR);
DB_ROWS_QUERY(select_open, silent_agent,
    "SELECT tenant_id, agent_id FROM alerts WHERE type = 'agent.silent' AND subject = '' AND open = 1");
static const struct db_query hold = {
    .row = &silence_row,
    .sqlite = FACTS ", COALESCE(a.full_name, a.agent_name) AS agent_name" FROM
              " WHERE a.tenant_id = $1 AND a.agent_id = $2",
    .postgres = FACTS ", COALESCE(a.full_name, a.agent_name) AS agent_name" FROM
                " WHERE a.tenant_id = $1 AND a.agent_id = $2 FOR UPDATE OF s",
};
/* Tenants and agents in two lists, and the place in them, from 1 on. */
static const struct db_query select_seen = {
    .sqlite = "SELECT t.key + 1, s.last_seen_at FROM json_each($1) t CROSS JOIN json_each($2) a ON a.key = t.key"
              " CROSS JOIN agent_signs s ON s.tenant_id = t.value AND s.agent_id = a.value",
    .postgres = "SELECT u.place, s.last_seen_at FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY"
                " AS u(tenant_id, agent_id, place)"
                " JOIN agent_signs s ON s.tenant_id = u.tenant_id AND s.agent_id = u.agent_id",
};
DB_QUERY(select_tenant,
    "SELECT tenant_id FROM agent_signs WHERE tenant_id >= $1"
    " ORDER BY tenant_id, agent_id LIMIT 1 OFFSET $2");
DB_QUERY(select_counts,
    "SELECT tenant_id, agents FROM agent_counts WHERE tenant_id >= $1 ORDER BY tenant_id LIMIT $2");
DB_QUERY(select_nth,
    "SELECT agent_id FROM agent_signs WHERE tenant_id = $1 AND agent_id > $2"
    " ORDER BY agent_id LIMIT 1 OFFSET $3");
/* clang-format on */

int store_silences(struct db *db, const struct silence_span *span, struct arena *arena,
                   struct list *ret, struct error *err)
{
    const struct db_value now = db_int(span->now), until = db_int(span->until / USEC_PER_SEC);
    const struct agent_range *r = &span->agents;
    const bool whole = r->after_agent == 0 && r->last_agent == INT64_MAX;

    assert(whole || r->first_tenant == r->last_tenant);
    if (whole)
        return rows_list(db, &near_of_tenants,
                         DB_ARGS(now, until, db_int(r->first_tenant), db_int(r->last_tenant)),
                         arena, ret, err);
    return rows_list(
        db, &near_of_tenant,
        DB_ARGS(now, until, db_int(r->first_tenant), db_int(r->after_agent), db_int(r->last_agent)),
        arena, ret, err);
}

int store_silence_open(struct db *db, struct arena *arena, struct list *ret, struct error *err)
{
    return rows_list(db, &select_open, DB_NO_ARGS, arena, ret, err);
}

int store_silence_hold(struct db *db, int64_t tenant_id, int64_t agent_id, struct arena *arena,
                       struct silence_row *ret, struct error *err)
{
    return rows_one(db, &hold, DB_ARGS(db_int(tenant_id), db_int(agent_id)), arena, ret, err);
}

struct seen {
    int64_t *times;
    size_t n;
};

static bool read_seen(void *ctx, const struct db_row *row)
{
    const struct seen *seen = ctx;
    const int64_t place = db_get_int(row, 0);

    if (place > 0 && (uint64_t)place <= seen->n)
        seen->times[place - 1] = rows_time(row, 1);
    return true;
}

int store_silence_seen(struct db *db, const struct silent_agent *agents, size_t n, int64_t *ret,
                       struct error *err)
{
    struct seen seen = { ret, n };
    ARENA_SCOPED(arena);
    int64_t *tenants = arena_alloc(&arena, 2 * n * sizeof(*tenants)), *ids = tenants + n;

    for (size_t i = 0; i < n; i++) {
        tenants[i] = agents[i].tenant_id;
        ids[i] = agents[i].agent_id;
        ret[i] = TIME_NULL;
    }
    return db_exec(db, &select_seen,
                   DB_ARGS(db_id_list(db, tenants, n, &arena), db_id_list(db, ids, n, &arena)),
                   read_seen, &seen, err);
}

struct counting {
    int64_t left;      /* agents that still fit */
    int64_t tenant_id; /* the first tenant that did not, or the one after all that were looked at */
    bool full;
    size_t n;
};

static bool read_count(void *ctx, const struct db_row *row)
{
    struct counting *c = ctx;
    const int64_t agents = db_get_int(row, 1);

    c->n++;
    c->full = agents > c->left;
    c->tenant_id = db_get_int(row, 0) + (c->full ? 0 : 1);
    c->left -= agents;
    return !c->full;
}

int store_silence_tenant(struct db *db, int64_t tenant_id, int64_t n, int64_t *ret,
                         struct error *err)
{
    struct counting c = { .left = n };

    *ret = INT64_MAX;
    if (!db_is_distributed(db))
        return db_exec(db, &select_tenant, DB_ARGS(db_int(tenant_id), db_int(n)), db_read_int, ret,
                       err);
    if (db_exec(db, &select_counts, DB_ARGS(db_int(tenant_id), db_int(COUNTS_MAX)), read_count, &c,
                err) != 0)
        return -1;
    if (c.full || c.n == COUNTS_MAX)
        *ret = c.tenant_id;
    return 0;
}

int store_silence_nth(struct db *db, const struct silent_agent *after, int64_t n, int64_t *ret,
                      struct error *err)
{
    assert(n > 0);
    *ret = INT64_MAX;
    return db_exec(db, &select_nth,
                   DB_ARGS(db_int(after->tenant_id), db_int(after->agent_id), db_int(n - 1)),
                   db_read_int, ret, err);
}
