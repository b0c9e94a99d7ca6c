/* secrets_store.c - SQL of secrets. */
#include "features/vault/secrets_store.h"

#include "db/db.h"
#include "features/vault/shapes.h"
#include "shape/rows.h"
#include "shape/table.h"

#define COLUMNS "name, shared, version, created_at, updated_at"

/* clang-format off */
ROW_TABLE(secret_row,
    STR(name), BOOL(shared), INT(version), STR(sealed), TIME(created_at),
    TIME(updated_at));

DB_ROWS_QUERY(select_secret, secret_row,
    "SELECT " COLUMNS ", sealed FROM secrets WHERE tenant_id = $1 AND name = $2");
static const struct db_query select_secrets = {
    .row = &secret_shape,
    .sqlite = "SELECT " COLUMNS " FROM secrets WHERE tenant_id = $1 ORDER BY name",
    .postgres = "SELECT " COLUMNS " FROM secrets WHERE tenant_id = $1 ORDER BY name COLLATE \"C\"",
};
DB_QUERY(put_secret,
    "INSERT INTO secrets (tenant_id, name, shared, version, sealed, created_at, updated_at)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (tenant_id, name) DO UPDATE SET"
    " shared = excluded.shared, version = excluded.version, sealed = excluded.sealed,"
    " updated_at = excluded.updated_at WHERE secrets.version = excluded.version - 1");
DB_QUERY(count_secrets, "SELECT COUNT(*) FROM secrets WHERE tenant_id = $1");
DB_QUERY(delete_secret, "DELETE FROM secrets WHERE tenant_id = $1 AND name = $2");
const struct sealed_table secrets_sealed = {
    .kind = SECRET_KIND,
    .stale = { .row = &sealed_row,
               .sql = "SELECT name, version, sealed FROM secrets WHERE tenant_id = $1"
                      " AND substr(sealed, 2, 4) <> $2 ORDER BY name LIMIT $3" },
    .replace = { .sql = "UPDATE secrets SET sealed = $3 WHERE tenant_id = $1 AND name = $2 AND sealed = $4" },
};
/* clang-format on */

int store_secret(struct db *db, int64_t tenant_id, struct str name, struct arena *arena,
                 struct secret_row *ret, struct error *err)
{
    return rows_one(db, &select_secret, DB_ARGS(db_int(tenant_id), db_text(name)), arena, ret, err);
}

int store_secrets(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
                  struct error *err)
{
    return rows_list(db, &select_secrets, DB_ARGS(db_int(tenant_id)), arena, ret, err);
}

int store_secrets_check_room(struct db *db, int64_t tenant_id, struct error *err)
{
    return db_check_room(db, &count_secrets, DB_ARGS(db_int(tenant_id)), SECRETS_MAX, "secrets",
                         err);
}

int store_secret_put(struct db *db, int64_t tenant_id, const struct secret_row *row,
                     struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_text(row->name), db_int(row->shared), db_int(row->version),
                db_blob(row->sealed), db_int(row->created_at), db_int(row->updated_at));

    return db_run_or(db, &put_secret, args, err, ERR_CONFLICT,
                     "another user set secret '%.*s' at the same time; set it again",
                     STR_ARG(row->name));
}

int store_secret_remove(struct db *db, int64_t tenant_id, struct str name, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(name));

    return db_run_or(db, &delete_secret, args, err, ERR_NOT_FOUND, "there is no secret '%.*s'",
                     STR_ARG(name));
}
