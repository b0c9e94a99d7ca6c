/* agent_count.c - SQL that keeps how many agents a tenant has. */
#include "features/agents/agent_count.h"

#include <assert.h>

#include "db/db.h"

/* clang-format off */
static const struct db_query lock_tenant = {
    .sqlite = "SELECT max_agents, agents, 0 FROM tenants WHERE tenant_id = $1",
    .postgres = "SELECT max_agents, agents, 0 FROM tenants WHERE tenant_id = $1 FOR NO KEY UPDATE",
    /* the lock was taken by a statement before: this one sees what others stored until then */
    .citus = "SELECT t.max_agents, COALESCE(c.agents, 0), COALESCE(c.lock_xmin, 0) FROM tenants t"
             " LEFT JOIN agent_counts c ON c.tenant_id = t.tenant_id WHERE t.tenant_id = $1",
};
static const struct db_query lock_part = {
    .postgres = "SELECT CAST(CAST(xmin AS TEXT) AS BIGINT) FROM tenant_bytes"
                " WHERE tenant_id = $1 AND part = 64 FOR NO KEY UPDATE",
};
DB_QUERY(add_part,
    "INSERT INTO tenant_bytes (tenant_id, part, bytes) VALUES ($1, 64, 0)"
    " ON CONFLICT (tenant_id, part) DO NOTHING");
DB_QUERY(count_agents, "SELECT COUNT(*) FROM agents WHERE tenant_id = $1 AND deleted_at IS NULL");
static const struct db_query set_agents = {
    .sql = "UPDATE tenants SET agents = $2 WHERE tenant_id = $1",
    .citus = "INSERT INTO agent_counts (tenant_id, agents, lock_xmin) VALUES ($1, $2, $3)"
             " ON CONFLICT (tenant_id)"
             " DO UPDATE SET agents = excluded.agents, lock_xmin = excluded.lock_xmin",
};
static const struct db_query set_all = {
    .postgres = "INSERT INTO agent_counts (tenant_id, agents, lock_xmin)"
                " SELECT tenant_id, COUNT(*), 0 FROM agents WHERE deleted_at IS NULL GROUP BY tenant_id"
                " ON CONFLICT (tenant_id) DO UPDATE SET agents = excluded.agents, lock_xmin = 0",
};
/* A count that would be made again is not looked at. */
static const struct db_query select_low = {
    .sql = "SELECT t.tenant_id, t.agents, COUNT(*) FROM tenants t"
           " JOIN agents a ON a.tenant_id = t.tenant_id WHERE a.deleted_at IS NULL"
           " GROUP BY t.tenant_id, t.agents HAVING COUNT(*) > t.agents",
    .citus = "SELECT c.tenant_id, c.agents, COUNT(*) FROM agent_counts c"
             " JOIN tenant_bytes b ON b.tenant_id = c.tenant_id AND b.part = 64"
             " AND CAST(CAST(b.xmin AS TEXT) AS BIGINT) = c.lock_xmin"
             " JOIN agents a ON a.tenant_id = c.tenant_id WHERE a.deleted_at IS NULL"
             " GROUP BY c.tenant_id, c.agents HAVING COUNT(*) > c.agents",
};
/* clang-format on */

static bool read_count(void *ctx, const struct db_row *row)
{
    *(struct agent_count *)ctx =
        (struct agent_count){ db_get_int(row, 0), db_get_int(row, 1), db_get_int(row, 2) };
    return false;
}

/* *ret is the row's xmin. */
static int lock_row(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err)
{
    const struct db_args tenant = DB_ARGS(db_int(tenant_id));

    *ret = 0;
    if (db_exec(db, &lock_part, tenant, db_read_int, ret, err) != 0)
        return -1;
    if (*ret != 0)
        return 0;
    return db_run(db, &add_part, tenant, err) != 0
               ? -1
               : db_exec(db, &lock_part, tenant, db_read_int, ret, err);
}

int agent_count_lock(struct db *db, int64_t tenant_id, struct agent_count *ret, struct error *err)
{
    const bool distributed = db_is_distributed(db);
    int64_t lock_xmin = 0;
    bool holds;

    *ret = (struct agent_count){ 0 };
    if ((distributed && lock_row(db, tenant_id, &lock_xmin, err) != 0) ||
        db_exec(db, &lock_tenant, DB_ARGS(db_int(tenant_id)), read_count, ret, err) != 0)
        return -1;
    holds = ret->lock_xmin == lock_xmin;
    ret->lock_xmin = lock_xmin;
    return holds ? 0 : agent_count_rows(db, tenant_id, ret, err);
}

static int store(struct db *db, int64_t tenant_id, const struct agent_count *c, struct error *err)
{
    assert(c->lock_xmin != 0 || !db_is_distributed(db)); /* invariant 1 */
    return db_run(db, &set_agents,
                  DB_ARGS(db_int(tenant_id), db_int(c->used), db_int(c->lock_xmin)), err);
}

int agent_count_rows(struct db *db, int64_t tenant_id, struct agent_count *c, struct error *err)
{
    if (db_exec(db, &count_agents, DB_ARGS(db_int(tenant_id)), db_read_int, &c->used, err) != 0)
        return -1;
    return store(db, tenant_id, c, err);
}

int agent_count_add(struct db *db, int64_t tenant_id, struct agent_count *c, int more,
                    struct error *err)
{
    if (c->used + more < 0)
        return 0;
    c->used += more;
    return store(db, tenant_id, c, err);
}

int agent_count_all(struct db *db, struct error *err)
{
    return db_run(db, &set_all, DB_NO_ARGS, err);
}

struct check {
    agent_count_low_fn *on_low;
    void *ctx;
};

static bool pass_low(void *ctx, const struct db_row *row)
{
    const struct check *check = ctx;

    return check->on_low(check->ctx, db_get_int(row, 0), db_get_int(row, 1), db_get_int(row, 2));
}

int agent_count_check(struct db *db, agent_count_low_fn *on_low, void *ctx, struct error *err)
{
    struct check check = { on_low, ctx };

    return db_exec(db, &select_low, DB_NO_ARGS, pass_low, &check, err);
}
