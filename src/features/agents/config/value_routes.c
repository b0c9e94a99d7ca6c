/* value_routes.c - configuration values and the security catalog, for people. */
#include "features/agents/config/values.h"

#include "api/call.h"
#include "api/handlers.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/agents/shapes.h"
#include "shape/problems.h"

/* The routes of an agent have its name before the key. */
static bool is_agents(const struct api_call *call)
{
    return call->values.n > 1 && str_eq(call->values.names[1], STR_LIT("agent_name"));
}

static struct values_view view_of(const struct api_call *call)
{
    const struct agent_value_path *of_agent = call->params; /* begins as struct agent_path does */
    const struct parameter_path *of_workspace = call->params;
    bool agents = is_agents(call), has_key = call->values.n > (agents ? 2 : 1);
    struct values_view view = { .place = { .scope = SCOPE_WORKSPACE,
                                           .tenant_id = call->tenant->id,
                                           .agent_name = STR_LIT("") },
                                .is_admin = auth_is_admin(call),
                                .author = call_actor(call) };

    if (agents)
        view.place = (struct directive_key){ SCOPE_AGENT, call->tenant->id, of_agent->agent_name };
    if (has_key)
        view.key = agents ? of_agent->key : of_workspace->key;
    return view;
}

static int list(struct api_call *call, struct db *db, struct error *err)
{
    const struct values_view view = view_of(call);

    return values_list(db, &view, call->arena, call->answer, err);
}

void get_values(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct config_values);
    call_read(call, list);
}

/* What is wrong with the value, without the value. */
static void tell_problem(struct api_call *call, const struct error *err)
{
    const struct problem_step step = { .name = STR_LIT("value") };

    call->problems = problems_new(call->arena, "body");
    problems_add_rule(call->problems, &step, 1, STR_NULL,
                      arena_cstr(call->arena, str_of(err->text)));
}

/* The key, and the agent if it is an agent's; never the value. */
static void tell_target(struct api_call *call, const struct values_view *view)
{
    call->audit_target = view->key;
    if (view->place.scope == SCOPE_AGENT)
        call->audit_target = arena_printf(call->arena, "%.*s of agent %.*s", STR_ARG(view->key),
                                          STR_ARG(view->place.agent_name));
}

/* A DELETE has no body, and unsets. */
static int set(struct api_call *call, struct db *db, struct error *err)
{
    const struct values_view view = view_of(call);

    tell_target(call, &view);
    if (values_set(db, &view, call->body, call->arena, call->answer, err) == 0)
        return 0;
    if (err->code == ERR_INVALID)
        tell_problem(call, err);
    return -1;
}

void change_value(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct config_value);
    call_change(call, set);
}

static int list_catalog(struct api_call *call, struct db *db, struct error *err)
{
    return values_catalog(db, call->tenant->id, call->query, call->arena, call->answer, err);
}

void get_catalog(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct catalog_list);
    call_read(call, list_catalog);
}

static int classify(struct api_call *call, struct db *db, struct error *err)
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

void patch_catalog(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct catalog_parameter);
    call_change(call, classify);
}
