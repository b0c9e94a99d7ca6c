/* bulk_store.c - SQL that finds or adds the agents of a whole transaction. */
#include "db/name_key.h"
#include "db/postgres/array.h"
#include "features/agents/store.h"
#include "shape/rows.h"

/* clang-format off */
static const struct db_query find_agents = {
    .postgres = "SELECT x.place, a.agent_id, a.enabled, s.last_seen_at, a.interval_seconds"
                " FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS x(tenant_id, agent_name, place)"
                " JOIN agents a ON a.tenant_id = x.tenant_id AND a.agent_name = x.agent_name"
                " JOIN agent_signs s ON s.tenant_id = a.tenant_id AND s.agent_id = a.agent_id"
                " WHERE a.deleted_at IS NULL",
    .citus = "SELECT 0", /* asked one by one */
};
/* Locks the tenants in the order of their numbers, as all writers do, and reads their counts after
 * that; the unique index decides between processes. A name that was deleted is there. */
static const struct db_query add_agents = {
    .postgres = "WITH wanted AS (SELECT * FROM unnest($1::bigint[], $2::text[],"
                " $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])"
                " AS x(tenant_id, agent_name, full_name, first_seen_at, last_seen_at, agent_id)),"
                " asked AS (SELECT tenant_id, COUNT(*) AS n FROM wanted GROUP BY tenant_id),"
                " room AS (SELECT tenant_id, max_agents - agents AS free FROM tenants"
                " WHERE tenant_id = ANY ($1::bigint[]) ORDER BY tenant_id FOR NO KEY UPDATE),"
                " made AS (INSERT INTO agents (tenant_id, agent_name, full_name, enabled,"
                " first_seen_at, agent_id) OVERRIDING SYSTEM VALUE"
                " SELECT w.tenant_id, w.agent_name, w.full_name, 1, w.first_seen_at, w.agent_id FROM wanted w"
                " JOIN asked a ON a.tenant_id = w.tenant_id JOIN room r ON r.tenant_id = w.tenant_id"
                " WHERE a.n <= r.free ORDER BY w.tenant_id, w.agent_name COLLATE \"C\""
                " ON CONFLICT DO NOTHING RETURNING tenant_id, agent_id),"
                " seen AS (INSERT INTO agent_signs (tenant_id, agent_id, last_seen_at)"
                " SELECT m.tenant_id, m.agent_id, w.last_seen_at FROM made m"
                " JOIN wanted w ON w.agent_id = m.agent_id),"
                " counted AS (UPDATE tenants t SET agents = t.agents + m.n FROM (SELECT tenant_id,"
                " COUNT(*) AS n FROM made GROUP BY tenant_id) m WHERE t.tenant_id = m.tenant_id)"
                " SELECT agent_id FROM made",
    .citus = "SELECT 0", /* asked one by one */
};
/* clang-format on */

struct sought {
    struct agent_seek *seeks;
    size_t n;
};

static bool read_found(void *ctx, const struct db_row *row)
{
    const struct sought *sought = ctx;
    const size_t place = (size_t)db_get_int(row, 0);

    if (place < sought->n)
        sought->seeks[place].row = (struct agent_row){ .agent_id = db_get_int(row, 1),
                                                       .enabled = db_get_int(row, 2) != 0,
                                                       .last_seen_at = rows_time(row, 3),
                                                       .interval_seconds = rows_opt_int(row, 4) };
    return true;
}

int store_agents_find(struct db *db, struct agent_seek *seeks, size_t n, struct arena *arena,
                      struct error *err)
{
    struct sought sought = { seeks, n };
    struct db_value args[3];
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(args), arena);

    for (size_t i = 0; i < n; i++) {
        const struct name_key name = store_name_key(seeks[i].agent_name, arena);

        seeks[i].row = (struct agent_row){ 0 };
        pg_arrays_add(&arrays, (const struct db_value[]){ db_int(seeks[i].tenant_id),
                                                          db_text(name.key), db_int((int64_t)i) });
    }
    pg_arrays_args(&arrays, args);
    return db_exec(db, &find_agents, DB_ARGS_OF(args), read_found, &sought, err);
}

/* Their numbers were made in the order of the seeks. */
static bool read_made(void *ctx, const struct db_row *row)
{
    const struct sought *sought = ctx;
    const int64_t agent_id = db_get_int(row, 0);
    size_t first = 0, end = sought->n;

    while (first < end) {
        const size_t middle = first + (end - first) / 2;

        if (sought->seeks[middle].row.agent_id < agent_id)
            first = middle + 1;
        else
            end = middle;
    }
    if (first < sought->n && sought->seeks[first].row.agent_id == agent_id)
        sought->seeks[first].row.enabled = true;
    return true;
}

int store_agents_add(struct db *db, struct agent_seek *seeks, size_t n, struct arena *arena,
                     struct error *err)
{
    struct sought sought = { seeks, n };
    struct db_value args[6];
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(args), arena);
    int r;

    for (size_t i = 0; i < n; i++) {
        const struct name_key name = store_name_key(seeks[i].agent_name, arena);

        seeks[i].row =
            (struct agent_row){ .agent_id = db_number(db),
                                .last_seen_at = seeks[i].seen ? seeks[i].at : TIME_NULL };
        pg_arrays_add(&arrays,
                      (const struct db_value[]){ db_int(seeks[i].tenant_id), db_text(name.key),
                                                 db_text(name.full), db_int(seeks[i].at),
                                                 rows_time_value(seeks[i].row.last_seen_at),
                                                 db_int(seeks[i].row.agent_id) });
    }
    pg_arrays_args(&arrays, args);
    r = db_exec(db, &add_agents, DB_ARGS_OF(args), read_made, &sought, err);
    for (size_t i = 0; i < n; i++)
        if (!seeks[i].row.enabled) /* it was not added */
            seeks[i].row = (struct agent_row){ 0 };
    return r;
}
