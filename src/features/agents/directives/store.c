/* store.c - SQL of models and command policies. */
#include "features/agents/directives/store.h"

#include "db/name_key.h"
#include "shape/problems.h"
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

#define SELECT_MODELS "SELECT " TARGET_COLUMNS ", model, updated_at FROM agent_models"
#define SELECT_POLICIES                                                                            \
    "SELECT " TARGET_COLUMNS ", mode, allow, deny, version, updated_at FROM command_policies"

const char *const directive_scope_names[] = { "platform", "workspace", "agent", NULL };

/* clang-format off */
ROW_TABLE(model_row,
    STR(model), TIME(updated_at),
    FIELD_AT("tenant_id", target.tenant_id, int64_t, T_INT),
    FIELD_AT("scope", target.scope, int, T_ENUM, .choices = directive_scope_names),
    FIELD_AT("agent_name", target.agent_name, struct str, T_STR));

DB_QUERY(set_model,
    "INSERT INTO agent_models (tenant_id, scope, agent_name, full_name, model, updated_at)"
    " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (tenant_id, scope, agent_name)"
    " DO UPDATE SET model = excluded.model, updated_at = excluded.updated_at");
DB_QUERY(unset_model, "DELETE FROM agent_models" AT_TARGET);
static const struct db_query model_at = { .row = &model_row, .sql = SELECT_MODELS IN_EFFECT_AT_TARGET };
DB_ROWS_QUERY(all_models, model_row, SELECT_MODELS);
DB_ROWS_QUERY(tenant_models, model_row, SELECT_MODELS OF_TENANT);

DB_QUERY(set_policy,
    "INSERT INTO command_policies (tenant_id, scope, agent_name, full_name, mode, allow, deny,"
    " version, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8)"
    " ON CONFLICT (tenant_id, scope, agent_name) DO UPDATE SET mode = excluded.mode,"
    " allow = excluded.allow, deny = excluded.deny,"
    " version = command_policies.version + 1, updated_at = excluded.updated_at");
DB_QUERY(unset_policy, "DELETE FROM command_policies" AT_TARGET);
DB_QUERY(policy_at, SELECT_POLICIES IN_EFFECT_AT_TARGET);
DB_QUERY(all_policies, SELECT_POLICIES);
DB_QUERY(tenant_policies, SELECT_POLICIES OF_TENANT);

#define NAME "COALESCE(full_name, agent_name)"
#define SIZE_OF(table, bytes)                                                                      \
    "SELECT COUNT(*) AS n, COALESCE(SUM(" bytes "), 0) AS bytes FROM " table " WHERE tenant_id = $1"
ROW_TABLE(directives_size, INT(n), INT(bytes));
static const struct db_query models_size = {
    .row = &directives_size,
    .sqlite = SIZE_OF("agent_models", "LENGTH(CAST(" NAME " AS BLOB)) + LENGTH(CAST(model AS BLOB))"),
    .postgres = SIZE_OF("agent_models", "octet_length(" NAME ") + octet_length(model)"),
};
static const struct db_query policies_size = {
    .row = &directives_size,
    .sqlite = SIZE_OF("command_policies", "LENGTH(CAST(" NAME " AS BLOB)) + LENGTH(CAST(allow AS BLOB))"
                      " + LENGTH(CAST(deny AS BLOB))"),
    .postgres = SIZE_OF("command_policies", "octet_length(" NAME ") + octet_length(allow)"
                        " + octet_length(deny)"),
};
/* clang-format on */

/* Runs a statement with the target as its three parameters. */
static int exec_at(struct db *db, const struct db_query *q, const struct directive_key *target,
                   db_row_fn *on_row, void *ctx, struct error *err)
{
    struct name_room room;

    return db_exec(db, q,
                   DB_ARGS(db_int(target->tenant_id), db_int(target->scope),
                           db_text(store_name_key_in(target->agent_name, &room).key)),
                   on_row, ctx, err);
}

int model_put(struct db *db, const struct model_row *row, struct error *err)
{
    struct name_room room;
    const struct name_key name = store_name_key_in(row->target.agent_name, &room);

    return db_run(db, &set_model,
                  DB_ARGS(db_int(row->target.tenant_id), db_int(row->target.scope),
                          db_text(name.key), db_text(name.full), db_text(row->model),
                          db_int(row->updated_at)),
                  err);
}

