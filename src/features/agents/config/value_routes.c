/* value_routes.c - configuration values and the security catalog, as users set and see them. */
#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "base/map.h"
#include "engine/engine.h"
#include "features/access/auth.h"
#include "features/access/shapes.h"
#include "features/agents/config/params.h"
#include "features/agents/config/store.h"
#include "features/agents/routes.h"
#include "features/agents/shapes.h"
#include "features/vault/secrets.h"

enum { VALUES_MAX = 1000, VALUES_BYTES_MAX = 4 << 20 }; /* of a workspace, and of each agent */

/* Which values are read or changed, and by whom. */
struct values_view {
    struct db *db;
    struct arena *arena;
    struct directive_key target; /* a workspace or an agent */
    bool is_admin;               /* else a member */
    struct str author, key;      /* of a change */
};

/* The routes of an agent have its name before the key. */
static bool is_agents(const struct api_call *call)
{
    return call->values.n > 1 && str_eq(call->values.names[1], STR_LIT("agent_name"));
}

static struct values_view view_of(const struct api_call *call, struct db *db)
{
    const struct agent_value_path *of_agent =
        call->params; /* starts with the members of struct agent_path */
    const struct parameter_path *of_workspace = call->params;
    bool agents = is_agents(call), has_key = call->values.n > (agents ? 2 : 1);
    struct values_view view = { .db = db,
                                .arena = call->arena,
                                .target = { .scope = SCOPE_WORKSPACE,
                                            .tenant_id = call->tenant_id,
                                            .agent_name = STR_LIT("") },
                                .is_admin = auth_is_admin(call),
                                .author = auth_actor(call) };

    if (agents)
        view.target = (struct directive_key){ SCOPE_AGENT, call->tenant_id, of_agent->agent_name };
    if (has_key)
        view.key = agents ? of_agent->key : of_workspace->key;
    return view;
}

/* The key's catalog entry, or the one it would get when it is first set. */
static int entry_of(const struct values_view *view, struct str key, struct catalog_parameter *ret,
                    struct error *err)
{
    if (catalog_entry(view->db, view->target.tenant_id, key, view->arena, ret, err) != 0)
        return -1;
    if (str_is_null(ret->key))
        *ret = catalog_first_entry(key);
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

/* A key's catalog entry, its stored value and its declaration; the last two may be NULL. */
struct found {
    struct str key;
    const struct catalog_parameter *entry;
    const struct value_row *row;
    const struct config_param_decl *param;
};

/* The value in effect: the stored one, else the default. */
static void describe(const struct values_view *view, const struct found *found,
                     struct config_value *ret)
{
    const struct config_param_decl *param = found->param;
    const struct value_row *row = found->row;
    bool has_default = param != NULL && param->default_value.len > 0;

    *ret = (struct config_value){ .key = found->key,
                                  .declared = param != NULL,
                                  .value_type = param == NULL ? STR_NULL : param->value_type,
                                  .required = param != NULL && param->required,
                                  .secret = found->entry->secret,
                                  .edit = found->entry->edit,
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
    ret->hidden = !str_is_null(ret->value) && !may_see(view, found->entry, ret->value);
    if (ret->hidden)
        ret->value = STR_NULL;
}

/* All values and declarations of a workspace or an agent. */
struct value_scope {
    struct list values;             /* of struct value_row */
    struct config_schema_decl decl; /* of an agent */
    struct map by_key;              /* the rows in effect */
};

static int load_values(const struct values_view *view, struct value_scope *ret, struct error *err)
{
    const struct directive_key *target = &view->target;
    struct value_row *rows;

    *ret = (struct value_scope){ 0 };
    map_init(&ret->by_key);
    if (values_at(view->db, target, view->arena, &ret->values, err) != 0)
        return -1;
    rows = ret->values.items;
    for (size_t i = ret->values.n; i-- > 0;) /* the agent's value replaces the workspace's */
        (void)map_put(&ret->by_key, rows[i].key, &rows[i]);
    if (target->scope != SCOPE_AGENT)
        return 0;
    return params_of_agent(view->db, target->tenant_id, target->agent_name, view->arena, &ret->decl,
                           err);
}

/* Is the row set for the target itself, but not declared? */
static bool is_undeclared(const struct value_scope *w, const struct values_view *view,
                          const struct value_row *row)
{
    return row->scope == view->target.scope && params_find(&w->decl, row->key) == NULL;
}

/* One per parameter that is declared, or that is set for the target itself: their number. */
static size_t find_values(const struct values_view *view, const struct value_scope *w,
                          struct found *ret)
{
    const struct config_param_decl *params = w->decl.params.items;
    const struct value_row *rows = w->values.items;
    size_t n = 0;

