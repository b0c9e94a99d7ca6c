/* values.c - lists and sets values, and checks who may see and set them. */
#include "features/agents/config/values.h"

#include "base/clock.h"
#include "base/map.h"
#include "features/agents/config/catalog_store.h"
#include "features/agents/config/params.h"
#include "features/agents/config/secret_key_names.h"
#include "features/agents/config/values_store.h"
#include "features/vault/reference.h"

enum { VALUES_MAX = 1000, VALUES_BYTES_MAX = 4 << 20 }; /* of a workspace, and of each agent */

/* The key's catalog entry, or the one it would get when it is first set. */
static int entry_of(struct db *db, int64_t tenant_id, struct str key, struct arena *arena,
                    struct catalog_parameter *ret, struct error *err)
{
    if (store_catalog_entry(db, tenant_id, key, arena, ret, err) != 0)
        return -1;
    if (str_is_null(ret->key))
        *ret = secret_key_names_first_entry(key);
    return 0;
}

/* Admins may see a reference: they may list the secrets anyway. */
static bool may_see(const struct values_view *view, const struct catalog_parameter *entry,
                    struct str value)
{
    if (str_eq_c(entry->see, "member"))
        return true;
    if (!view->is_admin)
        return false;
    return str_eq_c(entry->see, "admin") || str_starts(value, STR_LIT("vault:"));
}

/* A key's stored value and its declaration; either may be NULL. */
struct found {
    struct str key;
    const struct value_row *row;
    const struct config_param_decl *param;
};

/* The value in effect: the stored one, else the default. */
static int describe(struct db *db, const struct values_view *view, const struct found *found,
                    struct arena *arena, struct config_value *ret, struct error *err)
{
    const struct config_param_decl *param = found->param;
    const struct value_row *row = found->row;
    bool has_default = param != NULL && param->default_value.len > 0;
    struct catalog_parameter entry;

    if (entry_of(db, view->target.tenant_id, found->key, arena, &entry, err) != 0)
        return -1;
    *ret = (struct config_value){ .key = found->key,
                                  .declared = param != NULL,
                                  .value_type = param == NULL ? STR_NULL : param->value_type,
                                  .required = param != NULL && param->required,
                                  .secret = entry.secret,
                                  .edit = entry.edit,
                                  .updated_at = TIME_NULL };
    if (row != NULL) {
        ret->source = row->scope == SCOPE_AGENT ? STR_LIT("agent") : STR_LIT("workspace");
        ret->value = row->value;
        ret->updated_at = row->updated_at;
        ret->author = row->author;
    } else if (has_default) {
        ret->source = STR_LIT("default");
        ret->value = param->default_value;
    }
    ret->hidden = !str_is_null(ret->value) && !may_see(view, &entry, ret->value);
    if (ret->hidden)
        ret->value = STR_NULL;
    return 0;
}

/* All values and declarations of a workspace or an agent. */
struct value_scope {
    struct list values;             /* of struct value_row */
    struct config_schema_decl decl; /* of an agent */
    struct map by_key;              /* the rows in effect */
};

static int load_values(struct db *db, const struct values_view *view, struct arena *arena,
                       struct value_scope *ret, struct error *err)
{
    const struct directive_key *target = &view->target;
    struct value_row *rows;

    *ret = (struct value_scope){ 0 };
    map_init(&ret->by_key);
    if (store_values(db, target, arena, &ret->values, err) != 0)
        return -1;
    rows = ret->values.items;
    for (size_t i = ret->values.n; i-- > 0;) /* the agent's value replaces the workspace's */
        (void)map_put(&ret->by_key, rows[i].key, &rows[i]);
    if (target->scope != SCOPE_AGENT)
        return 0;
    return params_of_agent(db, target->tenant_id, target->agent_name, arena, &ret->decl, err);
}

/* Is the row set for the target itself, but not declared? */
static bool is_undeclared(const struct value_scope *w, const struct values_view *view,
                          const struct value_row *row)
{
    return row->scope == view->target.scope && params_find(&w->decl, row->key) == NULL;
}

static int list_values(struct db *db, const struct values_view *view, const struct value_scope *w,
                       struct arena *arena, struct config_values *ret, struct error *err)
{
    const struct config_param_decl *params = w->decl.params.items;
    const struct value_row *rows = w->values.items;
    struct config_value *values =
        ARENA_ARRAY(arena, struct config_value, w->decl.params.n + w->values.n);
    size_t n = 0;

