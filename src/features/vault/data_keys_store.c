/* data_keys_store.c - SQL of the tenants' data keys. */
#include "features/vault/data_keys_store.h"

#include "db/db.h"
#include "shape/rows.h"
#include "shape/table.h"

#define SELECT_KEYS "SELECT tenant_id, version, wrapped FROM data_keys"

/* clang-format off */
#define OWNER struct data_key_row
SHAPE_BEGIN(data_key_row)
    { INT(tenant_id) }, { INT(version) }, { STR(wrapped) },
ROW_END(data_key_row);
#undef OWNER

static const struct db_query select_newest = {
    .row = &data_key_row,
    .sql = SELECT_KEYS " WHERE tenant_id = $1 ORDER BY version DESC LIMIT 1",
};
static const struct db_query select_version = {
    .row = &data_key_row,
    .sql = SELECT_KEYS " WHERE tenant_id = $1 AND version = $2",
};
static const struct db_query lock_platform = {
    .row = &data_key_row,
    .sqlite = SELECT_KEYS " WHERE tenant_id = $1 ORDER BY version DESC LIMIT 1",
    .postgres = SELECT_KEYS " WHERE tenant_id = $1 ORDER BY version DESC LIMIT 1 FOR UPDATE",
};
static const struct db_query select_all = {
    .row = &data_key_row,
    .sql = SELECT_KEYS " ORDER BY tenant_id, version",
};
static const struct db_query insert_key = {
    .sql = "INSERT INTO data_keys (tenant_id, version, wrapped, created_at)"
           " VALUES ($1, $2, $3, $4) ON CONFLICT (tenant_id, version) DO NOTHING",
};
static const struct db_query update_key = {
    .sql = "UPDATE data_keys SET wrapped = $3 WHERE tenant_id = $1 AND version = $2",
};
/* clang-format on */

int store_data_key(struct db *db, int64_t tenant_id, int64_t version, struct arena *arena,
                   struct data_key_row *ret, struct error *err)
{
    const struct db_query *q = version == 0 ? &select_newest : &select_version;

    return rows_one(db, q, DB_ARGS(db_int(tenant_id), db_int(version)), arena, ret, err);
}

int store_data_key_lock(struct db *db, struct arena *arena, struct data_key_row *ret,
                        struct error *err)
{
    return rows_one(db, &lock_platform, DB_ARGS(db_int(DATA_KEY_PLATFORM)), arena, ret, err);
}

int store_data_keys(struct db *db, struct arena *arena, struct list *ret, struct error *err)
{
    return rows_list(db, &select_all, DB_NO_ARGS, arena, ret, err);
}

int store_data_key_add(struct db *db, const struct data_key_row *row, int64_t now_us,
                       struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(row->tenant_id), db_int(row->version),
                                        db_blob(row->wrapped), db_int(now_us));

    return db_run(db, &insert_key, args, err);
}

int store_data_key_set(struct db *db, const struct data_key_row *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(row->tenant_id), db_int(row->version), db_blob(row->wrapped));

    return db_run(db, &update_key, args, err);
}
