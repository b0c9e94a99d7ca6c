/* distribution.c - the manifest of tables, and moving tables to the servers it names. */
#include "db/distribution.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/mem.h"
#include "db/driver.h"
#include "db/servers.h"

/* clang-format off */
#define CLEAR(name) "SELECT truncate_local_data_after_distributing_table('" name "')"
#define WHOLE(name) { name, "SELECT create_reference_table('" name "')", CLEAR(name) }
#define SPLIT(name, beside)                                                                        \
    { name, "SELECT create_distributed_table('" name "', 'tenant_id', colocate_with => '" beside "')", \
      CLEAR(name) }
#define ONE_SHARD(name, column)                                                                    \
    { name, "SELECT create_distributed_table('" name "', '" column "', colocate_with => 'none', shard_count => 1)", \
      CLEAR(name) }
/* The same for a table that is UNLOGGED on a single PostgreSQL: Citus moves shards by logical
 * replication, which needs the WAL. */
#define LOGGED_SHARD(name, column)                                                                 \
    { name, "ALTER TABLE " name " SET LOGGED;"                                                     \
            "SELECT create_distributed_table('" name "', '" column "', colocate_with => 'none', shard_count => 1)", \
      CLEAR(name) }
#define OF_TENANT(name) SPLIT(name, "agents")

const struct table_place table_places[] = {
    /* Tables that every node of muster reads in full, even while a worker is unavailable. */
    WHOLE("tenants"), WHOLE("change_numbers"), WHOLE("registry_changes"), WHOLE("user_changes"), WHOLE("schema_version"), WHOLE("prices"),
    WHOLE("users"), WHOLE("user_roles"), WHOLE("sessions"), WHOLE("personal_tokens"), WHOLE("user_links"), WHOLE("user_link_roles"), WHOLE("user_factors"),
    WHOLE("recovery_codes"), WHOLE("user_identities"), WHOLE("oidc_groups"),
    WHOLE("keys"), WHOLE("agent_models"),
    WHOLE("command_policies"), WHOLE("alert_rules"),

    /* Tables that are written often and belong to no tenant: one shard, on one server. */
    LOGGED_SHARD("rate_windows", "name"), LOGGED_SHARD("nodes", "node"),
    ONE_SHARD("sign_in_failures", "about"),

    SPLIT("agents", "none"),
    OF_TENANT("agent_signs"), OF_TENANT("agent_counts"), OF_TENANT("agent_documents"), OF_TENANT("agent_schedules"),
    OF_TENANT("maintenance_windows"),
    OF_TENANT("alerts"), OF_TENANT("alert_history"), OF_TENANT("audit_heads"), OF_TENANT("audit_log"),
    OF_TENANT("business_breakdowns"), OF_TENANT("business_rollups"), OF_TENANT("business_runs"),
    OF_TENANT("business_series"), OF_TENANT("business_values"), OF_TENANT("config_values"),
    OF_TENANT("data_keys"), OF_TENANT("deliveries"), OF_TENANT("events"),
    OF_TENANT("event_days"), OF_TENANT("gone_runs"),
    OF_TENANT("heartbeats"), OF_TENANT("kpis"), OF_TENANT("llm_totals"), OF_TENANT("llm_usage"),
    OF_TENANT("messages"), OF_TENANT("retention"), OF_TENANT("runs"), OF_TENANT("secrets"),
    OF_TENANT("security_catalog"), OF_TENANT("stuck_later"), OF_TENANT("stuck_marks"),
    OF_TENANT("tenant_bytes"), OF_TENANT("webhooks"),
};
const size_t n_table_places = COUNT_OF(table_places);

/* A row for each table that exists: a later migration may not have created it yet. */
DB_QUERY(select_place,
    "SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM pg_dist_partition p WHERE p.logicalrelid = c.oid"
    " AND (p.partmethod = 'h' OR p.repmodel = 't')) THEN 1 ELSE 2 END"
    " FROM pg_class c WHERE c.oid = to_regclass(CAST($1 AS TEXT))");
enum { MISSING, LOCAL, DISTRIBUTED }; /* what it says */
/* Of the tables in a list: those that only this server has, and those that are distributed. */
DB_QUERY(count_places,
    "SELECT COUNT(*) FILTER (WHERE p.logicalrelid IS NULL), COUNT(p.logicalrelid)"
    " FROM unnest(string_to_array(CAST($1 AS TEXT), ',')) AS t(name)"
    " JOIN pg_class c ON c.oid = to_regclass(t.name) LEFT JOIN pg_dist_partition p"
    " ON p.logicalrelid = c.oid AND (p.partmethod = 'h' OR p.repmodel = 't')");
