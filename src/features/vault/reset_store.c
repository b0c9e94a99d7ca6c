/* reset_store.c - SQL of what is sealed, in the tables of all features. */
#include "features/vault/reset_store.h"

#include "db/db.h"
#include "features/vault/vault.h"
#include "shape/rows.h"
#include "shape/table.h"

/* clang-format off */
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

int store_sealed_count(struct db *db, struct vault_losses *ret, struct error *err)
{
    ARENA_SCOPED(arena);

    return rows_one(db, &count_sealed, DB_NO_ARGS, &arena, ret, err);
}

int store_sealed_drop(struct db *db, struct error *err)
{
    return db_run(db, &delete_secrets, DB_NO_ARGS, err) != 0 ||
                   db_run(db, &empty_webhooks, DB_ARGS(db_blob(STR_LIT(""))), err) != 0 ||
                   db_run(db, &delete_factors, DB_NO_ARGS, err) != 0 ||
                   db_run(db, &delete_recovery, DB_NO_ARGS, err) != 0 ||
                   db_run(db, &delete_data_keys, DB_NO_ARGS, err) != 0
               ? -1
               : 0;
}

int store_used_by_others(struct db *db, bool *ret, struct error *err)
{
    return db_exec_bool(db, &count_writers, DB_NO_ARGS, ret, err);
}
