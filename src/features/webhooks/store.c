/* store.c - SQL of webhooks, and of messages and their deliveries. */
#include "features/webhooks/store.h"

#include <string.h>

#include "base/clock.h"
#include "db/lists.h"
#include "features/webhooks/shapes.h"
#include "shape/rows.h"
#include "shape/table.h"

#define WEBHOOK_COLUMNS                                                                            \
    "tenant_id, webhook_id, url, format, types, label, enabled, created_at, secret, old_secret, "  \
    "old_until"

#define ANSWER_COLUMNS                                                                             \
    "d.delivery_id, d.message_id, d.created_at, d.state, d.attempts, d.next_at, d.last_at,"        \
    " d.last_status, d.last_ms, d.last_error, m.type"

#define WITH_MESSAGE                                                                               \
    " FROM deliveries d JOIN messages m ON m.tenant_id = d.tenant_id AND m.message_id = "          \
    "d.message_id"

static const int64_t LEASE_US = (int64_t)DELIVERY_LEASE_S * USEC_PER_SEC;

/* Further ahead than any attempt is scheduled. */
static const int64_t TOO_FAR_US = 2LL * 86400 * USEC_PER_SEC;

/* Greater than every id: the cursor of the first page. */
static const struct str above_all = STR_INIT("~");

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

ROW_TABLE(delivery_row,
    INT(tenant_id), STR(delivery_id), STR(webhook_id), TIME(created_at),
    ENUM(state, .choices = delivery_state_names), INT(attempts), TIME(next_at),
    TIME(last_at), OPT_INT(last_status), OPT_INT(last_ms), STR(last_error),
    FIELD_AT("message_id", message.message_id, struct str, T_STR),
    FIELD_AT("type", message.type, struct str, T_STR),
    FIELD_AT("data", message.data, struct str, T_STR),
    FIELD_AT("message_tenant_id", message.tenant_id, int64_t, T_INT),
    FIELD_AT("message_created_at", message.created_at, int64_t, T_TIME));

ROW_TABLE_OF(pending_row, struct message_row,
    INT(tenant_id), STR(message_id), STR(type), TIME(created_at));

ROW_TABLE(due_webhook,
    INT(tenant_id), STR(webhook_id), INT(deliveries), BOOL(removed));

DB_QUERY(insert_message,
    "INSERT INTO messages (tenant_id, message_id, type, created_at, data, pending)"
    " VALUES ($1, $2, $3, $4, $5, 1)");
/* The same for many, each of which would be a round trip. */
static const struct db_query insert_messages = {
    .postgres = "INSERT INTO messages (tenant_id, message_id, type, created_at, data, pending)"
                " SELECT CAST($1 AS BIGINT), id, type, at, data, 1 FROM unnest($2::text[], $3::text[], $4::bigint[],"
                " $5::text[]) AS x(id, type, at, data)",
    .citus = "SELECT 1", /* one by one there */
};
DB_INT_FN(delivery_store_messages_next_tenant, (int64_t after), (db_int(after)),
    "SELECT tenant_id FROM messages WHERE pending = 1 AND tenant_id > $1"
    " ORDER BY tenant_id, created_at, message_id LIMIT 1");
#define OLDEST_PENDING                                                                             \
    "SELECT tenant_id, message_id, type, created_at FROM messages WHERE pending = 1"               \
    " AND tenant_id = $1 ORDER BY tenant_id, created_at, message_id LIMIT $2"
static const struct db_query select_pending = {
    .row = &pending_row,
    .sqlite = OLDEST_PENDING,
    .postgres = OLDEST_PENDING " FOR UPDATE SKIP LOCKED",
};
DB_RUN_FN(delivery_store_message_end_pending, (const struct message_row *row),
    (db_int(row->tenant_id), db_text(row->message_id)),
    "UPDATE messages SET pending = 0 WHERE tenant_id = $1 AND message_id = $2");
DB_QUERY(insert_delivery,
    "INSERT INTO deliveries (tenant_id, delivery_id, webhook_id, message_id, created_at,"
    " state, attempts, next_at) VALUES ($1, $2, $3, $4, $5, 0, 0, $6)");
static const struct db_query insert_deliveries = {
    .postgres = "INSERT INTO deliveries (tenant_id, delivery_id, webhook_id, message_id, created_at,"
                " state, attempts, next_at) SELECT CAST($1 AS BIGINT), id, webhook, message, at, 0, 0, next"
                " FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])"
                " AS x(id, webhook, message, at, next)",
    .citus = "SELECT 1", /* one by one there */
};
DB_INT_FN(delivery_store_waiting, (int64_t tenant_id, int64_t most),
    (db_int(tenant_id), db_int(most)),
    "SELECT COUNT(*) FROM (SELECT 1 FROM deliveries WHERE tenant_id = $1"
    " AND next_at IS NOT NULL LIMIT $2) w");