DB_QUERY(select_local_size, "SELECT pg_relation_size(to_regclass(CAST($1 AS TEXT)))");
/* Hashes of tenants, and the server that has each range of them; all tables have the same. */
DB_QUERY(select_ranges,
    "SELECT CAST(s.shardminvalue AS BIGINT), CAST(s.shardmaxvalue AS BIGINT), p.groupid"
    " FROM pg_dist_shard s JOIN pg_dist_placement p ON p.shardid = s.shardid"
    " WHERE s.logicalrelid = to_regclass('agents') AND p.shardstate = 1 ORDER BY 1");
/* A local table that refers to a reference table would be managed by Citus too, and could then not
 * be split. Shards are created one after another, since they refer to each other. */
static const char settings[] = "SET citus.enable_local_reference_table_foreign_keys = off;"
                               " SET citus.multi_shard_modify_mode = 'sequential'";
/* clang-format on */

struct places {
    int64_t local, distributed;
};

static bool read_places(void *ctx, const struct db_row *row)
{
    *(struct places *)ctx = (struct places){ db_get_int(row, 0), db_get_int(row, 1) };
    return false;
}

static int find_place(struct db *db, const struct table_place *place, int64_t *ret,
                      struct error *err)
{
    *ret = MISSING;
    return db_exec(db, &select_place, DB_ARGS(db_text(str_of(place->table))), db_read_int, ret,
                   err);
}

/* Of the tables of the manifest. */
static int count_all(struct db *db, struct places *ret, struct error *err)
{
    BUF_SCOPED(names, SIZE_MAX);

    *ret = (struct places){ 0 };
    for (size_t i = 0; i < n_table_places; i++) {
        buf_add_c(&names, i == 0 ? "" : ",");
        buf_add_c(&names, table_places[i].table);
    }
    return db_exec(db, &count_places, DB_ARGS(db_text(buf_str(&names))), read_places, ret, err);
}

int distribution_count(struct db *db, int64_t *ret, struct error *err)
{
    struct places found;
    const int r = count_all(db, &found, err);

    *ret = found.distributed;
    return r;
}

int distribution_check(struct db *db, struct error *err)
{
    struct places found;

    if (!db_has_citus(db))
        return 0;
    if (count_all(db, &found, err) != 0)
        return -1;
    if (found.local == 0 || found.distributed == 0)
        return 0;
    return err_set(err, ERR_SCHEMA,
                   "the tables are distributed in part, %" PRId64 " of %" PRId64
                   ": run `muster cluster enable --database URL` with the coordinator's URL, or "
                   "wait for the one that is running",
                   found.distributed, found.distributed + found.local);
}

int distribution_prepare(struct db *db, struct error *err)
{
    return db_script(db, settings, err);
}

int distribution_run(struct db *db, size_t *ret, struct error *err)
{
    *ret = 0;
    if (distribution_prepare(db, err) != 0)
        return -1;
    for (size_t i = 0; i < n_table_places; i++) {
        int64_t place;

        if (find_place(db, &table_places[i], &place, err) != 0)
            return -1;
        if (place != LOCAL)
            continue;
        if (db_script(db, table_places[i].move, err) != 0)
            return err_wrap(err, "distributing the table %s", table_places[i].table);
        ++*ret;
    }
    return 0;
}

int distribution_clear(struct db *db, struct error *err)
{
    for (size_t i = 0; i < n_table_places; i++) {
        const struct table_place *t = &table_places[i];
        int64_t place, bytes = 0;

        if (find_place(db, t, &place, err) != 0)
            return -1;
        if (place != DISTRIBUTED)
            continue;
        if (db_exec(db, &select_local_size, DB_ARGS(db_text(str_of(t->table))), db_read_int, &bytes,
                    err) != 0)
            return -1;
        if (bytes > 0 && db_script(db, t->clear, err) != 0)
            return err_wrap(err, "clearing the local copy of %s", t->table);
    }
    return 0;
}

struct ranges {
    struct place_range *items;
    size_t n;
};

static bool read_range(void *ctx, const struct db_row *row)
{
    struct ranges *r = ctx;

    if ((r->n & (r->n - 1)) == 0) /* full: the capacity is a power of two */
        r->items = mem_resize(r->items, (r->n == 0 ? 1 : 2 * r->n) * sizeof(*r->items));
    r->items[r->n++] =
        (struct place_range){ db_get_int(row, 0), db_get_int(row, 1), db_get_int(row, 2) + 1 };
    return true;
}

int db_learn_places(struct db *db, struct error *err)
{
    struct ranges ranges = { 0 };
    int r;

    if (!db_is_distributed(db))
        return 0;
    r = db_exec(db, &select_ranges, DB_NO_ARGS, read_range, &ranges, err);
    if (r == 0)
        servers_set_ranges(db->servers, ranges.items, ranges.n);
    free(ranges.items);
    return r;
}
