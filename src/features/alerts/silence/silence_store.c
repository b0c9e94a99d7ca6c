/* silence_store.c - SQL of the facts that decide whether an agent is silent. */
#include "features/alerts/silence/silence_store.h"

#include "features/agents/schedules/store.h"
#include "shape/rows.h"
#include "shape/table.h"

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

DB_ROWS_QUERY(all_silences, silence_row,
    FACTS FROM " WHERE (a.enabled = 1 AND a.deleted_at IS NULL AND (a.interval_seconds > 0"
    " OR c.every_seconds > 0 OR c.cron IS NOT NULL))"
    " OR l.alert_id IS NOT NULL"
    " ORDER BY a.tenant_id, a.agent_id");
static const struct db_query hold = {
    .row = &silence_row,
    .sqlite = FACTS ", COALESCE(a.full_name, a.agent_name) AS agent_name" FROM
              " WHERE a.tenant_id = $1 AND a.agent_id = $2",
    .postgres = FACTS ", COALESCE(a.full_name, a.agent_name) AS agent_name" FROM
                " WHERE a.tenant_id = $1 AND a.agent_id = $2 FOR UPDATE OF s",
};
/* clang-format on */

int store_silences(struct db *db, struct arena *arena, struct list *ret, struct error *err)
{
    return rows_list(db, &all_silences, DB_NO_ARGS, arena, ret, err);
}

int store_silence_hold(struct db *db, int64_t tenant_id, int64_t agent_id, struct arena *arena,
                       struct silence_row *ret, struct error *err)
{
    return rows_one(db, &hold, DB_ARGS(db_int(tenant_id), db_int(agent_id)), arena, ret, err);
}
