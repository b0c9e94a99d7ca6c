/* heartbeats_store.c - SQL of heartbeats. */
#include "features/agents/heartbeats_store.h"

#include "db/db.h"

/* clang-format off */
static const struct db_query put_process = {
    .sql = "INSERT INTO heartbeats (tenant_id, client_id, first_at, last_at)"
           " VALUES ($1, $2, $3, $3) ON CONFLICT (tenant_id, client_id) DO UPDATE"
           " SET last_at = excluded.last_at WHERE excluded.last_at > heartbeats.last_at",
};
/* clang-format on */

int store_heartbeat_put(struct db *db, const struct heartbeat *beat, struct error *err)
{
    const struct db_args process =
        DB_ARGS(db_int(beat->tenant_id), db_text(beat->client_id), db_int(beat->received_at));

    return db_run(db, &put_process, process, err);
}
