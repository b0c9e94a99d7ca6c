/* store.c - SQL of schedules and maintenance windows. */
#include "features/agents/schedules/store.h"

#include "base/clock.h"
#include "base/zone.h"
#include "shape/rows.h"
#include "shape/table.h"

enum {
    ENDED_MAX = 50, /* windows kept that are not listed, per tenant */
    WEEK_BITS = 0x7f,
    DAY_MINUTES = 1440,
};

/* clang-format off */
ROW_TABLE(window_row,
    INT(tenant_id), STR(window_id), OPT_INT(agent_id), STR(agent_name), STR(note),
    TIME(from_at), TIME(until_at), INT(weekdays), INT(start_minute), INT(minutes),
    STR(time_zone), TIME(created_at), STR(created_by), BOOL(ended));

DB_RUN_FN(schedule_put, (int64_t tenant_id, int64_t agent_id, const struct schedule_row *row),
    (db_int(tenant_id), db_int(agent_id), rows_opt_int_value(row->every_seconds),
     db_text(row->cron), db_text(row->time_zone), rows_opt_int_value(row->grace_seconds),
     db_int(row->paused), db_int(row->scheduled_at)),
    "INSERT INTO agent_schedules (tenant_id, agent_id, every_seconds, cron, time_zone,"
    " grace_seconds, paused, scheduled_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
    " ON CONFLICT (tenant_id, agent_id) DO UPDATE SET every_seconds = excluded.every_seconds,"
    " cron = excluded.cron, time_zone = excluded.time_zone,"
    " grace_seconds = excluded.grace_seconds, paused = excluded.paused,"
    " scheduled_at = excluded.scheduled_at");
#define WINDOW_COLUMNS                                                                             \
    "w.tenant_id, w.window_id, w.agent_id, w.note, w.from_at, w.until_at, w.weekdays,"             \
    " w.start_minute, w.minutes, w.time_zone, w.created_at, w.created_by, w.ended"
ROWS_LIST_FN(windows_list, window_row, (int64_t tenant_id), (db_int(tenant_id)),
    "SELECT " WINDOW_COLUMNS ", COALESCE(a.full_name, a.agent_name) AS agent_name"
    " FROM maintenance_windows w LEFT JOIN agents a"
    " ON a.tenant_id = w.tenant_id AND a.agent_id = w.agent_id"
    " WHERE w.tenant_id = $1 ORDER BY w.window_id");
DB_ROWS_QUERY(select_all_windows, window_row,
    "SELECT " WINDOW_COLUMNS " FROM maintenance_windows w ORDER BY w.tenant_id, w.window_id");
DB_RUN_FN(window_add, (const struct window_row *row),
    (db_int(row->tenant_id), db_text(row->window_id), rows_opt_int_value(row->agent_id),
     db_text(row->note), rows_time_value(row->from_at), rows_time_value(row->until_at),
     db_int(row->weekdays), db_int(row->start_minute), db_int(row->minutes),
     db_text(row->time_zone), db_int(row->created_at), db_text(row->created_by)),
    "INSERT INTO maintenance_windows (tenant_id, window_id, agent_id, note, from_at,"
    " until_at, weekdays, start_minute, minutes, time_zone, created_at, created_by, ended)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 0)");
DB_RUN_FN(window_delete, (int64_t tenant_id, struct str window_id),
    (db_int(tenant_id), db_text(window_id)),
    "DELETE FROM maintenance_windows WHERE tenant_id = $1 AND window_id = $2");
DB_RUN_FN(window_close, (const struct window_row *row),
    (db_int(row->tenant_id), db_text(row->window_id), db_int(row->from_at),
     db_int(row->until_at)),
    "UPDATE maintenance_windows SET from_at = $3, until_at = $4, weekdays = 0, ended = 1"
    " WHERE tenant_id = $1 AND window_id = $2");
DB_QUERY(prune_past,
    "UPDATE maintenance_windows SET ended = 1"
    " WHERE tenant_id = $1 AND weekdays = 0 AND ended = 0 AND until_at < $2");
DB_QUERY(prune_ended,
    "DELETE FROM maintenance_windows WHERE tenant_id = $1 AND ended = 1 AND until_at <"
    " (SELECT MIN(until_at) FROM (SELECT until_at FROM maintenance_windows"
    " WHERE tenant_id = $1 AND ended = 1 ORDER BY until_at DESC LIMIT $2) AS newest)");
/* clang-format on */

struct window window_of(const struct window_row *row)
{
    const struct zone *zone = str_is_null(row->time_zone) ? NULL : zone_find(row->time_zone);
    struct window w = { .tenant_id = row->tenant_id,
                        .agent_id = row->agent_id.has ? row->agent_id.value : 0,
                        .from_at = row->from_at,
                        .until_at = row->until_at };

    if (row->weekdays == 0)
        return w;
    w.length_us = row->minutes * 60 * USEC_PER_SEC;
    w.endless = row->weekdays == WEEK_BITS && row->minutes >= DAY_MINUTES;
    w.zone = zone == NULL ? zone_find(STR_LIT("UTC")) : zone;
    w.begins = (struct cron){ .minutes = 1ULL << row->start_minute % 60,
                              .hours = 1U << row->start_minute / 60,
                              .days = UINT32_MAX,
                              .months = UINT16_MAX,
                              .weekdays = (uint8_t)row->weekdays };
    return w;
}

int schedules_windows(struct db *db, int64_t tenant_id, struct arena *arena, struct windows *ret,
                      struct error *err)
{
    const struct window_row *rows;
    struct window *items;
    struct list list;

    if ((tenant_id == SCHEDULES_OF_ALL
             ? rows_list(db, &select_all_windows, DB_NO_ARGS, arena, &list, err)
             : windows_list(db, tenant_id, arena, &list, err)) != 0)
        return -1;
    rows = list.items;
    items = ARENA_ARRAY(arena, struct window, list.n);
    for (size_t i = 0; i < list.n; i++)
        items[i] = window_of(&rows[i]);
    *ret = (struct windows){ .items = items, .n = list.n };
    return 0;
}

int windows_prune(struct db *db, int64_t tenant_id, int64_t before, struct error *err)
{
    if (db_run(db, &prune_past, DB_ARGS(db_int(tenant_id), db_int(before)), err) != 0)
        return -1;
    return db_run(db, &prune_ended, DB_ARGS(db_int(tenant_id), db_int(ENDED_MAX)), err);
}