/* Reads at most $2 rows by the index on next_at: later deliveries are not read. */
DB_ROWS_QUERY(select_due, due_webhook,
    "SELECT tenant_id, webhook_id, COUNT(*) AS deliveries FROM (SELECT tenant_id, webhook_id, next_at"
    " FROM deliveries WHERE next_at IS NOT NULL AND next_at <= $1 ORDER BY next_at LIMIT $2)"
    " d GROUP BY tenant_id, webhook_id ORDER BY MIN(next_at)");
/* When many deliveries are due: one index lookup per webhook, so that a long queue hides no other
 * webhook. */
DB_ROWS_QUERY(select_due_of_all, due_webhook,
    "SELECT tenant_id, webhook_id FROM (SELECT w.tenant_id, w.webhook_id,"
    " (SELECT MIN(d.next_at) FROM deliveries d WHERE d.tenant_id = w.tenant_id"
    " AND d.webhook_id = w.webhook_id AND d.next_at IS NOT NULL) AS first_at"
    " FROM webhooks w) q WHERE first_at <= $1 ORDER BY first_at LIMIT $2");
DB_RUN_FN(delivery_store_release, (int64_t now),
    (db_int(now), db_int(now + LEASE_US), db_int(now + TOO_FAR_US)),
    "UPDATE deliveries SET next_at = $1 WHERE next_at IS NOT NULL"
    " AND ((COALESCE(last_at, created_at) > $2 AND next_at >= COALESCE(last_at, created_at))"
    " OR next_at > $3)");
#define OLDEST_DUE                                                                                 \
    "SELECT delivery_id FROM deliveries WHERE tenant_id = $2 AND webhook_id = $3"                  \
    " AND next_at IS NOT NULL AND next_at <= $4 ORDER BY next_at, delivery_id LIMIT $5"
#define CLAIM                                                                                      \
    "UPDATE deliveries SET next_at = $1, attempts = attempts + 1 WHERE tenant_id = $2 AND delivery_id"
static const struct db_query claim_due = {
    .sqlite = CLAIM " IN (" OLDEST_DUE ") RETURNING delivery_id",
    .postgres = CLAIM " = ANY(ARRAY(" OLDEST_DUE " FOR UPDATE SKIP LOCKED)) RETURNING delivery_id",
};
ROWS_ONE_FN(delivery_store_get, delivery_row, (int64_t tenant_id, struct str delivery_id),
    (db_int(tenant_id), db_text(delivery_id)),
    "SELECT d.tenant_id, d.webhook_id, m.tenant_id AS message_tenant_id,"
    " m.created_at AS message_created_at, m.data, " ANSWER_COLUMNS WITH_MESSAGE
    " WHERE d.tenant_id = $1 AND d.delivery_id = $2");
DB_RUN_FN(delivery_store_set, (const struct delivery_row *row, int64_t again_at),
    (db_int(row->tenant_id), db_text(row->delivery_id), db_int(row->state),
     rows_time_value(row->next_at), rows_time_value(row->last_at),
     rows_opt_int_value(row->last_status), rows_opt_int_value(row->last_ms),
     db_text(row->last_error), db_int(again_at), db_int(row->state == DELIVERY_DELIVERED)),
    "UPDATE deliveries SET state = $3, next_at = $4, last_at = $5, last_status = $6,"
    " last_ms = $7, last_error = $8 WHERE tenant_id = $1 AND delivery_id = $2"
    " AND (next_at = $9 OR CAST($10 AS BIGINT) = 1)");
DB_QUERY(retry,
    "UPDATE deliveries SET state = 0, attempts = 0, next_at = $4"
    " WHERE tenant_id = $1 AND webhook_id = $2 AND delivery_id = $3");
ROWS_LIST_FN(delivery_store_list, delivery_shape, (const struct delivery_filter *filter),
    (db_int(filter->tenant_id), db_text(filter->webhook_id),
     db_text(str_is_null(filter->before) ? above_all : filter->before), db_int(filter->state),
     db_int(filter->limit)),
    "SELECT m.data AS message, " ANSWER_COLUMNS WITH_MESSAGE
    " WHERE d.tenant_id = $1 AND d.webhook_id = $2 AND d.delivery_id < $3"
    " AND (CAST($4 AS BIGINT) < 0 OR d.state = $4) ORDER BY d.delivery_id DESC LIMIT $5");
/* With tenant_id first in the pair, SQLite would look the rows up by it alone, and so read all of
 * a tenant. PostgreSQL looks at next_at again when a retry has changed the row meanwhile. */
