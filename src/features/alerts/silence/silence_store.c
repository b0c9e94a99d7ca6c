/* silence_store.c - SQL of the facts that decide whether an agent is silent. */
#include "features/alerts/silence/silence_store.h"

#include "base/clock.h"
#include "features/agents/schedules/schedules.h"
#include "shape/rows.h"
#include "shape/table.h"

/* clang-format off */
#define FACTS                                                                                      \
    "SELECT a.tenant_id, a.agent_id, a.interval_seconds, s.last_seen_at,"           \
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
    OPT_INT(interval_seconds), TIME(last_seen_at), STR(alert_id),
    TIME(since_at), TIME(opened_at), OPT_INT(limit_seconds),
    EMBEDDED(schedule, OPT_INT(every_seconds), STR(cron), STR(time_zone), OPT_INT(grace_seconds), BOOL(paused),
        TIME(scheduled_at)));

/* Of those with an interval, not the ones seen so lately that nothing is due before $2. In seconds, and
 * nothing is added to a declared interval, which may be any number. A time of the future ($1 is now) is
 * for others to judge. */
#define INTERVAL "COALESCE(c.every_seconds, a.interval_seconds)"
ROWS_LIST_FN(silence_store_near, silence_row, (int64_t now, int64_t until),
    (db_int(now), db_int(until / USEC_PER_SEC)),
    FACTS FROM " WHERE (a.enabled = 1 AND a.deleted_at IS NULL AND (c.cron IS NOT NULL"
    " OR (" INTERVAL " > 0 AND NOT (s.last_seen_at <= CAST($1 AS BIGINT)"
    " AND " INTERVAL " > CAST($2 AS BIGINT) - s.last_seen_at / 1000000))))"
    " OR l.alert_id IS NOT NULL ORDER BY s.tenant_id, s.agent_id");
static const struct db_query hold = {
    .row = &silence_row,
    .sqlite = FACTS ", COALESCE(a.full_name, a.agent_name) AS agent_name" FROM
              " WHERE a.tenant_id = $1 AND a.agent_id = $2",
    .postgres = FACTS ", COALESCE(a.full_name, a.agent_name) AS agent_name" FROM
                " WHERE a.tenant_id = $1 AND a.agent_id = $2 FOR UPDATE OF s",
};
/* clang-format on */

int silence_store_hold(struct db *db, int64_t tenant_id, int64_t agent_id, struct arena *arena,
                       struct silence_row *ret, struct error *err)
{
    return rows_one(db, &hold, DB_ARGS(db_int(tenant_id), db_int(agent_id)), arena, ret, err);
}