    for (size_t i = 0; i < w->decl.params.n; i++) {
        struct found found = { params[i].key, map_get(&w->by_key, params[i].key), &params[i] };

        if (describe(db, view, &found, arena, &values[n++], err) != 0)
            return -1;
    }
    for (size_t i = 0; i < w->values.n; i++) {
        struct found found = { .key = rows[i].key, .row = &rows[i] };

        if (is_undeclared(w, view, &rows[i]) &&
            describe(db, view, &found, arena, &values[n++], err) != 0)
            return -1;
    }
    ret->values = (struct list){ values, n };
    return 0;
}

int values_list(struct db *db, const struct values_view *view, struct arena *arena,
                struct config_values *ret, struct error *err)
{
    struct value_scope all;
    int r = load_values(db, view, arena, &all, err);

    if (r == 0)
        r = list_values(db, view, &all, arena, ret, err);
    map_done(&all.by_key);
    return r;
}

/* The value in effect for view->key. On the writer: reads that value only. */
static int show_value(struct db *db, const struct values_view *view, struct arena *arena,
                      struct config_value *ret, struct error *err)
{
    const struct directive_key *target = &view->target;
    struct found found = { .key = view->key };
    struct config_schema_decl decl = { 0 };
    struct value_row row;

    if (store_value(db, target, view->key, arena, &row, err) != 0)
        return -1;
    if (target->scope == SCOPE_AGENT &&
        params_of_agent(db, target->tenant_id, target->agent_name, arena, &decl, err) != 0)
        return -1;
    found.row = str_is_null(row.key) ? NULL : &row;
    found.param = params_find(&decl, view->key);
    return describe(db, view, &found, arena, ret, err);
}

/* A list, and a configuration, are read whole: what is set in one place is bounded. Values that are
 * being set at the same moment may exceed it by themselves. */
static int check_room(struct db *db, const struct values_view *view, struct str value,
                      struct arena *arena, struct error *err)
{
    struct values_size others;

    if (store_values_size(db, &view->target, view->key, arena, &others, err) != 0)
        return -1;
    if (others.n < VALUES_MAX && others.bytes + (int64_t)value.len <= VALUES_BYTES_MAX)
        return 0;
    return err_set(err, ERR_CONFLICT,
                   "The %s has as many values as it may: %d, of %d bytes in all; unset some first",
                   view->target.scope == SCOPE_AGENT ? "agent" : "workspace", VALUES_MAX,
                   VALUES_BYTES_MAX);
}

/* Checks the value against the declaration of the agent, or of every agent of the workspace. */
static int check_type(struct db *db, const struct values_view *view, struct str value,
                      struct arena *arena, struct error *err)
{
    const struct directive_key *target = &view->target;
    const struct config_param_decl *param;
    struct config_schema_decl decl;

    if (target->scope != SCOPE_AGENT)
        return params_check_workspace(db, target->tenant_id, view->key, value, err);
    if (params_of_agent(db, target->tenant_id, target->agent_name, arena, &decl, err) != 0)
        return -1;
    param = params_find(&decl, view->key);
    if (param == NULL || params_fits(param, value, arena))
        return 0;
    return params_refuse(param, target->agent_name, err);
}

static int check_value(const struct values_view *view, const struct catalog_parameter *entry,
                       struct str value, struct error *err)
{
    const char *problem = reference_problem(value);

    if (problem != NULL)
        return err_set(err, ERR_INVALID, "%s", problem);
    if (reference_is_in(value)) /* its type is checked when the reference is resolved */
        return view->is_admin ? 0
                              : err_set(err, ERR_FORBIDDEN,
                                        "only an admin may set a value that refers to a secret");
    if (entry->secret)
        return err_set(
            err, ERR_INVALID,
            "This parameter is secret: set its value with `muster secret set NAME` and "
            "refer to it here as vault:NAME. If it is not secret, an admin can change that with "
            "`muster catalog set KEY --secret no`");
    return 0;
}

/* The key's catalog entry, added if it does not exist and the catalog has room. */
static int enter_in_catalog(struct db *db, const struct values_view *view, struct arena *arena,
                            struct catalog_parameter *ret, struct error *err)
{
    const struct catalog_parameter first = secret_key_names_first_entry(view->key);
    int64_t tenant_id = view->target.tenant_id;
    bool full;

