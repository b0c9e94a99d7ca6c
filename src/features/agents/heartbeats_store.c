/* heartbeats_store.c - SQL of heartbeats. */
#include "features/agents/heartbeats_store.h"

#include "db/db.h"

enum { PROCESSES_MAX = 10000, FORGOTTEN = 1000 }; /* of a tenant, and how many make room */

/* clang-format off */
DB_QUERY(update_process,
    "UPDATE heartbeats SET last_at = CASE WHEN last_at < $3 THEN $3 ELSE last_at END"
    " WHERE tenant_id = $1 AND client_id = $2");
DB_QUERY(add_process,
    "INSERT INTO heartbeats (tenant_id, client_id, first_at, last_at)"
    " VALUES ($1, $2, $3, $3) ON CONFLICT (tenant_id, client_id) DO UPDATE"
    " SET last_at = excluded.last_at WHERE excluded.last_at > heartbeats.last_at");
DB_QUERY(count_processes, "SELECT COUNT(*) FROM heartbeats WHERE tenant_id = $1");
DB_QUERY(forget_oldest,
    "DELETE FROM heartbeats WHERE tenant_id = $1 AND client_id IN (SELECT h.client_id"
    " FROM heartbeats h WHERE h.tenant_id = $1 ORDER BY h.last_at, h.client_id LIMIT $2)");
/* clang-format on */

/* Those that were not heard of for longest make room, many at once, so that counting them is rare.
 */
static int make_room(struct db *db, int64_t tenant_id, struct error *err)
{
    int64_t n = 0;

    if (db_exec(db, &count_processes, DB_ARGS(db_int(tenant_id)), db_read_int, &n, err) != 0)
        return -1;
    if (n < PROCESSES_MAX)
        return 0;
    return db_run(db, &forget_oldest, DB_ARGS(db_int(tenant_id), db_int(FORGOTTEN)), err);
}

int store_heartbeat_put(struct db *db, const struct heartbeat *beat, struct error *err)
{
    const struct db_args process =
        DB_ARGS(db_int(beat->tenant_id), db_text(beat->client_id), db_int(beat->received_at));

    if (db_run(db, &update_process, process, err) != 0)
        return -1;
    if (db_changes(db) > 0)
        return 0;
    return make_room(db, beat->tenant_id, err) == 0 ? db_run(db, &add_process, process, err) : -1;
}
