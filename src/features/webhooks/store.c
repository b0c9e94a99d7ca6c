/* store.c - SQL of webhooks. */
#include "features/webhooks/store.h"

#include "db/db.h"
#include "features/webhooks/shapes.h"
#include "shape/rows.h"

#define WEBHOOK_COLUMNS                                                                            \
    "tenant_id, webhook_id, url, format, types, label, enabled, created_at, secret, old_secret, "  \
    "old_until"

/* clang-format off */
static const struct db_query put_webhook = {
    .sql = "INSERT INTO webhooks (" WEBHOOK_COLUMNS ")"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
           " ON CONFLICT (tenant_id, webhook_id) DO UPDATE SET url = excluded.url,"
           " types = excluded.types, label = excluded.label, enabled = excluded.enabled,"
           " secret = excluded.secret, old_secret = excluded.old_secret,"
           " old_until = excluded.old_until",
};
static const struct db_query select_webhook = {
    .sql = "SELECT " WEBHOOK_COLUMNS " FROM webhooks WHERE tenant_id = $1 AND webhook_id = $2",
 };
static const struct db_query select_webhooks = {
    .sql = "SELECT " WEBHOOK_COLUMNS " FROM webhooks WHERE tenant_id = $1"
           " ORDER BY created_at, webhook_id",
};
static const struct db_query count_use = {
    .sql = "SELECT state, COUNT(*), MAX(last_at) FROM deliveries"
           " WHERE tenant_id = $1 AND webhook_id = $2 GROUP BY state",
};
static const struct db_query delete_deliveries = {
    .sql = "DELETE FROM deliveries WHERE tenant_id = $1 AND webhook_id = $2",
 };
static const struct db_query delete_webhook = {
    .sql = "DELETE FROM webhooks WHERE tenant_id = $1 AND webhook_id = $2",
 };
static const struct db_query disable_webhook = {
    .sql = "UPDATE webhooks SET enabled = 0 WHERE tenant_id = $1 AND webhook_id = $2",
 };
static const struct db_query give_up_waiting = {
    .sql = "UPDATE deliveries SET state = 2, next_at = NULL, last_error = 'the webhook was switched off'"
           " WHERE tenant_id = $1 AND webhook_id = $2 AND next_at IS NOT NULL",
};
/* clang-format on */

int store_webhook_put(struct db *db, const struct webhook_row *row, struct error *err)
{
    const struct db_args args = DB_ARGS(
        db_int(row->tenant_id), db_text(row->webhook_id), db_text(row->url), db_int(row->format),
        db_text(row->types), db_text(row->label), db_int(row->enabled), db_int(row->created_at),
        db_blob(row->secret), db_blob(row->old_secret), rows_time_value(row->old_until));

    return db_exec(db, &put_webhook, args, NULL, NULL, err);
}

static struct str copy_blob(struct arena *arena, const struct db_row *row, unsigned column)
{
    return db_is_null(row, column) ? STR_NULL : arena_copy(arena, db_get_blob(row, column));
}

static bool add_webhook(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct webhook_row *w = rows_add(rows);

    w->tenant_id = db_get_int(row, 0);
    w->webhook_id = rows_text(rows->arena, row, 1);
    w->url = rows_text(rows->arena, row, 2);
    w->format = (int)db_get_int(row, 3);
    w->types = rows_text(rows->arena, row, 4);
    w->label = rows_text(rows->arena, row, 5);
    w->enabled = db_get_int(row, 6) != 0;
    w->created_at = db_get_int(row, 7);
    w->secret = copy_blob(rows->arena, row, 8);
    w->old_secret = copy_blob(rows->arena, row, 9);
    w->old_until = rows_time(row, 10);
    return true;
}

int store_webhook(struct db *db, int64_t tenant_id, struct str webhook_id, struct arena *arena,
                  struct webhook_row *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct webhook_row) };
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(webhook_id));

    if (db_exec(db, &select_webhook, args, add_webhook, &rows, err) != 0)
        return -1;
    if (rows.n == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no webhook '%.*s'", STR_ARG(webhook_id));
    *ret = *(struct webhook_row *)rows.items;
    return 0;
}

int store_webhooks(struct db *db, int64_t tenant_id, struct arena *arena, struct webhook_row **ret,
                   size_t *ret_n, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct webhook_row) };

    if (db_exec(db, &select_webhooks, DB_ARGS(db_int(tenant_id)), add_webhook, &rows, err) != 0)
        return -1;
    *ret = rows.items;
    *ret_n = rows.n;
    return 0;
}

static bool add_use(void *ctx, const struct db_row *row)
{
    struct webhook_use *use = ctx;

    switch ((enum delivery_state)db_get_int(row, 0)) {
    case DELIVERY_WAITING:
        use->waiting = db_get_int(row, 1);
        break;
    case DELIVERY_DELIVERED:
        use->last_delivered_at = rows_time(row, 2);
        break;
    case DELIVERY_DEAD:
        use->dead = db_get_int(row, 1);
        break;
    }
    return true;
}

int store_webhook_use(struct db *db, int64_t tenant_id, struct str webhook_id,
                      struct webhook_use *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(webhook_id));

    *ret = (struct webhook_use){ .last_delivered_at = TIME_NULL };
    return db_exec(db, &count_use, args, add_use, ret, err);
}

int store_webhook_remove(struct db *db, int64_t tenant_id, struct str webhook_id, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(webhook_id));

    if (db_exec(db, &delete_deliveries, args, NULL, NULL, err) != 0 ||
        db_exec(db, &delete_webhook, args, NULL, NULL, err) != 0)
        return -1;
    if (db_changes(db) == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no webhook '%.*s'", STR_ARG(webhook_id));
    return 0;
}

int store_webhook_disable(struct db *db, int64_t tenant_id, struct str webhook_id,
                          struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(webhook_id));

    if (db_exec(db, &disable_webhook, args, NULL, NULL, err) != 0)
        return -1;
    return db_exec(db, &give_up_waiting, args, NULL, NULL, err);
}
