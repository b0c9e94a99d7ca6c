/* params.c - the types of parameters, what agents declare, and values checked against it. */
#include "features/agents/config/params.h"

#include <math.h>

#include "features/agents/agents_store.h"
#include "shape/json.h"
#include "shape/problems.h"

typedef bool fits_fn(yyjson_val *value);

/* A 64-bit integer, also with decimals: 5 and 5.0. */
static bool is_integer(yyjson_val *value)
{
    double real;

    if (yyjson_is_uint(value))
        return yyjson_get_uint(value) <= INT64_MAX;
    if (!yyjson_is_real(value))
        return yyjson_is_sint(value);
    real = yyjson_get_real(value);
    return real == floor(real) && real >= -0x1p63 && real < 0x1p63;
}

static bool is_number(yyjson_val *value)
{
    if (yyjson_is_raw(value))
        return !json_is_raw_real(value) && isfinite(json_raw_to_real(value));
    return yyjson_is_num(value);
}

static bool is_boolean(yyjson_val *value)
{
    return yyjson_is_bool(value);
}

static bool is_anything(yyjson_val *value)
{
    (void)value;
    return true;
}

static bool is_list(yyjson_val *value)
{
    return yyjson_is_arr(value);
}

static const struct {
    const char *name;
    fits_fn *fits; /* of the text as JSON; NULL: any text */
} types[] = {
    { "string", NULL },        { "integer", is_integer }, { "number", is_number },
    { "boolean", is_boolean }, { "json", is_anything },   { "list", is_list },
};

static fits_fn *find_type(struct str value_type, bool *ret_known)
{
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (str_eq_c(value_type, types[i].name)) {
            *ret_known = true;
            return types[i].fits;
        }
    *ret_known = false;
    return NULL;
}

bool config_type_is_known(struct str value_type)
{
    bool known;

    (void)find_type(value_type, &known);
    return known;
}

bool config_type_fits(struct str value_type, struct str text, struct arena *arena)
{
    bool known;
    fits_fn *fits = find_type(value_type, &known);
    struct json_fault fault;
    struct json_doc doc;

    if (fits == NULL)
        return true;
    return json_read(text, arena, &doc, &fault) == 0 && fits(doc.root);
}

bool config_type_write(struct str value_type, struct str text, struct arena *arena, struct buf *out)
{
    bool known;
    fits_fn *fits = find_type(value_type, &known);
    struct json_fault fault;
    struct json_doc doc;

    if (fits == NULL) {
        buf_add_json(out, text);
        return true;
    }
    if (json_read(text, arena, &doc, &fault) != 0 || !fits(doc.root))
        return false;
    if (fits == is_integer && yyjson_is_real(doc.root))
        buf_add_int(out, (int64_t)yyjson_get_real(doc.root));
    else
        buf_add(out, json_write_text(doc.root, arena));
    return true;
}

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

    if (config_schema_of(db, tenant_id, agent_name, arena, &text, err) != 0)
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

static bool check_agent(void *ctx, const struct db_row *row)
{
    const struct config_param_decl *param;
    struct config_schema_decl decl;
    struct check *check = ctx;
    ARENA_SCOPED(arena);

    decl = read_decl(db_get_text(row, 1), &arena);
    param = params_find(&decl, check->key);
    if (param != NULL && !params_fits(param, check->text, &arena)) {
        check->refused = true;
        (void)params_refuse(param, db_get_text(row, 0), check->err);
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
    r = config_schemas_with(db, tenant_id, buf_str(&word), check_agent, &check, err);
    return check.refused ? -1 : r;
}
