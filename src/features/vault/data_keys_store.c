/* data_keys_store.c - SQL of data keys, and of all that is sealed, in the tables of all features.
 */
#include "features/vault/data_keys.h"

#include "db/db.h"
#include "shape/rows.h"
#include "shape/table.h"

#define SELECT_KEYS "SELECT tenant_id, version, wrapped FROM data_keys"

/* clang-format off */
ROW_TABLE(data_key_row,
    INT(tenant_id), INT(version), STR(wrapped));

DB_ROWS_QUERY(select_newest, data_key_row,
    SELECT_KEYS " WHERE tenant_id = $1 ORDER BY version DESC LIMIT 1");
DB_ROWS_QUERY(select_version, data_key_row, SELECT_KEYS " WHERE tenant_id = $1 AND version = $2");
static const struct db_query use_newest = {
    .row = &data_key_row,
    .sqlite = SELECT_KEYS " WHERE tenant_id = $1 ORDER BY version DESC LIMIT 1",
    .postgres = SELECT_KEYS " WHERE tenant_id = $1 ORDER BY version DESC LIMIT 1 FOR SHARE",
};
static const struct db_query lock_platform = {
    .row = &data_key_row,
    .sqlite = SELECT_KEYS " WHERE tenant_id = $1 ORDER BY version DESC LIMIT 1",
    .postgres = SELECT_KEYS " WHERE tenant_id = $1 ORDER BY version DESC LIMIT 1 FOR UPDATE",
};
DB_ROWS_QUERY(select_all, data_key_row, SELECT_KEYS " ORDER BY tenant_id, version");
DB_RUN_FN(data_key_add, (const struct data_key_row *row, int64_t now_us),
    (db_int(row->tenant_id), db_int(row->version), db_blob(row->wrapped), db_int(now_us)),
    "INSERT INTO data_keys (tenant_id, version, wrapped, created_at)"
    " VALUES ($1, $2, $3, $4) ON CONFLICT (tenant_id, version) DO NOTHING");
DB_RUN_FN(data_key_set, (const struct data_key_row *row),
    (db_int(row->tenant_id), db_int(row->version), db_blob(row->wrapped)),
    "UPDATE data_keys SET wrapped = $3 WHERE tenant_id = $1 AND version = $2");
#define SELECT_TENANTS "SELECT tenant_id, MAX(version) AS version FROM data_keys WHERE tenant_id > "
#define BY_TENANT      " GROUP BY tenant_id"
ROWS_LIST_FN(data_keys_after, data_key_row, (int64_t after, int64_t limit),
    (db_int(after), db_int(limit)),
    SELECT_TENANTS "$1" BY_TENANT " ORDER BY tenant_id LIMIT $2");
ROWS_LIST_FN(data_keys_superseded, data_key_row, (int64_t limit), (db_int(limit)),
    SELECT_TENANTS "0" BY_TENANT " HAVING SUM(CASE WHEN retired_at IS NULL THEN 1 ELSE 0 END) > 1"
    " ORDER BY tenant_id LIMIT $1");
ROWS_LIST_FN(data_keys_retired, data_key_row, (const struct data_keys_span *span),
    (db_int(span->until_us), db_int(span->now_us), db_int(span->limit)),
    SELECT_TENANTS "0" BY_TENANT " HAVING SUM(CASE WHEN retired_at <= $1 OR retired_at > $2"
    " THEN 1 ELSE 0 END) > 0 ORDER BY tenant_id LIMIT $3");
DB_QUERY(any_retired, "SELECT COUNT(*) FROM data_keys WHERE retired_at IS NOT NULL");
DB_RUN_FN(data_key_retire, (const struct data_key_row *newest, int64_t at_us),
    (db_int(newest->tenant_id), db_int(newest->version), rows_time_value(at_us)),
    "UPDATE data_keys SET retired_at = $3 WHERE tenant_id = $1 AND version < $2");
static const struct db_query lock_older = {
    .row = &data_key_row,
    .sqlite = SELECT_KEYS " WHERE tenant_id = $1 AND version < $2",
    .postgres = SELECT_KEYS " WHERE tenant_id = $1 AND version < $2 FOR UPDATE",
};
DB_QUERY(delete_older, "DELETE FROM data_keys WHERE tenant_id = $1 AND version < $2");

ROW_TABLE_OF(losses_row, struct vault_losses,
    INT(secrets), INT(webhook_secrets), INT(second_factors));

