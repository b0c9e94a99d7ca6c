/* keys_store.c - SQL of keys. */
#include "features/access/keys_store.h"

#include "db/db.h"
#include "features/access/shapes.h"
#include "shape/rows.h"

#define KEY_COLUMNS                                                                                \
    "tenant_id, key_id, digest, agent_name, label, created_at, last_used_at, expires_at, "         \
    "revoked_at, predecessor, rotated_at, first_used_at"

/* clang-format off */
static const struct db_query insert_key = {
    .sql = "INSERT INTO keys (" KEY_COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,"
           " $10, $11, $12)",
};
static const struct db_query revoke_key = {
    .sql = "UPDATE keys SET revoked_at = COALESCE(revoked_at, $3)"
           " WHERE tenant_id = $1 AND key_id = $2",
};
static const struct db_query select_live_keys = {
    .sql = "SELECT " KEY_COLUMNS " FROM keys WHERE revoked_at IS NULL"
           " AND (expires_at IS NULL OR expires_at >= $1)"
           " AND (rotated_at IS NULL OR rotated_at >= $1)",
};
#define ONE_KEY "SELECT " KEY_COLUMNS " FROM keys WHERE tenant_id = $1 AND key_id = $2"
static const struct db_query lock_key = {
    .sqlite = ONE_KEY,
    .postgres = ONE_KEY " FOR UPDATE",
};
static const struct db_query set_rotated = {
    .sql = "UPDATE keys SET rotated_at = COALESCE(rotated_at, $3)"
           " WHERE tenant_id = $1 AND key_id = $2",
};
static const struct db_query revoke_unused = {
    .sql = "UPDATE keys SET revoked_at = $3 WHERE tenant_id = $1 AND predecessor = $2"
           " AND revoked_at IS NULL AND first_used_at IS NULL RETURNING key_id",
};
static const struct db_query set_first_used = {
    .sql = "UPDATE keys SET first_used_at = COALESCE(first_used_at, $3)"
           " WHERE tenant_id = $1 AND key_id = $2 AND revoked_at IS NULL",
};
static const struct db_query set_used = {
    .sql = "UPDATE keys SET last_used_at = $3 WHERE tenant_id = $1 AND key_id = $2"
           " AND (last_used_at IS NULL OR last_used_at < $3)",
};
static const struct db_query select_tenant_keys = {
    .row = &key_shape,
    .sql = "SELECT key_id, agent_name, label, created_at, last_used_at, expires_at, revoked_at,"
           " predecessor, rotated_at FROM keys WHERE tenant_id = $1 ORDER BY created_at, key_id",
};
/* clang-format on */

int store_key_add(struct db *db, const struct key_row *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(row->tenant_id), db_text(row->key_id),
                db_blob(str_from((const char *)row->digest.bytes, SHA256_BYTES)),
                db_text(row->agent_name), db_text(row->label), db_int(row->created_at),
                rows_time_value(row->last_used_at), rows_time_value(row->expires_at),
                rows_time_value(row->revoked_at), db_text(row->predecessor),
                rows_time_value(row->rotated_at), rows_time_value(row->first_used_at));

    return db_run(db, &insert_key, args, err);
}

int store_key_revoke(struct db *db, int64_t tenant_id, struct str key_id, int64_t now_us,
                     struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(key_id), db_int(now_us));

    if (db_run(db, &revoke_key, args, err) != 0)
        return -1;
    if (db_changes(db) == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no key '%.*s'", STR_ARG(key_id));
    return 0;
}

static bool add_key_row(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct key_row *k = rows_add(rows);
    struct str digest = db_get_blob(row, 2);

    k->tenant_id = db_get_int(row, 0);
    k->key_id = rows_text(rows->arena, row, 1);
    if (digest.len == SHA256_BYTES)
        memcpy(k->digest.bytes, digest.data, SHA256_BYTES);
    k->agent_name = rows_text(rows->arena, row, 3);
    k->label = rows_text(rows->arena, row, 4);
    k->created_at = db_get_int(row, 5);
    k->last_used_at = rows_time(row, 6);
    k->expires_at = rows_time(row, 7);
    k->revoked_at = rows_time(row, 8);
    k->predecessor = rows_text(rows->arena, row, 9);
    k->rotated_at = rows_time(row, 10);
    k->first_used_at = rows_time(row, 11);
    return true;
}

int store_keys(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
               struct error *err)
{
    return rows_list(db, &select_tenant_keys, DB_ARGS(db_int(tenant_id)), arena, ret, err);
}

int store_live_keys(struct db *db, int64_t since, struct arena *arena, struct list *ret,
                    struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct key_row) };

    if (db_exec(db, &select_live_keys, DB_ARGS(db_int(since)), add_key_row, &rows, err) != 0)
        return -1;
    *ret = (struct list){ rows.items, rows.n };
    return 0;
}

int store_key_lock(struct db *db, int64_t tenant_id, struct str key_id, struct arena *arena,
                   struct key_row *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct key_row) };
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(key_id));

    if (db_exec(db, &lock_key, args, add_key_row, &rows, err) != 0)
        return -1;
    if (rows.n == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no key '%.*s'", STR_ARG(key_id));
    *ret = *(struct key_row *)rows.items;
    return 0;
}

static bool add_key_id(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct str *key_id = rows_add(rows);

    *key_id = rows_text(rows->arena, row, 0);
    return true;
}

int store_key_rotated(struct db *db, const struct key_row *key, int64_t now_us, struct arena *arena,
                      struct list *ret_replaced, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct str) };
    const struct db_args args =
        DB_ARGS(db_int(key->tenant_id), db_text(key->key_id), db_int(now_us));

    if (db_run(db, &set_rotated, args, err) != 0 ||
        db_exec(db, &revoke_unused, args, add_key_id, &rows, err) != 0)
        return -1;
    *ret_replaced = (struct list){ rows.items, rows.n };
    return 0;
}

int store_key_first_used(struct db *db, int64_t tenant_id, struct str key_id, int64_t now_us,
                         bool *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(key_id), db_int(now_us));

    if (db_run(db, &set_first_used, args, err) != 0)
        return -1;
    *ret = db_changes(db) > 0;
    return 0;
}

int store_key_used(struct db *db, int64_t tenant_id, struct str key_id, int64_t at,
                   struct error *err)
{
    return db_run(db, &set_used, DB_ARGS(db_int(tenant_id), db_text(key_id), db_int(at)), err);
}
