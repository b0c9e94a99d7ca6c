/* value_routes.c - configuration values and the security catalog, for users. */
#include "features/agents/config/values.h"

#include "api/api.h"
#include "api/call.h"
#include "engine/engine.h"
#include "features/access/auth.h"
#include "features/access/shapes.h"
#include "features/agents/config/shapes.h"
#include "features/agents/routes.h"
#include "features/agents/shapes.h"
#include "shape/problems.h"

/* The routes of an agent have its name before the key. */
static bool is_agents(const struct api_call *call)
{
    return call->values.n > 1 && str_eq(call->values.names[1], STR_LIT("agent_name"));
}

static struct values_view view_of(const struct api_call *call)
{
    const struct agent_value_path *of_agent =
        call->params; /* starts with the members of struct agent_path */
    const struct parameter_path *of_workspace = call->params;
    bool agents = is_agents(call), has_key = call->values.n > (agents ? 2 : 1);
    struct values_view view = { .target = { .scope = SCOPE_WORKSPACE,
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

static int list_values(struct api_call *call, struct db *db, struct error *err)
{
    const struct values_view view = view_of(call);

    return values_list(db, &view, call->arena, call->answer, err);
}

/* The audit target: the key, and the agent if there is one; never the value. */
static void note_target(struct api_call *call, const struct values_view *view)
{
    call->audit_target = view->key;
    if (view->target.scope == SCOPE_AGENT)
        call->audit_target = arena_printf(call->arena, "%.*s of agent %.*s", STR_ARG(view->key),
                                          STR_ARG(view->target.agent_name));
}

/* Not the value, which may be secret. */
static int refuse_value(struct api_call *call, struct error *err)
{
    if (err->code != ERR_INVALID)
        return -1;
    return call_refuse_body(call, err, "value", STR_NULL,
                            arena_cstr(call->arena, str_of(err->text)));
}

static int value_check_run(struct reader_job *job, struct db *db, struct error *err)
{
    struct api_call *call = CONTAINER_OF(job, struct api_call, read);
    const struct values_view view = view_of(call);

    call->refusal = NULL;
    call->problems = NULL;
    if (values_check(db, &view, call->body, call->arena, err) == 0)
        return 0;
    return refuse_value(call, err);
}

static void value_check_done(struct reader_job *job, const struct error *err)
{
    call_proceed_or_reply(CONTAINER_OF(job, struct api_call, read), err);
}

static int begin_set_value(struct api_call *call, struct error *err)
{
    call->read = (struct reader_job){ .budget = call->budget,
                                      .tenant_id = call->tenant_id,
                                      .run = value_check_run,
                                      .done = value_check_done };
    return engine_read(call->api->engine, &call->read, err);
}

/* Without a body (DELETE) it unsets. */
static int set_value(struct api_call *call, struct db *db, struct error *err)
{
    const struct values_view view = view_of(call);

    note_target(call, &view);
    if (values_set(db, &view, call->body, call->arena, call->answer, err) == 0)
        return 0;
    return refuse_value(call, err);
}

static int list_parameters(struct api_call *call, struct db *db, struct error *err)
{
    return values_catalog(db, call->tenant_id, call->query, call->arena, call->answer, err);
}

static int classify_parameter(struct api_call *call, struct db *db, struct error *err)
{
    const struct values_view view = view_of(call);
    const struct catalog_parameter *answer = call->answer;

    if (values_classify(db, &view, call->body, call->arena, call->answer, err) != 0)
        return -1;
    call->audit_target = view.key;
    call->audit_detail = arena_printf(
        call->arena, "{\"secret\":%s,\"edit\":\"%.*s\",\"see\":\"%.*s\"}",
        answer->secret ? "true" : "false", STR_ARG(answer->edit), STR_ARG(answer->see));
    return 0;
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