#define ANY_TENANT(id, text) static const struct db_query id = { .sql = (text), .citus = (text) }

#define COUNT_SEALED                                                                               \
    "SELECT (SELECT COUNT(*) FROM secrets) AS secrets,"                                            \
    " (SELECT COUNT(*) FROM webhooks WHERE removed = 0 AND LENGTH(secret) > 0)"                    \
    " AS webhook_secrets,"                                                                         \
    " (SELECT COUNT(*) FROM user_factors WHERE active = 1) AS second_factors"
static const struct db_query count_sealed = {
    .row = &losses_row, .sql = COUNT_SEALED, .citus = COUNT_SEALED,
};
ANY_TENANT(delete_secrets, "DELETE FROM secrets");
ANY_TENANT(empty_webhooks,
    "UPDATE webhooks SET enabled = CASE format WHEN 0 /* standard */ THEN 0 ELSE enabled END,"
    " secret = $1, old_secret = NULL, old_until = NULL");
ANY_TENANT(delete_factors, "DELETE FROM user_factors");
ANY_TENANT(delete_recovery, "DELETE FROM recovery_codes");
ANY_TENANT(delete_data_keys, "DELETE FROM data_keys");

/* Each writer has one of these locks (db/postgres/connect.c). Those that this process has besides
 * this session it took later. On Citus a node may have its own on a worker, which is not seen. */
static const struct db_query count_writers = {
    .sqlite = "SELECT 0",
    .postgres = "SELECT COUNT(*) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
                " WHERE l.locktype = 'advisory' AND l.classid = 721198025"
                " AND a.datname = current_database() AND a.pid <> pg_backend_pid()"
                " AND COALESCE(a.backend_start < (SELECT m.backend_start FROM pg_stat_activity m"
                " WHERE m.pid = pg_backend_pid()), true)",
};
/* clang-format on */

int data_key_get(struct db *db, int64_t tenant_id, int64_t version, struct arena *arena,
                 struct data_key_row *ret, struct error *err)
{
    const struct db_query *q = version == DATA_KEY_NEWEST    ? &select_newest
                               : version == DATA_KEY_TO_SEAL ? &use_newest
                                                             : &select_version;

    return rows_one(db, q, DB_ARGS(db_int(tenant_id), db_int(version)), arena, ret, err);
}

int data_key_lock(struct db *db, struct arena *arena, struct data_key_row *ret, struct error *err)
{
    return rows_one(db, &lock_platform, DB_ARGS(db_int(DATA_KEY_PLATFORM)), arena, ret, err);
}

int data_keys_all(struct db *db, struct arena *arena, struct list *ret, struct error *err)
{
    return rows_list(db, &select_all, DB_NO_ARGS, arena, ret, err);
}

int data_keys_any_retired(struct db *db, bool *ret, struct error *err)
{
    return db_exec_bool(db, &any_retired, DB_NO_ARGS, ret, err);
}

int data_key_lock_older(struct db *db, const struct data_key_row *newest, struct error *err)
{
    return db_run(db, &lock_older, DB_ARGS(db_int(newest->tenant_id), db_int(newest->version)),
                  err);
}

int data_key_destroy(struct db *db, const struct data_key_row *newest, int64_t *ret_n,
                     struct error *err)
{
    if (db_run(db, &delete_older, DB_ARGS(db_int(newest->tenant_id), db_int(newest->version)),
               err) != 0)
        return -1;
    *ret_n = db_changes(db);
    return 0;
}

int sealed_count(struct db *db, struct vault_losses *ret, struct error *err)
{
    ARENA_SCOPED(arena);

    return rows_one(db, &count_sealed, DB_NO_ARGS, &arena, ret, err);
}

int sealed_drop(struct db *db, struct error *err)
{
    return db_run(db, &delete_secrets, DB_NO_ARGS, err) != 0 ||
                   db_run(db, &empty_webhooks, DB_ARGS(db_blob(STR_LIT(""))), err) != 0 ||
                   db_run(db, &delete_factors, DB_NO_ARGS, err) != 0 ||
                   db_run(db, &delete_recovery, DB_NO_ARGS, err) != 0 ||
                   db_run(db, &delete_data_keys, DB_NO_ARGS, err) != 0
               ? -1
               : 0;
}

int vault_used_by_others(struct db *db, bool *ret, struct error *err)
{
    return db_exec_bool(db, &count_writers, DB_NO_ARGS, ret, err);
}