const struct db_query forget_deliveries_query = {
    .sql = "DELETE FROM deliveries WHERE (delivery_id, tenant_id) IN (SELECT delivery_id, tenant_id"
           " FROM deliveries WHERE created_at < $1 AND next_at IS NULL LIMIT $2) AND next_at IS NULL",
};
const struct db_query forget_messages_query = {
    .sql = "DELETE FROM messages WHERE (message_id, tenant_id) IN (SELECT m.message_id, m.tenant_id"
           " FROM messages m WHERE m.created_at < $1 AND m.pending = 0 AND NOT EXISTS (SELECT 1 FROM deliveries d"
           " WHERE d.tenant_id = m.tenant_id AND d.message_id = m.message_id) LIMIT $2)",
};
ROWS_LIST_FN(delivery_store_webhooks_after, due_webhook, (const struct due_webhook *after, int64_t limit),
    (db_int(after->tenant_id), db_text(after->webhook_id), db_int(limit)),
    "SELECT tenant_id, webhook_id, removed FROM webhooks WHERE (tenant_id, webhook_id) > ($1, $2)"
    " ORDER BY tenant_id, webhook_id LIMIT $3");
DB_QUERY(select_oldest_kept,
    "SELECT delivery_id FROM deliveries WHERE tenant_id = $1 AND webhook_id = $2"
    " ORDER BY delivery_id DESC LIMIT 1 OFFSET $3");
/* Ids grow with time. */
DB_ROWS_QUERY(select_oldest, delivery_row,
    "SELECT delivery_id, message_id FROM deliveries WHERE tenant_id = $1 AND webhook_id = $2"
    " AND delivery_id < $3 AND (next_at IS NULL OR CAST($4 AS BIGINT) = 1)"
    " ORDER BY delivery_id LIMIT $5");
/* Since they were found, one may have been retried, and then it waits again. */
#define STILL_FINISHED " AND (next_at IS NULL OR CAST($3 AS BIGINT) = 1)"
#define DELETE_DELIVERIES "DELETE FROM deliveries WHERE tenant_id = $1 AND delivery_id"
static const struct db_query delete_deliveries = {
    .sqlite = DELETE_DELIVERIES " IN (SELECT value FROM json_each($2))" STILL_FINISHED,
    .postgres = DELETE_DELIVERIES " = ANY($2::text[])" STILL_FINISHED,
};
/* A message goes with its last delivery. */
#define DELETE_MESSAGES "DELETE FROM messages WHERE tenant_id = $1 AND message_id"
#define UNSENT                                                                                     \
    " AND pending = 0 AND (SELECT COUNT(*) FROM (SELECT 1 FROM deliveries d WHERE d.tenant_id = $1" \
    " AND d.message_id = messages.message_id LIMIT 1) l) = 0"
static const struct db_query delete_messages = {
    .sqlite = DELETE_MESSAGES " IN (SELECT value FROM json_each($2))" UNSENT,
    .postgres = DELETE_MESSAGES " = ANY($2::text[])" UNSENT,
};
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

int delivery_store_messages_add(struct db *db, const struct message_row *rows, size_t n,
                                struct arena *arena, struct error *err)
{
    struct db_value args[5] = { db_int(rows[0].tenant_id) };
    const bool at_once = n > 1 && pg_arrays_suit(db);
    int r = 0;
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(args) - 1, arena);

    for (size_t i = 0; i < n && r == 0; i++) {
        args[1] = db_text(rows[i].message_id);
        args[2] = db_text(rows[i].type);
        args[3] = db_int(rows[i].created_at);
        args[4] = db_text(rows[i].data);
        if (at_once)
            pg_arrays_add(&arrays, args + 1);
        else
            r = db_run(db, &insert_message, DB_ARGS_OF(args), err);
    }
    if (at_once) {
        pg_arrays_args(&arrays, args + 1);
        r = db_run(db, &insert_messages, DB_ARGS_OF(args), err);
    }
    return r;
}

int delivery_store_messages_pending(struct db *db, int64_t tenant_id, int64_t limit,
                                    struct arena *arena, struct list *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_int(limit));

    return rows_list(db, &select_pending, args, arena, ret, err);
}

int delivery_store_add(struct db *db, const struct delivery_row *rows, size_t n,
                       struct arena *arena, struct error *err)
{
    struct db_value args[6] = { db_int(rows[0].tenant_id) };
    const bool at_once = n > 1 && pg_arrays_suit(db);
    int r = 0;
    PG_ARRAYS_SCOPED(arrays, COUNT_OF(args) - 1, arena);