    for (size_t i = 0; i < w->decl.params.n; i++)
        ret[n++] = (struct found){ .key = params[i].key,
                                   .row = map_get(&w->by_key, params[i].key),
                                   .param = &params[i] };
    for (size_t i = 0; i < w->values.n; i++)
        if (is_undeclared(w, view, &rows[i]))
            ret[n++] = (struct found){ .key = rows[i].key, .row = &rows[i] };
    return n;
}

static int fill_list(const struct values_view *view, const struct value_scope *w,
                     struct listing *ret, struct error *err)
{
    const size_t most = w->decl.params.n + w->values.n;
    struct found *found = ARENA_ARRAY(view->arena, struct found, most);
    size_t n = find_values(view, w, found);
    struct config_value *values = ARENA_ARRAY(view->arena, struct config_value, n);
    struct catalog_parameter *entries = ARENA_ARRAY(view->arena, struct catalog_parameter, n);
    struct str *keys = ARENA_ARRAY(view->arena, struct str, n);

    for (size_t i = 0; i < n; i++)
        keys[i] = found[i].key;
    if (catalog_entries(view->db, view->target.tenant_id, &(struct list){ keys, n }, view->arena,
                        entries, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (str_is_null(entries[i].key))
            entries[i] = catalog_first_entry(keys[i]);
        found[i].entry = &entries[i];
        describe(view, &found[i], &values[i]);
    }
    ret->list = (struct list){ values, n };
    return 0;
}

/* The values set for a workspace; or the values in effect for an agent, one per parameter that it
 * has declared or that is set for it. */
static int list_values(struct api_call *call, struct db *db, struct error *err)
{
    const struct values_view view = view_of(call, db);
    struct value_scope all;
    int r = load_values(&view, &all, err);

    if (r == 0)
        r = fill_list(&view, &all, call->answer, err);
    map_done(&all.by_key);
    return r;
}

/* The value in effect for view->key. On the writer: reads that value only. */
static int show_value(const struct values_view *view, struct config_value *ret, struct error *err)
{
    const struct directive_key *target = &view->target;
    struct found found = { .key = view->key };
    struct config_schema_decl decl = { 0 };
    struct catalog_parameter entry;
    struct value_row row;

    if (entry_of(view, view->key, &entry, err) != 0 ||
        value_at(view->db, target, view->key, view->arena, &row, err) != 0)
        return -1;
    if (target->scope == SCOPE_AGENT &&
        params_of_agent(view->db, target->tenant_id, target->agent_name, view->arena, &decl, err) !=
            0)
        return -1;
    found.entry = &entry;
    found.row = str_is_null(row.key) ? NULL : &row;
    found.param = params_find(&decl, view->key);
    describe(view, &found, ret);
    return 0;
}

/* A list, and a configuration, are read whole: what is set in one place is bounded. Values that are
 * being set at the same moment may exceed it by themselves. */
static int check_room(const struct values_view *view, struct str value, struct error *err)
{
    struct values_size others;

    if (values_measure(view->db, &view->target, view->key, view->arena, &others, err) != 0)
        return -1;
    if (others.n < VALUES_MAX && others.bytes + (int64_t)value.len <= VALUES_BYTES_MAX)
        return 0;
    return err_set(err, ERR_CONFLICT,
                   "The %s has as many values as it may: %d, of %d bytes in all; unset some first",
                   view->target.scope == SCOPE_AGENT ? "agent" : "workspace", VALUES_MAX,
                   VALUES_BYTES_MAX);
}

/* Checks the value against the declaration of the agent, or of every agent of the workspace. */
static int check_type(const struct values_view *view, struct str value, struct error *err)
{
    const struct directive_key *target = &view->target;
    const struct config_param_decl *param;
    struct config_schema_decl decl;

    if (target->scope != SCOPE_AGENT)
        return params_check_workspace(view->db, target->tenant_id, view->key, value, err);
    if (params_of_agent(view->db, target->tenant_id, target->agent_name, view->arena, &decl, err) !=
        0)
        return -1;
    param = params_find(&decl, view->key);
    if (param == NULL || params_fits(param, value, view->arena))
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
static int enter_in_catalog(const struct values_view *view, struct catalog_parameter *ret,
                            struct error *err)
{
    const struct catalog_parameter first = catalog_first_entry(view->key);
    int64_t tenant_id = view->target.tenant_id;
    bool full;

    if (catalog_is_full(view->db, tenant_id, &full, err) != 0)
        return -1;
    if (!full && catalog_enter(view->db, tenant_id, catalog_prepare(&first, 1, view->arena),
                               clock_wall_us(), err) != 0)
        return -1;
    return entry_of(view, view->key, ret, err);
}

static int check_may_set(const struct values_view *view, const struct catalog_parameter *entry,
                         struct error *err)
{
    if (view->is_admin || str_eq_c(entry->edit, "member"))
        return 0;
    return err_set(err, ERR_FORBIDDEN, "only an admin may set parameter '%.*s'",
                   STR_ARG(view->key));
}

/* Not the value, which may be secret. */
static int refuse_value(struct api_call *call, struct error *err)
{
    if (err->code != ERR_INVALID)
        return -1;
    return call_refuse_body(call, err, "value", STR_NULL,
                            arena_cstr(call->arena, str_of(err->text)));
}

/* May the value be set, and does it fit what the agents declared? */
static int check_new_value(const struct values_view *view, struct str value, struct error *err)
{
    struct catalog_parameter entry;

    if (entry_of(view, view->key, &entry, err) != 0 || check_may_set(view, &entry, err) != 0 ||
        check_value(view, &entry, value, err) != 0 || check_room(view, value, err) != 0)
        return -1;
    return reference_is_in(value) ? 0 : check_type(view, value, err);
}

static int check_set_value(struct api_call *call, struct db *db, struct error *err)
{
    const struct values_view view = view_of(call, db);
    const struct value_set *set = call->body;

    call->refusal = NULL;
    call->problems = NULL;
    return check_new_value(&view, set->value, err) == 0 ? 0 : refuse_value(call, err);
}

/* Checking may take reading many schemas, which the writer must not do. */
static int begin_set_value(struct api_call *call, struct error *err)
{
    return call_read(call, check_set_value, call_proceed_or_reply, err);
}

/* The audit target: the key, and the agent if there is one; never the value. */
static void note_target(struct api_call *call, const struct values_view *view)
{
    call->audit_target = view->key;
    if (view->target.scope == SCOPE_AGENT)
        call->audit_target = arena_printf(call->arena, "%.*s of agent %.*s", STR_ARG(view->key),
                                          STR_ARG(view->target.agent_name));
}

static int store_checked(const struct values_view *view, const struct catalog_parameter *entry,
                         struct str value, struct error *err)
{
    const struct value_row row = {
        .key = view->key, .value = value, .updated_at = clock_wall_us(), .author = view->author
    };

    if (check_value(view, entry, value, err) != 0)
        return -1;
    return value_put(view->db, &view->target, &row, err);
}

/* Answers with the value then in effect. Without a body (DELETE) it unsets. */
static int set_value(struct api_call *call, struct db *db, struct error *err)
{
    const struct values_view view = view_of(call, db);
    const struct value_set *set = call->body;
    struct catalog_parameter entry;
    int r;

    note_target(call, &view);
    r = enter_in_catalog(&view, &entry, err);
    if (r == 0)
        r = check_may_set(&view, &entry, err);
    if (r == 0)
        r = set == NULL ? value_remove(db, &view.target, view.key, err)
                        : store_checked(&view, &entry, set->value, err);
    if (r == 0)
        r = show_value(&view, call->answer, err);
    return r == 0 ? 0 : refuse_value(call, err);
}

static int list_parameters(struct api_call *call, struct db *db, struct error *err)
{
    const struct catalog_query *query = call->query;
    struct listing *ret = call->answer;
    const struct catalog_parameter *entries;
    size_t n;

    *ret = (struct listing){ .next = STR_NULL };
    if (catalog_page(db, call->tenant_id, query, call->arena, &ret->list, err) != 0)
        return -1;
    entries = ret->list.items;
    n = ret->list.n;
    if (n == (size_t)query->limit)
        ret->next = entries[n - 1].key;
    return 0;
}

/* A secret parameter must not have a value in plain text. */
static int check_no_plain_text(const struct values_view *view, struct error *err)
{
    const struct value_row *rows;
    struct list found;

    if (values_of_key(view->db, view->target.tenant_id, view->key, view->arena, &found, err) != 0)
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

/* Changes who may set and see a parameter. */
static int classify_parameter(struct api_call *call, struct db *db, struct error *err)
{
    const struct values_view view = view_of(call, db);
    const struct catalog_patch *patch = call->body;
    struct catalog_parameter *ret = call->answer;

    if (catalog_entry(db, call->tenant_id, view.key, call->arena, ret, err) != 0)
        return -1;
    if (str_is_null(ret->key))
        return err_set(err, ERR_NOT_FOUND,
                       "the catalog has no parameter '%.*s'; it is added when an agent declares it "
                       "or a value is set",
                       STR_ARG(view.key));
    if (patch->secret.has && patch->secret.value && !ret->secret &&
        check_no_plain_text(&view, err) != 0)
        return -1;
    if (patch->secret.has)
        ret->secret = patch->secret.value;
    if (patch->edit >= 0)
        ret->edit = str_of(catalog_edit_names[patch->edit]);
    if (patch->see >= 0)
        ret->see = str_of(catalog_see_names[patch->see]);
    call->audit_target = view.key;
    call->audit_detail =
        arena_printf(call->arena, "{\"secret\":%s,\"edit\":\"%.*s\",\"see\":\"%.*s\"}",
                     ret->secret ? "true" : "false", STR_ARG(ret->edit), STR_ARG(ret->see));
    return catalog_update(db, call->tenant_id, ret, err);
}

/* clang-format off */
const struct route value_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/values", MEMBER, 200), .read = list_values, .params = &tenant_path_shape, .answer = &config_values_shape,
      .id = "list_tenant_values", .summary = "List a workspace's configuration values",
      .description = "The values set for the whole workspace. A value that the caller may not see is null and marked `hidden`." },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/values/{key}", MEMBER, 200), .handler = begin_set_value, .change = set_value, .topic = CHANGE_NOTHING, .params = &parameter_path_shape, .body = &value_set_shape, .answer = &config_value_shape, .audit = "value.set", .also = ALSO_CONFLICT,
      .id = "set_tenant_value", .summary = "Set a configuration value for a workspace",
      .description = "In effect for all agents that declare the parameter and have no value of their own. Checked against the type that they declared. Refer to a secret with `vault:NAME`; only admins may." },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/values/{key}", MEMBER, 200), .change = set_value, .topic = CHANGE_NOTHING, .params = &parameter_path_shape, .answer = &config_value_shape, .audit = "value.unset",
      .id = "unset_tenant_value", .summary = "Unset a configuration value of a workspace",
      .description = "The default that each agent declared is then in effect." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/agents/{agent_name}/values", MEMBER, 200), .read = list_values, .params = &agent_path_shape, .answer = &config_values_shape,
      .id = "list_agent_values", .summary = "List an agent's configuration values",
      .description = "The value in effect for each parameter that the agent declared or that is set for it, and where it comes from." },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/agents/{agent_name}/values/{key}", MEMBER, 200), .handler = begin_set_value, .change = set_value, .topic = CHANGE_NOTHING, .params = &agent_value_path_shape, .body = &value_set_shape, .answer = &config_value_shape, .audit = "value.set", .also = ALSO_CONFLICT,
      .id = "set_agent_value", .summary = "Set a configuration value for an agent",
      .description = "Overrides the workspace's value. Checked against the type that the agent declared. Refer to a secret with `vault:NAME`; only admins may." },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/agents/{agent_name}/values/{key}", MEMBER, 200), .change = set_value, .topic = CHANGE_NOTHING, .params = &agent_value_path_shape, .answer = &config_value_shape, .audit = "value.unset",
      .id = "unset_agent_value", .summary = "Unset a configuration value of an agent",
      .description = "The workspace's value is then in effect, else the declared default." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/catalog", MEMBER, 200), .read = list_parameters, .params = &tenant_path_shape, .query = &catalog_query_shape, .answer = &catalog_list_shape,
      .id = "list_parameters", .summary = "List who may set and see which parameters",
      .description = "The security catalog: one entry per parameter key that was ever declared or set. A registration never changes an entry." },
    { ROUTE(PATCH, "/api/v1/tenants/{slug}/catalog/{key}", ADMIN, 200), .change = classify_parameter, .topic = CHANGE_NOTHING, .params = &parameter_path_shape, .body = &catalog_patch_shape, .answer = &catalog_parameter_shape, .audit = "catalog.set",
      .id = "update_parameter", .summary = "Change who may set and see a parameter",
      .description = "A parameter that is set in plain text somewhere cannot become secret: 409." },
    { 0 },
};
/* clang-format on */
