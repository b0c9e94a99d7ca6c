/* data_keys_store.c - SQL of the tenants' data keys. */
#include "features/vault/data_keys_store.h"

#include "db/db.h"
#include "shape/rows.h"

#define SELECT_KEYS "SELECT tenant_id, version, wrapped FROM data_keys"

/* clang-format off */
static const struct db_query select_newest = {
    .sql = SELECT_KEYS " WHERE tenant_id = $1 ORDER BY version DESC LIMIT 1",
 };
static const struct db_query select_version = {
    .sql = SELECT_KEYS " WHERE tenant_id = $1 AND version = $2",
 };
static const struct db_query lock_platform = {
    .sqlite = SELECT_KEYS " WHERE tenant_id = $1 ORDER BY version DESC LIMIT 1",
    .postgres = SELECT_KEYS " WHERE tenant_id = $1 ORDER BY version DESC LIMIT 1 FOR UPDATE",
 };
static const struct db_query select_all = { .sql = SELECT_KEYS " ORDER BY tenant_id, version" };
static const struct db_query insert_key = {
    .sql = "INSERT INTO data_keys (tenant_id, version, wrapped, created_at)"
           " VALUES ($1, $2, $3, $4) ON CONFLICT (tenant_id, version) DO NOTHING",
};
static const struct db_query update_key = {
    .sql = "UPDATE data_keys SET wrapped = $3 WHERE tenant_id = $1 AND version = $2",
 };
/* clang-format on */

static bool add_key(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct data_key_row *key = rows_add(rows);

    key->tenant_id = db_get_int(row, 0);
    key->version = db_get_int(row, 1);
    key->wrapped = arena_copy(rows->arena, db_get_blob(row, 2));
    return true;
}

static int select_one(struct db *db, const struct db_query *q, struct db_args args,
                      struct arena *arena, struct data_key_row *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct data_key_row) };

    if (db_exec(db, q, args, add_key, &rows, err) != 0)
        return -1;
    *ret = rows.n == 0 ? (struct data_key_row){ 0 } : *(struct data_key_row *)rows.items;
    return 0;
}

int store_data_key(struct db *db, int64_t tenant_id, int64_t version, struct arena *arena,
                   struct data_key_row *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_int(version));

    return select_one(db, version == 0 ? &select_newest : &select_version, args, arena, ret, err);
}

int store_data_key_lock(struct db *db, struct arena *arena, struct data_key_row *ret,
                        struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(DATA_KEY_PLATFORM));

    return select_one(db, &lock_platform, args, arena, ret, err);
}

int store_data_keys(struct db *db, struct arena *arena, struct data_key_row **ret, size_t *ret_n,
                    struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct data_key_row) };

    if (db_exec(db, &select_all, DB_NO_ARGS, add_key, &rows, err) != 0)
        return -1;
    *ret = rows.items;
    *ret_n = rows.n;
    return 0;
}

int store_data_key_add(struct db *db, const struct data_key_row *row, int64_t now_us,
                       struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(row->tenant_id), db_int(row->version),
                                        db_blob(row->wrapped), db_int(now_us));

    return db_exec(db, &insert_key, args, NULL, NULL, err);
}

int store_data_key_set(struct db *db, const struct data_key_row *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(row->tenant_id), db_int(row->version), db_blob(row->wrapped));

    return db_exec(db, &update_key, args, NULL, NULL, err);
}