    for (size_t i = 0; i < n && r == 0; i++) {
        args[1] = db_text(rows[i].delivery_id);
        args[2] = db_text(rows[i].webhook_id);
        args[3] = db_text(rows[i].message.message_id);
        args[4] = db_int(rows[i].created_at);
        args[5] = db_int(rows[i].next_at);
        if (at_once)
            pg_arrays_add(&arrays, args + 1);
        else
            r = db_run(db, &insert_delivery, DB_ARGS_OF(args), err);
    }
    if (at_once) {
        pg_arrays_args(&arrays, args + 1);
        r = db_run(db, &insert_deliveries, DB_ARGS_OF(args), err);
    }
    return r;
}

int delivery_store_due(struct db *db, int64_t now, struct arena *arena, struct list *ret,
                       struct error *err)
{
    enum { SCAN_MAX = 500 };
    const struct due_webhook *due;
    int64_t n = 0;

    if (rows_list(db, &select_due, DB_ARGS(db_int(now), db_int(SCAN_MAX)), arena, ret, err) != 0)
        return -1;
    due = ret->items;
    for (size_t i = 0; i < ret->n; i++)
        n += due[i].deliveries;
    if (n < SCAN_MAX)
        return 0;
    return rows_list(db, &select_due_of_all, DB_ARGS(db_int(now), db_int(DUE_MAX)), arena, ret,
                     err);
}

static bool add_id(void *ctx, const struct db_row *row)
{
    struct rows *ids = ctx;

    *(struct str *)rows_add(ids) = rows_text(ids->arena, row, 0);
    return true;
}

int delivery_store_claim(struct db *db, const struct delivery_claim *claim, struct arena *arena,
                         struct list *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(claim->now + LEASE_US), db_int(claim->tenant_id), db_text(claim->webhook_id),
                db_int(claim->now), db_int(claim->n));
    struct rows ids = { .arena = arena, .size = sizeof(struct str) };

    if (db_exec(db, &claim_due, args, add_id, &ids, err) != 0)
        return -1;
    *ret = (struct list){ ids.items, ids.n };
    return 0;
}

int delivery_store_retry(struct db *db, const struct delivery_filter *which, struct str delivery_id,
                         int64_t now, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(which->tenant_id), db_text(which->webhook_id),
                                        db_text(delivery_id), db_int(now));

    return db_run_or(db, &retry, args, err, ERR_NOT_FOUND, "there is no delivery '%.*s'",
                     STR_ARG(delivery_id));
}

int delivery_store_forget(struct db *db, int64_t before, bool *ret_more, struct error *err)
{
    enum { FORGET_MAX = 1000 };
    const struct db_args args = DB_ARGS(db_int(before), db_int(FORGET_MAX));

    if (db_run(db, &forget_deliveries_query, args, err) != 0)
        return -1;
    *ret_more = db_changes(db) == FORGET_MAX;
    if (db_run(db, &forget_messages_query, args, err) != 0)
        return -1;
    *ret_more = *ret_more || db_changes(db) == FORGET_MAX;
    return 0;
}

int delivery_store_oldest_kept(struct db *db, const struct due_webhook *webhook,
                               struct arena *arena, struct str *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(webhook->tenant_id), db_text(webhook->webhook_id),
                                        db_int(DELIVERIES_KEPT - 1));

    return rows_one_text(db, &select_oldest_kept, args, arena, ret, err);
}

int delivery_store_trim(struct db *db, const struct delivery_trim *trim, bool *ret_more,
                        struct error *err)
{
    enum { STEP_MAX = 500 };
    const bool all = str_is_null(trim->before);
    const struct db_args args =
        DB_ARGS(db_int(trim->tenant_id), db_text(trim->webhook_id),
                db_text(all ? above_all : trim->before), db_int(all), db_int(STEP_MAX));
    struct str deliveries[STEP_MAX], messages[STEP_MAX];
    const struct delivery_row *found;
    ARENA_SCOPED(arena);
    struct list rows;

    if (rows_list(db, &select_oldest, args, &arena, &rows, err) != 0)
        return -1;
    found = rows.items;
    for (size_t i = 0; i < rows.n; i++) {
        deliveries[i] = found[i].delivery_id;
        messages[i] = found[i].message.message_id;
    }
    *ret_more = rows.n == STEP_MAX;
    if (rows.n == 0)
        return 0;
    if (db_run(db, &delete_deliveries,
               DB_ARGS(args.values[0], db_text_list(db, deliveries, rows.n, &arena), db_int(all)),
               err) != 0)
        return -1;
    return db_run(db, &delete_messages,
                  DB_ARGS(args.values[0], db_text_list(db, messages, rows.n, &arena)), err);
}
