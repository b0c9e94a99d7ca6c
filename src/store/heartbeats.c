/* heartbeats.c - SQL of signs of life. */
#include "store/heartbeats.h"

#include "db/db.h"

/* clang-format off */
static const struct db_query put_process = {
    .sql = "INSERT INTO heartbeats (tenant_id, client_id, first_at, last_at)"
           " VALUES ($1, $2, $3, $3) ON CONFLICT (tenant_id, client_id) DO UPDATE"
           " SET last_at = excluded.last_at WHERE excluded.last_at > heartbeats.last_at",
    .n_args = 3,
};
/* A key is bound to a name that can report, which is short enough to be its own key. */
static const struct db_query put_agent = {
    .sql = "UPDATE agents SET heartbeat_at = $3 WHERE tenant_id = $1 AND agent_name = $2"
           " AND (heartbeat_at IS NULL OR heartbeat_at < $3)",
    .n_args = 3,
};
/* clang-format on */

int store_heartbeat_put(struct db *db, const struct heartbeat *beat, struct error *err)
{
    const struct db_value process[] = { db_int(beat->tenant_id), db_text(beat->client_id),
                                        db_int(beat->received_at) };
    const struct db_value agent[] = { db_int(beat->tenant_id), db_text(beat->agent_name),
                                      db_int(beat->received_at) };

    if (db_exec(db, &put_process, process, NULL, NULL, err) != 0)
        return -1;
    if (str_is_null(beat->agent_name))
        return 0;
    return db_exec(db, &put_agent, agent, NULL, NULL, err);
}