    if (store_catalog_is_full(db, tenant_id, &full, err) != 0)
        return -1;
    if (!full && store_catalog_enter(db, tenant_id, store_catalog_prepare(&first, 1, arena),
                                     clock_wall_us(), err) != 0)
        return -1;
    return entry_of(db, tenant_id, view->key, arena, ret, err);
}

static int check_may_set(const struct values_view *view, const struct catalog_parameter *entry,
                         struct error *err)
{
    if (view->is_admin || str_eq_c(entry->edit, "member"))
        return 0;
    return err_set(err, ERR_FORBIDDEN, "only an admin may set parameter '%.*s'",
                   STR_ARG(view->key));
}

int values_check(struct db *db, const struct values_view *view, const struct value_set *set,
                 struct arena *arena, struct error *err)
{
    struct catalog_parameter entry;

    if (entry_of(db, view->target.tenant_id, view->key, arena, &entry, err) != 0 ||
        check_may_set(view, &entry, err) != 0 || check_value(view, &entry, set->value, err) != 0 ||
        check_room(db, view, set->value, arena, err) != 0)
        return -1;
    return reference_is_in(set->value) ? 0 : check_type(db, view, set->value, arena, err);
}

int values_set(struct db *db, const struct values_view *view, const struct value_set *set,
               struct arena *arena, struct config_value *ret, struct error *err)
{
    struct value_row row = { .key = view->key, .author = view->author };
    struct catalog_parameter entry;
    int r;

    if (enter_in_catalog(db, view, arena, &entry, err) != 0)
        return -1;
    if (check_may_set(view, &entry, err) != 0)
        return -1;
    if (set == NULL) {
        r = store_value_unset(db, &view->target, view->key, err);
    } else {
        row.value = set->value;
        row.updated_at = clock_wall_us();
        r = check_value(view, &entry, set->value, err);
        if (r == 0)
            r = store_value_set(db, &view->target, &row, err);
    }
    return r != 0 ? -1 : show_value(db, view, arena, ret, err);
}

int values_catalog(struct db *db, int64_t tenant_id, const struct catalog_query *query,
                   struct arena *arena, struct catalog_list *ret, struct error *err)
{
    const struct catalog_parameter *entries;
    size_t n;

    *ret = (struct catalog_list){ .next = STR_NULL };
    if (store_catalog(db, tenant_id, query, arena, &ret->parameters, err) != 0)
        return -1;
    entries = ret->parameters.items;
    n = ret->parameters.n;
    if (n == (size_t)query->limit)
        ret->next = entries[n - 1].key;
    return 0;
}

/* A secret parameter must not have a value in plain text. */
static int check_no_plain_text(struct db *db, const struct values_view *view, struct arena *arena,
                               struct error *err)
{
    const struct value_row *rows;
    struct list found;

    if (store_values_of_key(db, view->target.tenant_id, view->key, arena, &found, err) != 0)
        return -1;
    rows = found.items;
    for (size_t i = 0; i < found.n; i++)
        if (!reference_is_in(rows[i].value))
            return err_set(err, ERR_CONFLICT,
                           "the parameter is set in plain text for %s '%.*s'; unset it or refer to "
                           "a secret first",
                           rows[i].scope == SCOPE_AGENT ? "agent" : "the workspace",
                           STR_ARG(rows[i].agent_name));
    return 0;
}

int values_classify(struct db *db, const struct values_view *view,
                    const struct catalog_patch *patch, struct arena *arena,
                    struct catalog_parameter *ret, struct error *err)
{
    if (store_catalog_entry(db, view->target.tenant_id, view->key, arena, ret, err) != 0)
        return -1;
    if (str_is_null(ret->key))
        return err_set(err, ERR_NOT_FOUND,
                       "the catalog has no parameter '%.*s'; it is added when an agent declares it "
                       "or a value is set",
                       STR_ARG(view->key));
    if (patch->secret.has && patch->secret.value && !ret->secret &&
        check_no_plain_text(db, view, arena, err) != 0)
        return -1;
    if (patch->secret.has)
        ret->secret = patch->secret.value;
    if (patch->edit >= 0)
        ret->edit = str_of(catalog_edit_names[patch->edit]);
    if (patch->see >= 0)
        ret->see = str_of(catalog_see_names[patch->see]);
    return store_catalog_set(db, view->target.tenant_id, ret, err);
}
