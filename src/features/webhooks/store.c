/* store.c - SQL of webhooks. */
#include "features/webhooks/store.h"

#include "features/webhooks/shapes.h"
#include "shape/rows.h"
#include "shape/table.h"

#define WEBHOOK_COLUMNS                                                                            \
    "tenant_id, webhook_id, url, format, types, label, enabled, created_at, secret, old_secret, "  \
    "old_until"

/* clang-format off */
ROW_TABLE(webhook_row,
    INT(tenant_id), STR(webhook_id), STR(url), STR(workspace), STR(types), STR(label), BOOL(enabled),
    TIME(created_at), STR(secret), STR(old_secret), TIME(old_until),
    ENUM(format, .choices = webhook_format_names));

/* Types are stored with commas between them, and answered as an array. */
#define SELECT_ANSWERS                                                                             \
    "SELECT webhook_id, url, format, CASE WHEN types = '' THEN '[]'"                               \
    " ELSE '[\"' || replace(types, ',', '\",\"') || '\"]' END AS types, label, enabled,"           \
    " created_at FROM webhooks WHERE tenant_id = $1 AND removed = 0"

DB_RUN_FN(webhook_store_add, (const struct webhook_row *row),
    (db_int(row->tenant_id), db_text(row->webhook_id), db_text(row->url), db_int(row->format),
     db_text(row->types), db_text(row->label), db_int(row->enabled), db_int(row->created_at),
     db_blob(row->secret), db_blob(row->old_secret), rows_time_value(row->old_until)),
    "INSERT INTO webhooks (" WEBHOOK_COLUMNS ")"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)");
DB_QUERY(set_webhook,
    "UPDATE webhooks SET url = $3, types = $4, label = $5, enabled = $6, secret = $7,"
    " old_secret = $8, old_until = $9 WHERE tenant_id = $1 AND webhook_id = $2 AND removed = 0");
DB_ROWS_QUERY(select_webhook, webhook_row,
    "SELECT " WEBHOOK_COLUMNS ", (SELECT t.slug FROM tenants t WHERE t.tenant_id = $1)"
    " AS workspace FROM webhooks WHERE tenant_id = $1 AND webhook_id = $2 AND removed = 0");
DB_ROWS_QUERY(select_answer, webhook_shape, SELECT_ANSWERS " AND webhook_id = $2");
DB_ROWS_QUERY(select_answers, webhook_shape, SELECT_ANSWERS " ORDER BY created_at, webhook_id");
ROWS_LIST_FN(webhook_store_list, webhook_row, (int64_t tenant_id), (db_int(tenant_id)),
    "SELECT " WEBHOOK_COLUMNS " FROM webhooks WHERE tenant_id = $1"
    " AND removed = 0 ORDER BY created_at, webhook_id");
#define SEALED_COLUMN(column)                                                                      \
    {                                                                                              \
        .kind = WEBHOOK_KIND,                                                                      \
        .stale = { .row = &sealed_row,                                                             \
                   .sql = "SELECT webhook_id AS name, 1 AS version, " column " AS sealed"          \
                          " FROM webhooks WHERE tenant_id = $1 AND LENGTH(" column ") > 0"         \
                          " AND substr(" column ", 2, 4) <> $2"                                    \
                          " ORDER BY webhook_id LIMIT $3" },                                       \
        .replace = { .sql = "UPDATE webhooks SET " column " = $3 WHERE tenant_id = $1"             \
                            " AND webhook_id = $2 AND " column " = $4" },                          \
    }
const struct sealed_table webhooks_sealed[WEBHOOK_SEALED_N] = { SEALED_COLUMN("secret"), SEALED_COLUMN("old_secret") };
static const struct db_query select_subscribed = {
    .sqlite = "SELECT 1 FROM webhooks WHERE tenant_id = $1 AND enabled = 1 AND removed = 0"
              " AND (types = '' OR instr(',' || types || ',', ',' || $2 || ',') > 0) LIMIT 1",
    .postgres = "SELECT 1 FROM webhooks WHERE tenant_id = $1 AND enabled = 1 AND removed = 0"
                " AND (types = '' OR strpos(',' || types || ',', ',' || $2 || ',') > 0) LIMIT 1",
};
/* Left to itself SQLite reads all deliveries of the tenant for each of its webhooks. */
#define USE_OF_WEBHOOK " WHERE tenant_id = $1 AND webhook_id = $2 GROUP BY state"
const struct db_query webhook_use_query = {
    .sqlite = "SELECT state, COUNT(*), MAX(last_at) FROM deliveries INDEXED BY deliveries_log" USE_OF_WEBHOOK,
    .postgres = "SELECT state, COUNT(*), MAX(last_at) FROM deliveries" USE_OF_WEBHOOK,
};
DB_RUN_FN(webhook_store_delete, (int64_t tenant_id, struct str webhook_id),
    (db_int(tenant_id), db_text(webhook_id)),
    "DELETE FROM webhooks WHERE tenant_id = $1 AND webhook_id = $2");
