/* values_store.c - SQL of configuration values. */
#include "features/agents/config/values_store.h"

#include "db/name_key.h"
#include "shape/rows.h"
#include "shape/table.h"

#define SELECT_VALUES                                                                              \
    "SELECT scope, COALESCE(full_name, agent_name) AS agent_name, COALESCE(full_key, key) AS key," \
    " value, updated_at, author FROM config_values WHERE tenant_id = $1"

/* clang-format off */
ROW_TABLE(value_row,
    ENUM(scope, .choices = directive_scope_names), STR(agent_name), STR(key), STR(value),
    TIME(updated_at), STR(author));

ROW_TABLE_OF(values_size_row, struct values_size,
    INT(n), INT(bytes));

#define AT_PLACE                                                                                   \
    " AND ((scope = 1 AND config_values.agent_name = '')"                                          \
    " OR ($2 = 2 AND scope = 2 AND config_values.agent_name = $3)) ORDER BY config_values.key"
static const struct db_query select_values = {
    .row = &value_row,
    .sqlite = SELECT_VALUES AT_PLACE ", scope DESC",
    .postgres = SELECT_VALUES AT_PLACE " COLLATE \"C\", scope DESC",
};
DB_ROWS_QUERY(select_value, value_row,
    SELECT_VALUES " AND config_values.key = $4 AND ((scope = 1 AND config_values.agent_name = '')"
    " OR ($2 = 2 AND scope = 2 AND config_values.agent_name = $3)) ORDER BY scope DESC LIMIT 1");
#define OTHERS " FROM config_values WHERE tenant_id = $1 AND scope = $2 AND agent_name = $3 AND key <> $4"
static const struct db_query measure_others = {
    .row = &values_size_row,
    .sqlite = "SELECT COUNT(*) AS n, COALESCE(SUM(LENGTH(CAST(value AS BLOB))), 0) AS bytes" OTHERS,
    .postgres = "SELECT COUNT(*) AS n, COALESCE(SUM(octet_length(value)), 0) AS bytes" OTHERS,
};
ROWS_LIST_FN(values_of_key, value_row, (int64_t tenant_id, struct str key),
    (db_int(tenant_id), db_text(store_name_key(key, arena).key)),
    SELECT_VALUES " AND config_values.key = $2 LIMIT 1000");
DB_QUERY(set_value,
    "INSERT INTO config_values (tenant_id, scope, agent_name, full_name, key, full_key,"
    " value, updated_at, author) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
    " ON CONFLICT (tenant_id, scope, agent_name, key) DO UPDATE SET value = excluded.value,"
    " updated_at = excluded.updated_at, author = excluded.author");
DB_QUERY(unset_value,
    "DELETE FROM config_values WHERE tenant_id = $1 AND scope = $2 AND agent_name = $3"
    " AND key = $4");
/* clang-format on */

int values_at(struct db *db, const struct directive_key *target, struct arena *arena,
              struct list *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(target->tenant_id), db_int(target->scope),
                                        db_text(store_name_key(target->agent_name, arena).key));

    return rows_list(db, &select_values, args, arena, ret, err);
}

int value_at(struct db *db, const struct directive_key *target, struct str key, struct arena *arena,
             struct value_row *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(target->tenant_id), db_int(target->scope),
                                        db_text(store_name_key(target->agent_name, arena).key),
                                        db_text(store_name_key(key, arena).key));

    return rows_one(db, &select_value, args, arena, ret, err);
}

int values_measure(struct db *db, const struct directive_key *target, struct str but_key,
                   struct arena *arena, struct values_size *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(target->tenant_id), db_int(target->scope),
                                        db_text(store_name_key(target->agent_name, arena).key),
                                        db_text(store_name_key(but_key, arena).key));

    return rows_one(db, &measure_others, args, arena, ret, err);
}

int value_put(struct db *db, const struct directive_key *target, const struct value_row *row,
              struct error *err)
{
    struct name_room room, key_room;
    const struct name_key name = store_name_key_in(target->agent_name, &room);
    const struct name_key key = store_name_key_in(row->key, &key_room);

    return db_run(db, &set_value,
                  DB_ARGS(db_int(target->tenant_id), db_int(target->scope), db_text(name.key),
                          db_text(name.full), db_text(key.key), db_text(key.full),
                          db_text(row->value), db_int(row->updated_at), db_text(row->author)),
                  err);
}

int value_remove(struct db *db, const struct directive_key *target, struct str key,
                 struct error *err)
{
    struct name_room room, key_room;

    return db_run(db, &unset_value,
                  DB_ARGS(db_int(target->tenant_id), db_int(target->scope),
                          db_text(store_name_key_in(target->agent_name, &room).key),
                          db_text(store_name_key_in(key, &key_room).key)),
                  err);
}
