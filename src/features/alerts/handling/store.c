/* store.c - SQL of acknowledgements, notes, reminders and the history of an alert. */
#include "features/alerts/handling/store.h"

#include "features/alerts/store.h"
#include "shape/rows.h"

/* clang-format off */
DB_QUERY(acknowledge,
    "UPDATE alerts SET acknowledged_at = $3, acknowledged_by = $4"
    " WHERE tenant_id = $1 AND alert_id = $2 AND acknowledged_at IS NULL");
DB_QUERY(unacknowledge,
    "UPDATE alerts SET acknowledged_at = NULL, acknowledged_by = NULL"
    " WHERE tenant_id = $1 AND alert_id = $2 AND acknowledged_at IS NOT NULL");
DB_QUERY(set_note, "UPDATE alerts SET note = $3 WHERE tenant_id = $1 AND alert_id = $2");
DB_QUERY(remind,
    "UPDATE alerts SET reminded_at = $3 WHERE tenant_id = $1 AND alert_id = $2 AND open = 1"
    " AND acknowledged_at IS NULL AND COALESCE(reminded_at, opened_at) = $4");
DB_QUERY(add_entry,
    "INSERT INTO alert_history (tenant_id, alert_id, entry_id, at, what, actor, note)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7)");
ROWS_LIST_FN(store_alert_history, alert_entry_shape, (int64_t tenant_id, struct str alert_id),
    (db_int(tenant_id), db_text(alert_id), db_int(2 * ALERT_HISTORY_MAX + 1)),
    "SELECT entry_id, at, what, actor, note FROM alert_history"
    " WHERE tenant_id = $1 AND alert_id = $2 ORDER BY entry_id LIMIT $3");
/* Of people: reminders are one between two of them at most. */
DB_QUERY(count_entries,
    "SELECT COUNT(*) FROM (SELECT 1 FROM alert_history"
    " WHERE tenant_id = $1 AND alert_id = $2 AND what <> 'reminded' LIMIT $3) AS counted");
DB_QUERY(delete_reminders,
    "DELETE FROM alert_history WHERE tenant_id = $1 AND alert_id = $2 AND what = 'reminded'"
    " AND entry_id > COALESCE((SELECT MAX(h.entry_id) FROM alert_history h"
    " WHERE h.tenant_id = $1 AND h.alert_id = $2 AND h.what <> 'reminded'), '')");
ROWS_LIST_FN(store_alert_counts, alert_count_shape, (int64_t tenant_id, int64_t limit),
    (db_int(tenant_id), db_int(limit)),
    "SELECT type, COUNT(*) AS open,"
    " CAST(SUM(CASE WHEN acknowledged_at IS NULL THEN 1 ELSE 0 END) AS BIGINT)"
    " AS unacknowledged FROM (SELECT type, acknowledged_at FROM alerts"
    " WHERE tenant_id = $1 AND open = 1 LIMIT $2) AS counted GROUP BY type ORDER BY type");
/* clang-format on */

int store_alert_acknowledge(struct db *db, const struct alert_entry_row *row, bool *ret_first,
                            struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(row->tenant_id), db_text(row->alert_id),
                                        db_int(row->entry.at), db_text(row->entry.actor));

    return db_run_changed(db, &acknowledge, args, ret_first, err);
}

int store_alert_unacknowledge(struct db *db, int64_t tenant_id, struct str alert_id,
                              bool *ret_first, struct error *err)
{
    return db_run_changed(db, &unacknowledge, DB_ARGS(db_int(tenant_id), db_text(alert_id)),
                          ret_first, err);
}

int store_alert_note(struct db *db, int64_t tenant_id, struct str alert_id, struct str note,
                     bool *ret_found, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(alert_id), db_text(note));

    return db_run_changed(db, &set_note, args, ret_found, err);
}

int store_alert_remind(struct db *db, const struct alert_entry_row *row, int64_t before, bool *ret,
                       struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(row->tenant_id), db_text(row->alert_id),
                                        db_int(row->entry.at), db_int(before));

    return db_run_changed(db, &remind, args, ret, err);
}

int store_alert_history_add(struct db *db, const struct alert_entry_row *row, struct error *err)
{
    const struct alert_entry *entry = &row->entry;
    const struct db_args args = DB_ARGS(
        db_int(row->tenant_id), db_text(row->alert_id), db_text(entry->entry_id), db_int(entry->at),
        db_text(entry->what), db_text(entry->actor), db_text(entry->note));

    return db_run(db, &add_entry, args, err);
}

int store_alert_history_remind(struct db *db, const struct alert_entry_row *row, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(row->tenant_id), db_text(row->alert_id));

    if (db_run(db, &delete_reminders, args, err) != 0)
        return -1;
    return store_alert_history_add(db, row, err);
}

int store_alert_history_is_full(struct db *db, int64_t tenant_id, struct str alert_id, bool *ret,
                                struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_text(alert_id), db_int(ALERT_HISTORY_MAX));
    int64_t n = 0;

    if (db_exec(db, &count_entries, args, db_read_int, &n, err) != 0)
        return -1;
    *ret = n >= ALERT_HISTORY_MAX;
    return 0;
}