DB_QUERY(mark_removed,
    "UPDATE webhooks SET enabled = 0, removed = 1 WHERE tenant_id = $1 AND webhook_id = $2"
    " AND removed = 0");
DB_QUERY(disable_webhook,
    "UPDATE webhooks SET enabled = 0 WHERE tenant_id = $1 AND webhook_id = $2");
DB_QUERY(give_up_waiting,
    "UPDATE deliveries SET state = 2, next_at = NULL, last_error = 'the webhook was switched off'"
    " WHERE tenant_id = $1 AND webhook_id = $2 AND next_at IS NOT NULL");
/* clang-format on */

static int no_webhook(struct str webhook_id, struct error *err)
{
    return err_set(err, ERR_NOT_FOUND, "there is no webhook '%.*s'", STR_ARG(webhook_id));
}

int webhook_store_set(struct db *db, const struct webhook_row *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(row->tenant_id), db_text(row->webhook_id), db_text(row->url),
                db_text(row->types), db_text(row->label), db_int(row->enabled),
                db_blob(row->secret), db_blob(row->old_secret), rows_time_value(row->old_until));

    if (db_run(db, &set_webhook, args, err) != 0)
        return -1;
    return db_changes(db) > 0 ? 0 : no_webhook(row->webhook_id, err); /* removed meanwhile */
}

int webhook_store_get(struct db *db, int64_t tenant_id, struct str webhook_id, struct arena *arena,
                      struct webhook_row *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(webhook_id));

    if (rows_one(db, &select_webhook, args, arena, ret, err) != 0)
        return -1;
    return ret->tenant_id != 0 ? 0 : no_webhook(webhook_id, err);
}

int webhook_store_subscribed(struct db *db, int64_t tenant_id, struct str type, bool *ret,
                             struct error *err)
{
    return db_exec_bool(db, &select_subscribed, DB_ARGS(db_int(tenant_id), db_text(type)), ret,
                        err);
}

static bool add_use(void *ctx, const struct db_row *row)
{
    struct webhook *use = ctx;

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

/* What became of its deliveries. */
static int read_use(struct db *db, int64_t tenant_id, struct webhook *webhook, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(webhook->webhook_id));

    webhook->last_delivered_at = TIME_NULL;
    return db_exec(db, &webhook_use_query, args, add_use, webhook, err);
}

int webhook_store_answer(struct db *db, int64_t tenant_id, struct str webhook_id,
                         struct arena *arena, struct webhook *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(webhook_id));

    if (rows_one(db, &select_answer, args, arena, ret, err) != 0)
        return -1;
    return read_use(db, tenant_id, ret, err);
}

int webhook_store_answers(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
                          struct error *err)
{
    if (rows_list(db, &select_answers, DB_ARGS(db_int(tenant_id)), arena, ret, err) != 0)
        return -1;
    for (size_t i = 0; i < ret->n; i++)
        if (read_use(db, tenant_id, &((struct webhook *)ret->items)[i], err) != 0)
            return -1;
    return 0;
}

int webhook_store_mark_removed(struct db *db, int64_t tenant_id, struct str webhook_id,
                               struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(webhook_id));

    return db_run_or(db, &mark_removed, args, err, ERR_NOT_FOUND, "there is no webhook '%.*s'",
                     STR_ARG(webhook_id));
}

int webhook_store_disable(struct db *db, int64_t tenant_id, struct str webhook_id,
                          struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(webhook_id));

    if (db_run(db, &disable_webhook, args, err) != 0)
        return -1;
    return db_run(db, &give_up_waiting, args, err);
}
