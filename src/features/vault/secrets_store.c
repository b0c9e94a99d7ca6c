/* secrets_store.c - SQL of secrets. */
#include "features/vault/secrets_store.h"

#include "db/db.h"
#include "shape/rows.h"

#define COLUMNS "name, shared, version, created_at, updated_at"

/* clang-format off */
static const struct db_query select_secret = {
    .sql = "SELECT " COLUMNS ", sealed FROM secrets WHERE tenant_id = $1 AND name = $2",
 };
static const struct db_query select_secrets = {
    .sqlite = "SELECT " COLUMNS ", NULL FROM secrets WHERE tenant_id = $1 ORDER BY name",
    .postgres = "SELECT " COLUMNS ", NULL FROM secrets WHERE tenant_id = $1 ORDER BY name COLLATE \"C\"",
 };
static const struct db_query put_secret = {
    .sql = "INSERT INTO secrets (tenant_id, name, shared, version, sealed, created_at, updated_at)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (tenant_id, name) DO UPDATE SET"
           " shared = excluded.shared, version = excluded.version, sealed = excluded.sealed,"
           " updated_at = excluded.updated_at WHERE secrets.version = excluded.version - 1",
};
static const struct db_query delete_secret = {
    .sql = "DELETE FROM secrets WHERE tenant_id = $1 AND name = $2",
 };
/* clang-format on */

static bool add_secret(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct secret_row *s = rows_add(rows);

    s->name = rows_text(rows->arena, row, 0);
    s->shared = db_get_int(row, 1) != 0;
    s->version = db_get_int(row, 2);
    s->created_at = db_get_int(row, 3);
    s->updated_at = db_get_int(row, 4);
    s->sealed = arena_copy(rows->arena, db_get_blob(row, 5));
    return true;
}

int store_secret(struct db *db, int64_t tenant_id, struct str name, struct arena *arena,
                 struct secret_row *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct secret_row) };
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(name));

    if (db_exec(db, &select_secret, args, add_secret, &rows, err) != 0)
        return -1;
    *ret = rows.n == 0 ? (struct secret_row){ 0 } : *(struct secret_row *)rows.items;
    return 0;
}

int store_secrets(struct db *db, int64_t tenant_id, struct arena *arena, struct secret_row **ret,
                  size_t *ret_n, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct secret_row) };
    const struct db_args args = DB_ARGS(db_int(tenant_id));

    if (db_exec(db, &select_secrets, args, add_secret, &rows, err) != 0)
        return -1;
    *ret = rows.items;
    *ret_n = rows.n;
    return 0;
}

int store_secret_put(struct db *db, int64_t tenant_id, const struct secret_row *row,
                     struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_int(tenant_id), db_text(row->name), db_int(row->shared), db_int(row->version),
                db_blob(row->sealed), db_int(row->created_at), db_int(row->updated_at));

    if (db_exec(db, &put_secret, args, NULL, NULL, err) != 0)
        return -1;
    if (db_changes(db) == 0)
        return err_set(err, ERR_CONFLICT,
                       "secret '%.*s' was set by somebody else at the same moment; set it again",
                       STR_ARG(row->name));
    return 0;
}

int store_secret_remove(struct db *db, int64_t tenant_id, struct str name, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(name));

    if (db_exec(db, &delete_secret, args, NULL, NULL, err) != 0)
        return -1;
    if (db_changes(db) == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no secret '%.*s'", STR_ARG(name));
    return 0;
}