int model_remove(struct db *db, const struct directive_key *target, struct error *err)
{
    return exec_at(db, &unset_model, target, NULL, NULL, err);
}

int model_in_effect(struct db *db, const struct directive_key *target, struct arena *arena,
                    struct model_row *ret, struct error *err)
{
    const struct db_args args = DB_ARGS(db_int(target->tenant_id), db_int(target->scope),
                                        db_text(store_name_key(target->agent_name, arena).key));

    if (rows_one(db, &model_at, args, arena, ret, err) != 0)
        return -1;
    if (str_is_null(ret->model))
        ret->updated_at = TIME_NULL;
    return 0;
}

int models_of(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
              struct error *err)
{
    const bool all = tenant_id == DIRECTIVES_OF_ALL;

    return rows_list(db, all ? &all_models : &tenant_models, DB_ARGS(db_int(tenant_id)), arena, ret,
                     err);
}

int policy_put(struct db *db, const struct directive_key *target, const struct policy_set *set,
               int64_t now_us, struct error *err)
{
    struct name_key name;
    ARENA_SCOPED(arena);

    name = store_name_key(target->agent_name, &arena);
    return db_run(db, &set_policy,
                  DB_ARGS(db_int(target->tenant_id), db_int(target->scope), db_text(name.key),
                          db_text(name.full), db_int(set->mode),
                          db_text(rows_json_of(&policy_set_shape, "allow", set, &arena)),
                          db_text(rows_json_of(&policy_set_shape, "deny", set, &arena)),
                          db_int(now_us)),
                  err);
}

int policy_remove(struct db *db, const struct directive_key *target, struct error *err)
{
    return exec_at(db, &unset_policy, target, NULL, NULL, err);
}

/* An unreadable policy denies everything: only this file writes them. */
static struct policy_set read_policy(struct arena *arena, const struct db_row *row)
{
    int64_t mode = db_get_int(row, 3);
    struct policy_set policy = { .mode = POLICY_DENY_ALL };
    const struct str allow = db_get_text(row, 4), deny = db_get_text(row, 5);
    struct str text;

    if (mode < POLICY_ALLOWLIST || mode > POLICY_ALLOW_ALL)
        return policy;
    text = arena_printf(arena, "{\"mode\":\"%s\",\"allow\":%.*s,\"deny\":%.*s}",
                        policy_mode_names[mode], STR_ARG(allow), STR_ARG(deny));
    if (shape_read_json(&policy_set_shape, text, arena, &policy, problems_new(arena, "body")) != 0)
        return (struct policy_set){ .mode = POLICY_DENY_ALL };
    return policy;
}

static bool add_policy(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;
    struct policy_row *p = rows_add(rows);

    p->target = (struct directive_key){ .tenant_id = db_get_int(row, 0),
                                        .scope = (int)db_get_int(row, 1),
                                        .agent_name = rows_text(rows->arena, row, 2) };
    p->policy = read_policy(rows->arena, row);
    p->version = db_get_int(row, 6);
    p->updated_at = db_get_int(row, 7);
    return true;
}

int policy_in_effect(struct db *db, const struct directive_key *target, struct arena *arena,
                     struct policy_row *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct policy_row) };

    if (exec_at(db, &policy_at, target, add_policy, &rows, err) != 0)
        return -1;
    *ret = rows.n == 0 ? (struct policy_row){ .policy = { .mode = POLICY_DENY_ALL },
                                              .updated_at = TIME_NULL }
                       : *(struct policy_row *)rows.items;
    return 0;
}

int policies_of(struct db *db, int64_t tenant_id, struct arena *arena, struct list *ret,
                struct error *err)
{
    const bool all = tenant_id == DIRECTIVES_OF_ALL;
    struct rows rows = { .arena = arena, .size = sizeof(struct policy_row) };

    if (db_exec(db, all ? &all_policies : &tenant_policies, DB_ARGS(db_int(tenant_id)), add_policy,
                &rows, err) != 0)
        return -1;
    *ret = (struct list){ rows.items, rows.n };
    return 0;
}

int directives_measure(struct db *db, int64_t tenant_id, bool of_policies, struct arena *arena,
                       struct directives_size *ret, struct error *err)
{
    return rows_one(db, of_policies ? &policies_size : &models_size, DB_ARGS(db_int(tenant_id)),
                    arena, ret, err);
}
