/* keys.c - SQL of keys. */
#include "store/keys.h"

#include "db/db.h"
#include "store/rows.h"

#define KEY_COLUMNS                                                                                \
    "tenant_id, key_id, digest, agent_name, label, created_at, last_used_at, expires_at, "         \
    "revoked_at"

/* clang-format off */
static const struct db_query insert_key = {
    .sql = "INSERT INTO keys (" KEY_COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    .n_args = 9,
};
static const struct db_query revoke_key = {
    .sql = "UPDATE keys SET revoked_at = COALESCE(revoked_at, $3)"
           " WHERE tenant_id = $1 AND key_id = $2",
    .n_args = 3,
};
static const struct db_query select_keys = {
    .sql = "SELECT " KEY_COLUMNS " FROM keys ORDER BY created_at, key_id",
};
static const struct db_query select_tenant_keys = {
    .sql = "SELECT " KEY_COLUMNS " FROM keys WHERE tenant_id = $1 ORDER BY created_at, key_id",
    .n_args = 1,
};
/* clang-format on */

int store_key_add(struct db *db, const struct key_row *row, struct error *err)
{
    const struct db_value args[] = {
        db_int(row->tenant_id),
        db_text(row->key_id),
        db_blob(str_from((const char *)row->digest.bytes, SHA256_BYTES)),
        db_text(row->agent_name),
        db_text(row->label),
        db_int(row->created_at),
        rows_time_value(row->last_used_at),
        rows_time_value(row->expires_at),
        rows_time_value(row->revoked_at),
    };

    return db_exec(db, &insert_key, args, NULL, NULL, err);
}

int store_key_revoke(struct db *db, int64_t tenant_id, struct str key_id, int64_t now_us,
                     struct error *err)
{
    const struct db_value args[] = { db_int(tenant_id), db_text(key_id), db_int(now_us) };

    if (db_exec(db, &revoke_key, args, NULL, NULL, err) != 0)
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
    return true;
}

int store_keys(struct db *db, int64_t tenant_id, struct arena *arena, struct key_row **ret,
               size_t *ret_n, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct key_row) };
    const struct db_value args[] = { db_int(tenant_id) };
    const struct db_query *query = tenant_id == 0 ? &select_keys : &select_tenant_keys;

    if (db_exec(db, query, args, add_key_row, &rows, err) != 0)
        return -1;
    *ret = rows.items;
    *ret_n = rows.n;
    return 0;
}
