/* store.c - SQL of closed alerts that are one too many. */
#include "features/alerts/closed/store.h"

#include <assert.h>

#include "features/alerts/handling/note_bytes.h"
#include "shape/rows.h"

/* clang-format off */
DB_INT_FN(store_closed_next_tenant, (int64_t after), (db_int(after)),
    "SELECT COALESCE(MIN(tenant_id), 0) FROM tenants WHERE tenant_id > $1");
DB_QUERY(select_beyond,
    "SELECT alert_id FROM alerts WHERE tenant_id = $1 AND open = 0"
    " ORDER BY alert_id DESC LIMIT 1 OFFSET $2");
#define OLDEST                                                                                     \
    "SELECT alert_id FROM alerts WHERE tenant_id = $1 AND open = 0 AND alert_id <= $2"             \
    " ORDER BY alert_id LIMIT $3"
static const struct db_query select_oldest = {
    .sqlite = OLDEST,
    .postgres = OLDEST " FOR UPDATE SKIP LOCKED",
};
DB_QUERY(delete_alert, "DELETE FROM alerts WHERE tenant_id = $1 AND alert_id = $2 AND open = 0");
#define DELETE_HISTORY                                                                             \
    "DELETE FROM alert_history WHERE tenant_id = $1 AND alert_id = $2 RETURNING "
static const struct db_query delete_history = {
    .sqlite = DELETE_HISTORY ALERT_NOTE_BYTES(STORED_TEXT_SQLITE),
    .postgres = DELETE_HISTORY ALERT_NOTE_BYTES(STORED_TEXT_POSTGRES),
};
/* clang-format on */

int store_closed_beyond(struct db *db, int64_t tenant_id, int64_t keep, struct arena *arena,
                        struct str *ret, struct error *err)
{
    return rows_one_text(db, &select_beyond, DB_ARGS(db_int(tenant_id), db_int(keep)), arena, ret,
                         err);
}

static bool add_text(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;

    *(struct str *)rows_add(rows) = arena_copy(rows->arena, db_get_text(row, 0));
    return true;
}

int store_closed_oldest(struct db *db, int64_t tenant_id, struct str until, int64_t max,
                        struct rows *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(until), db_int(max));

    assert(ret->size == sizeof(struct str) && ret->n == 0);
    return db_exec(db, &select_oldest, args, add_text, ret, err);
}

static bool add_bytes(void *ctx, const struct db_row *row)
{
    *(int64_t *)ctx += db_get_int(row, 0);
    return true;
}

int store_closed_delete(struct db *db, int64_t tenant_id, struct str alert_id, int64_t *ret_rows,
                        int64_t *ret_bytes, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(alert_id));

    if (db_run(db, &delete_alert, args, err) != 0)
        return -1;
    if (db_changes(db) == 0)
        return 0;
    *ret_rows += 1;
    if (db_exec(db, &delete_history, args, add_bytes, ret_bytes, err) != 0)
        return -1;
    *ret_rows += db_changes(db);
    return 0;
}
