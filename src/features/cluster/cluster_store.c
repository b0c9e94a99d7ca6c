/* cluster_store.c - SQL that asks Citus. */
#include "features/cluster/cluster_store.h"

#include <stdio.h>

#include "db/db.h"
#include "db/distribution.h"
#include "shape/rows.h"
#include "shape/table.h"

/* clang-format off */
ROW_TABLE_OF(cluster_node_row, struct cluster_node,
    STR(name), STR(role), BOOL(active), BOOL(holds), INT(shards));

ROW_TABLE_OF(cluster_moves_row, struct cluster_moves,
    INT(running), STR(unlogged));

ROW_TABLE_OF(cluster_row, struct cluster,
    BOOL(coordinator), BOOL(named));

ROW_TABLE_OF(cluster_sessions_row, struct cluster_sessions,
    INT(sessions), INT(unknown));

DB_QUERY(select_version, "SELECT extversion FROM pg_extension WHERE extname = 'citus'");
DB_ROWS_QUERY(select_cluster, cluster_row,
    "SELECT CASE WHEN l.groupid = 0 THEN 1 ELSE 0 END AS coordinator,"
    " CASE WHEN EXISTS (SELECT 1 FROM pg_dist_node WHERE groupid = 0) THEN 1 ELSE 0 END AS named"
    " FROM pg_dist_local_group l");
/* A URL may give another name; but each writer holds one of the locks of take_slot()
 * (db/postgres/connect.c). */
#define COMMAND "muster cluster command"
#define SESSIONS                                                                                   \
    "SELECT COUNT(*) FROM pg_stat_activity s WHERE datname = current_database()"                   \
    " AND application_name <> '" COMMAND "'"                                                       \
    " AND (application_name = 'muster' OR EXISTS (SELECT 1 FROM pg_locks l WHERE l.pid = s.pid"    \
    " AND l.locktype = 'advisory' AND l.classid = 721198025))"
DB_ROWS_QUERY(select_sessions, cluster_sessions_row,
    "SELECT (" SESSIONS " AND pid <> pg_backend_pid()) +"
    " COALESCE(SUM(CASE WHEN success THEN CAST(result AS BIGINT) END), 0) AS sessions,"
    " COUNT(*) FILTER (WHERE NOT success) AS unknown"
    " FROM run_command_on_workers($$" SESSIONS "$$)");
DB_ROWS_QUERY(select_nodes, cluster_node_row,
    "SELECT n.nodename || ':' || n.nodeport AS name,"
    " CASE WHEN n.groupid = 0 THEN 'coordinator' ELSE 'worker' END AS role,"
    " CASE WHEN n.isactive THEN 1 ELSE 0 END AS active,"
    " CASE WHEN n.shouldhaveshards THEN 1 ELSE 0 END AS holds,"
    " (SELECT COUNT(*) FROM pg_dist_placement p JOIN pg_dist_shard s ON s.shardid = p.shardid"
    " JOIN pg_dist_partition t ON t.logicalrelid = s.logicalrelid"
    " WHERE p.groupid = n.groupid AND t.partmethod = 'h') AS shards"
    " FROM pg_dist_node n WHERE n.noderole = 'primary' ORDER BY n.groupid, n.nodeid");
DB_QUERY(ask_node,
    "SELECT CASE WHEN citus_check_connection_to_node(nodename, nodeport) THEN 1 ELSE 0 END"
    " FROM pg_dist_node WHERE nodename || ':' || nodeport = $1");
DB_ROWS_QUERY(select_moves, cluster_moves_row,
    "SELECT (SELECT COUNT(*) FROM pg_dist_background_job WHERE job_type = 'rebalance'"
    " AND CAST(state AS TEXT) IN ('scheduled', 'running', 'cancelling', 'failing')) AS running,"
    " (SELECT string_agg(n.nodename || ':' || n.nodeport, ', ' ORDER BY n.nodeid)"
    " FROM run_command_on_all_nodes($$SELECT current_setting('wal_level')$$) a"
    " JOIN pg_dist_node n ON n.nodeid = a.nodeid"
    " WHERE n.shouldhaveshards AND a.success AND a.result <> 'logical') AS unlogged");
DB_QUERY(select_broken,
    "SELECT string_agg('from ' || from_nodename || ':' || from_nodeport || ' to ' ||"
    " to_nodename || ':' || to_nodeport, ', ') FROM citus_check_cluster_node_health()"
    " WHERE result IS NOT TRUE");
DB_QUERY(take_lock, "SELECT CASE WHEN pg_try_advisory_lock(7211980252) THEN 1 ELSE 0 END");
/* clang-format on */

/* One that hangs would be waited for by Citus for half a minute. */
static int ask_nodes(struct db *db, int patience_s, const struct list *nodes, struct error *err)
{
    struct cluster_node *node = nodes->items;
    char sql[64];

    (void)snprintf(sql, sizeof(sql), "SET citus.node_connection_timeout = '%ds'", patience_s);
    if (db_script(db, sql, err) != 0)
        return -1;
    for (size_t i = 0; i < nodes->n; i++) {
        int64_t answers = 0;

        if (db_exec(db, &ask_node, DB_ARGS(db_text(node[i].name)), db_read_int, &answers, err) != 0)
            return -1;
        node[i].answers = answers != 0;
    }
    return db_script(db, "RESET citus.node_connection_timeout", err);
}

int cluster_read(struct db *db, int patience_s, struct arena *arena, struct cluster *ret,
                 struct error *err)
{
    struct str version;

    *ret = (struct cluster){ 0 };
    if (rows_one_text(db, &select_version, DB_NO_ARGS, arena, &version, err) != 0)
        return -1;
    if (str_is_null(version))
        return 0;
    if (rows_one(db, &select_cluster, DB_NO_ARGS, arena, ret, err) != 0 ||
        rows_list(db, &select_nodes, DB_NO_ARGS, arena, &ret->nodes, err) != 0 ||
        ask_nodes(db, patience_s, &ret->nodes, err) != 0)
        return -1;
    ret->citus = version;
    ret->tables = (int64_t)n_table_places;
    return distribution_count(db, &ret->distributed, err);
}

int cluster_read_moves(struct db *db, struct arena *arena, struct cluster_moves *ret,
                       struct error *err)
{
    *ret = (struct cluster_moves){ 0 };
    return rows_one(db, &select_moves, DB_NO_ARGS, arena, ret, err);
}

int cluster_introduce(struct db *db, struct error *err)
{
    return db_script(db, "SET application_name = '" COMMAND "'", err);
}

int cluster_broken(struct db *db, struct arena *arena, struct str *ret, struct error *err)
{
    return rows_one_text(db, &select_broken, DB_NO_ARGS, arena, ret, err);
}

int cluster_count_sessions(struct db *db, struct arena *arena, int64_t *ret, struct error *err)
{
    struct cluster_sessions found = { 0 };

    if (rows_one(db, &select_sessions, DB_NO_ARGS, arena, &found, err) != 0)
        return -1;
    if (found.unknown > 0)
        return err_set(err, ERR_UNAVAILABLE,
                       "cannot read from every worker which sessions use the database");
    *ret = found.sessions;
    return 0;
}

int cluster_lock(struct db *db, struct error *err)
{
    int64_t locked = 0;

    if (db_exec(db, &take_lock, DB_NO_ARGS, db_read_int, &locked, err) != 0)
        return -1;
    return locked != 0 ? 0 : err_set(err, ERR_BUSY, "another `muster cluster enable` is running");
}
