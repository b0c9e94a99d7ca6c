/* params.c - reads agents' declared parameters and checks values against them. */
#include "features/agents/config/params.h"

#include "features/agents/config/config_type.h"
#include "features/agents/registrations_store.h"
#include "shape/problems.h"

/* The text was validated when it was stored; if it is unreadable, nothing is declared. */
static struct config_schema_decl read_decl(struct str text, struct arena *arena)
{
    struct config_schema_decl decl = { 0 };

    if (str_is_null(text) || shape_read_json(&config_schema_decl_shape, text, arena, &decl,
                                             problems_new(arena, "body")) != 0)
        return (struct config_schema_decl){ 0 };
    return decl;
}

int params_of_agent(struct db *db, int64_t tenant_id, struct str agent_name, struct arena *arena,
                    struct config_schema_decl *ret, struct error *err)
{
    struct str text;

    if (store_config_schema(db, tenant_id, agent_name, arena, &text, err) != 0)
        return -1;
    *ret = read_decl(text, arena);
    return 0;
}

const struct config_param_decl *params_find(const struct config_schema_decl *decl, struct str key)
{
    const struct config_param_decl *params = decl->params.items;

    for (size_t i = 0; i < decl->params.n; i++)
        if (str_eq(params[i].key, key))
            return &params[i];
    return NULL;
}

static bool has_choices(const struct config_param_decl *param)
{
    return param->opciones.n > 0 && !str_eq_c(param->value_type, "list") &&
           !str_eq_c(param->value_type, "json");
}

bool params_fits(const struct config_param_decl *param, struct str text, struct arena *arena)
{
    const struct str *choices = param->opciones.items;
    bool chosen = !has_choices(param);

    for (size_t i = 0; i < param->opciones.n && !chosen; i++)
        chosen = str_eq(choices[i], text);
    return chosen && config_type_fits(param->value_type, text, arena);
}

int params_refuse(const struct config_param_decl *param, struct str agent_name, struct error *err)
{
    if (has_choices(param))
        return err_set(err, ERR_INVALID,
                       "Not valid for what agent '%.*s' declared: type %.*s, and one of its "
                       "%zu choices (opciones)",
                       STR_ARG(agent_name), STR_ARG(param->value_type), param->opciones.n);
    return err_set(err, ERR_INVALID, "Not valid for what agent '%.*s' declared: type %.*s",
                   STR_ARG(agent_name), STR_ARG(param->value_type));
}

/* Search for an agent for which a value is not valid. */
struct check {
    struct str key, text;
    struct error *err;
    bool refused;
};

static bool check_agent(void *ctx, struct str agent_name, struct str config_schema)
{
    const struct config_param_decl *param;
    struct config_schema_decl decl;
    struct check *check = ctx;
    ARENA_SCOPED(arena);

    decl = read_decl(config_schema, &arena);
    param = params_find(&decl, check->key);
    if (param != NULL && !params_fits(param, check->text, &arena)) {
        check->refused = true;
        (void)params_refuse(param, agent_name, check->err);
    }
    return !check->refused;
}

int params_check_workspace(struct db *db, int64_t tenant_id, struct str key, struct str text,
                           struct error *err)
{
    struct check check = { .key = key, .text = text, .err = err };
    BUF_SCOPED(word, SIZE_MAX); /* bounded by the size of the request */
    int r;

    buf_add_json(&word, key);
    r = store_config_schemas_with(db, tenant_id, buf_str(&word), check_agent, &check, err);
    return check.refused ? -1 : r;
}
