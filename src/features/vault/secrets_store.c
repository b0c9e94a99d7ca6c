/* secrets_store.c - SQL of secrets. */
#include "features/vault/secrets.h"

#include "db/db.h"
#include "db/lists.h"
#include "shape/rows.h"
#include "shape/table.h"

#define SECRET_COLUMNS "name, shared, version, created_at, updated_at"

/* clang-format off */
ROW_TABLE_OF(secret_row, struct secret,
    STR(name), BOOL(shared), INT(version), STR(sealed), TIME(created_at),
    TIME(updated_at));

DB_ROWS_QUERY(select_secret, secret_row,
    "SELECT " SECRET_COLUMNS ", sealed FROM secrets WHERE tenant_id = $1 AND name = $2");
#define NAMED "SELECT s.name, s.shared, s.version, s.created_at, s.updated_at, substr(s.sealed, 1, "
/* $2 has the names (db_text_list()): one is looked up after the other. */
static const struct db_query select_named = {
    .row = &secret_row,
    .sqlite = NAMED "$3) AS sealed FROM json_each($2) j CROSS JOIN secrets s"
              " WHERE s.tenant_id = $1 AND s.name = j.value ORDER BY s.name",
    .postgres = "SELECT f.* FROM unnest($2::text[]) AS x(name) CROSS JOIN LATERAL ("
                NAMED "CAST($3 AS INTEGER)) AS sealed FROM secrets s"
                " WHERE s.tenant_id = $1 AND s.name = x.name OFFSET 0) f"
                " ORDER BY f.name COLLATE \"C\"",
};
static const struct db_query select_secrets = {
    .row = &secret_shape,
    .sqlite = "SELECT " SECRET_COLUMNS " FROM secrets WHERE tenant_id = $1 ORDER BY name",
    .postgres = "SELECT " SECRET_COLUMNS " FROM secrets WHERE tenant_id = $1 ORDER BY name COLLATE \"C\"",
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

int secret_get(struct db *db, int64_t tenant_id, struct str name, struct arena *arena,
               struct secret *ret, struct error *err)
{
    return rows_one(db, &select_secret, DB_ARGS(db_int(tenant_id), db_text(name)), arena, ret, err);
}

int secrets_named(struct db *db, int64_t tenant_id, const struct secrets_wanted *wanted,
                  struct arena *arena, struct list *ret, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_text_list(db, wanted->names.items, wanted->names.n, arena),
                db_int(wanted->bytes));

    return rows_list(db, &select_named, args, arena, ret, err);
}

int secrets_list(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
                 struct error *err)
{
    return rows_list(db, &select_secrets, DB_ARGS(db_int(tenant_id)), arena, ret, err);
}

int secrets_check_room(struct db *db, int64_t tenant_id, struct error *err)
{
    return db_check_room(db, &count_secrets, DB_ARGS(db_int(tenant_id)), SECRETS_MAX, "secrets",
                         err);
}

int secret_put(struct db *db, int64_t tenant_id, const struct secret *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_text(row->name), db_int(row->shared), db_int(row->version),
                db_blob(row->sealed), db_int(row->created_at), db_int(row->updated_at));

    return db_run_or(db, &put_secret, args, err, ERR_CONFLICT,
                     "another user set secret '%.*s' at the same time; set it again",
                     STR_ARG(row->name));
}

int secret_remove(struct db *db, int64_t tenant_id, struct str name, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(name));

    return db_run_or(db, &delete_secret, args, err, ERR_NOT_FOUND, "there is no secret '%.*s'",
                     STR_ARG(name));
}
