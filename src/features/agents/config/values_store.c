/* values_store.c - SQL of configuration values. */
#include "features/agents/config/values_store.h"

#include "db/db.h"
#include "db/name_key.h"
#include "shape/rows.h"

#define SELECT_VALUES                                                                              \
    "SELECT scope, COALESCE(full_name, agent_name), COALESCE(full_key, key), value, updated_at,"   \
    " author FROM config_values WHERE tenant_id = $1"

/* clang-format off */
static const struct db_query select_values = {
    .sqlite = SELECT_VALUES " AND ((scope = 1 AND agent_name = '') OR"
              " ($2 = 2 AND scope = 2 AND agent_name = $3)) ORDER BY key, scope DESC",
    .postgres = SELECT_VALUES " AND ((scope = 1 AND agent_name = '') OR"
                " ($2 = 2 AND scope = 2 AND agent_name = $3)) ORDER BY key COLLATE \"C\", scope DESC",
};
static const struct db_query select_of_key = {
    .sql = SELECT_VALUES " AND key = $2 LIMIT 1000",
 };
static const struct db_query set_value = {
    .sql = "INSERT INTO config_values (tenant_id, scope, agent_name, full_name, key, full_key,"
           " value, updated_at, author) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
           " ON CONFLICT (tenant_id, scope, agent_name, key) DO UPDATE SET value = excluded.value,"
           " updated_at = excluded.updated_at, author = excluded.author",
};
static const struct db_query unset_value = {
    .sql = "DELETE FROM config_values WHERE tenant_id = $1 AND scope = $2 AND agent_name = $3"
           " AND key = $4",
};
/* clang-format on */

static bool add_value(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct value_row *v = rows_add(rows);

    v->scope = (enum directive_scope)db_get_int(row, 0);
    v->agent_name = rows_text(rows->arena, row, 1);
    v->key = rows_text(rows->arena, row, 2);
    v->value = rows_text(rows->arena, row, 3);
    v->updated_at = db_get_int(row, 4);
    v->author = rows_text(rows->arena, row, 5);
    return true;
}

int store_values(struct db *db, const struct directive_key *place, struct arena *arena,
                 struct value_row **ret, size_t *ret_n, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct value_row) };
    const struct db_args args = DB_ARGS(db_int(place->tenant_id), db_int(place->scope),
                                        db_text(store_name_key(place->agent_name, arena).key));

    if (db_exec(db, &select_values, args, add_value, &rows, err) != 0)
        return -1;
    *ret = rows.items;
    *ret_n = rows.n;
    return 0;
}

int store_values_of_key(struct db *db, int64_t tenant_id, struct str key, struct arena *arena,
                        struct list *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct value_row) };
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_text(store_name_key(key, arena).key));

    if (db_exec(db, &select_of_key, args, add_value, &rows, err) != 0)
        return -1;
    *ret = (struct list){ rows.items, rows.n };
    return 0;
}

int store_value_set(struct db *db, const struct directive_key *place, const struct value_row *row,
                    struct error *err)
{
    struct name_key name, key;
    struct arena arena;
    int r;

    arena_init(&arena);
    name = store_name_key(place->agent_name, &arena);
    key = store_name_key(row->key, &arena);
    r = db_exec(db, &set_value,
                DB_ARGS(db_int(place->tenant_id), db_int(place->scope), db_text(name.key),
                        db_text(name.full), db_text(key.key), db_text(key.full),
                        db_text(row->value), db_int(row->updated_at), db_text(row->author)),
                NULL, NULL, err);
    arena_done(&arena);
    return r;
}

int store_value_unset(struct db *db, const struct directive_key *place, struct str key,
                      struct error *err)
{
    struct arena arena;
    int r;

    arena_init(&arena);
    r = db_exec(db, &unset_value,
                DB_ARGS(db_int(place->tenant_id), db_int(place->scope),
                        db_text(store_name_key(place->agent_name, &arena).key),
                        db_text(store_name_key(key, &arena).key)),
                NULL, NULL, err);
    arena_done(&arena);
    return r;
}
