/* store.c - SQL of models and command policies. */
#include "features/agents/directives/store.h"

#include "db/name_key.h"
#include "shape/rows.h"
#include "shape/table.h"

#define TARGET_COLUMNS "tenant_id, scope, COALESCE(full_name, agent_name) AS agent_name"
#define AT_TARGET      " WHERE tenant_id = $1 AND scope = $2 AND agent_name = $3"
#define OF_TENANT      " WHERE tenant_id = $1"

/* The most specific scope that is set and applies to a target. */
#define IN_EFFECT_AT_TARGET                                                                        \
    " WHERE (scope = 0 AND tenant_id = 0)"                                                         \
    " OR ($2 >= 1 AND scope = 1 AND tenant_id = $1)"                                               \
    " OR ($2 >= 2 AND scope = 2 AND tenant_id = $1 AND agent_name = $3)"                           \
    " ORDER BY scope DESC LIMIT 1"

#define SELECT_MODELS "SELECT " TARGET_COLUMNS ", model, 1 AS version, updated_at FROM agent_models"
#define SELECT_POLICIES                                                                            \
    "SELECT " TARGET_COLUMNS ", mode, allow, deny, version, updated_at FROM command_policies"

#define NAME "COALESCE(full_name, agent_name)"
#define SIZE_OF(table, bytes)                                                                      \
    "SELECT COUNT(*) AS n, COALESCE(SUM(" bytes "), 0) AS bytes FROM " table OF_TENANT

const char *const directive_scope_names[] = { "platform", "workspace", "agent", NULL };

/* clang-format off */
ROW_TABLE(directive_row,
    FIELD_AT("tenant_id", target.tenant_id, int64_t, T_INT),
    FIELD_AT("scope", target.scope, int, T_ENUM, .choices = directive_scope_names),
    FIELD_AT("agent_name", target.agent_name, struct str, T_STR),
    STR(model),
    FIELD_AT("mode", policy.mode, int, T_ENUM, .choices = policy_mode_names),
    FIELD_AT("allow", policy.allow, struct list, T_LIST_STR),
    FIELD_AT("deny", policy.deny, struct list, T_LIST_STR),
    INT(version), TIME(updated_at));
ROW_TABLE(directives_size, INT(n), INT(bytes));

/* By enum directive_kind, as all below. */
static const struct db_query put[] = {
    { .sql = "INSERT INTO agent_models (tenant_id, scope, agent_name, full_name, updated_at, model)"
             " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (tenant_id, scope, agent_name)"
             " DO UPDATE SET model = excluded.model, updated_at = excluded.updated_at" },
    { .sql = "INSERT INTO command_policies (tenant_id, scope, agent_name, full_name, updated_at,"
             " mode, allow, deny, version) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1)"
             " ON CONFLICT (tenant_id, scope, agent_name) DO UPDATE SET mode = excluded.mode,"
             " allow = excluded.allow, deny = excluded.deny,"
             " version = command_policies.version + 1, updated_at = excluded.updated_at" },
};
static const struct db_query unset[] = {
    { .sql = "DELETE FROM agent_models" AT_TARGET },
    { .sql = "DELETE FROM command_policies" AT_TARGET },
};
static const struct db_query in_effect[] = {
    { .row = &directive_row, .sql = SELECT_MODELS IN_EFFECT_AT_TARGET },
    { .row = &directive_row, .sql = SELECT_POLICIES IN_EFFECT_AT_TARGET },
};
static const struct db_query all[] = {
    { .row = &directive_row, .sql = SELECT_MODELS },
    { .row = &directive_row, .sql = SELECT_POLICIES },
};
static const struct db_query of_tenant[] = {
    { .row = &directive_row, .sql = SELECT_MODELS OF_TENANT },
    { .row = &directive_row, .sql = SELECT_POLICIES OF_TENANT },
};
static const struct db_query size[] = {
    { .row = &directives_size,
      .sqlite = SIZE_OF("agent_models", "LENGTH(CAST(" NAME " AS BLOB)) + LENGTH(CAST(model AS BLOB))"),
      .postgres = SIZE_OF("agent_models", "octet_length(" NAME ") + octet_length(model)") },
    { .row = &directives_size,
      .sqlite = SIZE_OF("command_policies", "LENGTH(CAST(" NAME " AS BLOB)) + LENGTH(CAST(allow AS BLOB))"
                        " + LENGTH(CAST(deny AS BLOB))"),
      .postgres = SIZE_OF("command_policies", "octet_length(" NAME ") + octet_length(allow)"
                          " + octet_length(deny)") },
};
/* clang-format on */

int directive_put(struct db *db, enum directive_kind kind, const struct directive_row *row,
                  struct error *err)
{
    const struct directive_key *target = &row->target;
    const struct policy_set *set = &row->policy;
    ARENA_SCOPED(arena);
    const struct name_key name = store_name_key(target->agent_name, &arena);

    if (kind == DIRECTIVE_MODEL)
        return db_run(db, &put[kind],
                      DB_ARGS(db_int(target->tenant_id), db_int(target->scope), db_text(name.key),
                              db_text(name.full), db_int(row->updated_at), db_text(row->model)),
                      err);
    return db_run(db, &put[kind],
                  DB_ARGS(db_int(target->tenant_id), db_int(target->scope), db_text(name.key),
                          db_text(name.full), db_int(row->updated_at), db_int(set->mode),
                          db_text(rows_json_of(&policy_set_shape, "allow", set, &arena)),
                          db_text(rows_json_of(&policy_set_shape, "deny", set, &arena))),
                  err);
}

int directive_remove(struct db *db, enum directive_kind kind, const struct directive_key *target,
                     struct error *err)
{
    struct name_room room;

    return db_run(db, &unset[kind],
                  DB_ARGS(db_int(target->tenant_id), db_int(target->scope),
                          db_text(store_name_key_in(target->agent_name, &room).key)),
                  err);
}

int directive_in_effect(struct db *db, enum directive_kind kind, const struct directive_key *target,
                        struct arena *arena, struct directive_row *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(target->tenant_id), db_int(target->scope),
                                        db_text(store_name_key(target->agent_name, arena).key));

    if (rows_one(db, &in_effect[kind], args, arena, ret, err) != 0)
        return -1;
    if (ret->version == 0)
        *ret = (struct directive_row){ .policy = { .mode = POLICY_DENY_ALL },
                                       .updated_at = TIME_NULL };
    return 0;
}

int directives_of(struct db *db, enum directive_kind kind, int64_t tenant_id, struct arena *arena,
                  struct list *ret, struct error *err)
{
    if (tenant_id == DIRECTIVES_OF_ALL)
        return rows_list(db, &all[kind], DB_NO_ARGS, arena, ret, err);
    return rows_list(db, &of_tenant[kind], DB_ARGS(db_int(tenant_id)), arena, ret, err);
}

int directives_measure(struct db *db, enum directive_kind kind, int64_t tenant_id,
                       struct arena *arena, struct directives_size *ret, struct error *err)
{
    return rows_one(db, &size[kind], DB_ARGS(db_int(tenant_id)), arena, ret, err);
}
