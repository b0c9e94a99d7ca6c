/* routes.c - models and command policies: agents pull them, admins set them. */
#include "features/agents/routes.h"
#include "api/api.h"
#include "api/call.h"
#include "base/buf.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/access/shapes.h"
#include "features/access/tenants.h"
#include "features/agents/agents.h"
#include "features/agents/directives/directives.h"
#include "features/agents/directives/store.h"
#include "features/agents/shapes.h"

static int pull_model(struct api_call *call, struct error *err)
{
    struct directives_cache *directives = agents_directives(call->api->engine);
    const struct agent_query *query = call->query;
    struct str stop;

    if (auth_may_report(call, STR_NULL, query->agent_name, err) != 0)
        return -1;
    directives_cache_model(directives, call->tenant_id, query->agent_name, call->arena,
                           call->answer);
    stop = directives_cache_stop(directives, call->tenant_id, call->answer, call->arena);
    if (!str_is_null(stop))
        return call_refuse(call, err, 402, "%.*s", STR_ARG(stop));
    call_reply(call, NULL);
    return 0;
}

static int pull_policy(struct api_call *call, struct error *err)
{
    const struct agent_query *query = call->query;

    if (auth_may_report(call, STR_NULL, query->agent_name, err) != 0)
        return -1;
    directives_cache_policy(agents_directives(call->api->engine), call->tenant_id,
                            query->agent_name, call->arena, call->answer);
    call_reply(call, NULL);
    return 0;
}

/* The target in the path: the platform, {slug}, or {slug} and {agent_name}. */
static struct directive_key target_of(const struct api_call *call)
{
    struct directive_key target = { .agent_name = STR_LIT("") };

    if (call->tenant == NULL)
        return target;
    target.tenant_id = call->tenant_id;
    target.scope = call->values.n > 1 ? SCOPE_AGENT : SCOPE_WORKSPACE;
    if (target.scope == SCOPE_AGENT)
        target.agent_name = ((const struct agent_path *)call->params)->agent_name;
    return target;
}

static struct str tenant_of(const struct api_call *call)
{
    return call->tenant == NULL ? STR_NULL : call->tenant->slug;
}

static struct str agent_of(const struct directive_key *target)
{
    return target->scope == SCOPE_AGENT ? target->agent_name : STR_NULL;
}

/* Each process has all of them in memory. */
enum { DIRECTIVES_MAX = 10000, DIRECTIVES_BYTES_MAX = 4 << 20 };

/* After one was set: an error takes it back. */
static int check_size(struct api_call *call, struct db *db, enum directive_kind kind,
                      struct error *err)
{
    struct directives_size size = { 0 };

    if (call->tenant == NULL)
        return 0;
    if (directives_measure(db, kind, call->tenant_id, call->arena, &size, err) != 0)
        return -1;
    if (size.n <= DIRECTIVES_MAX && size.bytes <= DIRECTIVES_BYTES_MAX)
        return 0;
    return err_set(err, ERR_CONFLICT,
                   "The workspace has as many %s as it may: %d, of %d bytes in all; unset some "
                   "first",
                   kind == DIRECTIVE_POLICY ? "command policies" : "models", DIRECTIVES_MAX,
                   DIRECTIVES_BYTES_MAX);
}

/* Without a body (DELETE) it unsets. */
static int change_directive(struct api_call *call, struct db *db, enum directive_kind kind,
                            struct directive_row *row, struct error *err)
{
    row->target = target_of(call);
    row->updated_at = clock_wall_us();
    if (registry_about_directives(db, row->target.tenant_id, err) != 0)
        return -1;
    if (call->body == NULL)
        return directive_remove(db, kind, &row->target, err);
    return directive_put(db, kind, row, err) != 0 ? -1 : check_size(call, db, kind, err);
}

static int show_model(struct api_call *call, struct db *db, struct error *err)
{
    const struct directive_key target = target_of(call);
    struct agent_model *ret = call->answer;
    struct directive_row row;

    if (directive_in_effect(db, DIRECTIVE_MODEL, &target, call->arena, &row, err) != 0)
        return -1;
    *ret = (struct agent_model){
        .tenant = tenant_of(call),
        .agent_name = agent_of(&target),
        .model = row.model,
        .source = str_is_null(row.model) ? STR_NULL : directive_source(row.target.scope),
        .updated_at = row.updated_at,
    };
    return 0;
}

/* Answers what is in effect then. */
static int set_model(struct api_call *call, struct db *db, struct error *err)
{
    const struct model_set *set = call->body;
    struct directive_row row = { .model = set == NULL ? STR_NULL : set->model };
    BUF_SCOPED(text, SIZE_MAX); /* bounded by the size of the request */

    if (change_directive(call, db, DIRECTIVE_MODEL, &row, err) != 0 ||
        show_model(call, db, err) != 0)
        return -1;
    shape_write_json(&model_setting_shape, call->answer, &text);
    call->audit_detail = buf_take(&text, call->arena);
    return 0;
}

static int show_policy(struct api_call *call, struct db *db, struct error *err)
{
    const struct directive_key target = target_of(call);
    struct command_policy *ret = call->answer;
    struct directive_row row;

    if (directive_in_effect(db, DIRECTIVE_POLICY, &target, call->arena, &row, err) != 0)
        return -1;
    *ret = (struct command_policy){ .tenant = tenant_of(call),
                                    .agent_name = agent_of(&target),
                                    .mode = str_of(policy_mode_names[row.policy.mode]),
                                    .allow = row.policy.allow,
                                    .deny = row.policy.deny,
                                    .source = directive_source(row.target.scope),
                                    .version = row.version,
                                    .updated_at = row.updated_at };
    return 0;
}

static int set_policy(struct api_call *call, struct db *db, struct error *err)
{
    const struct policy_set *set = call->body;
    const struct command_policy *answer = call->answer;
    struct directive_row row = { .policy = set == NULL ? (struct policy_set){ 0 } : *set };

    if (change_directive(call, db, DIRECTIVE_POLICY, &row, err) != 0 ||
        show_policy(call, db, err) != 0)
        return -1;
    call->audit_detail = arena_printf(call->arena, "{\"mode\":\"%.*s\",\"version\":%lld}",
                                      STR_ARG(answer->mode), (long long)answer->version);
    return 0;
}

/* clang-format off */
const struct route directive_routes[] = {
    { ROUTE(GET, "/api/v1/agents/model", ANY_KEY, 200), .handler = pull_model, .also = ALSO_BUDGET, .query = &agent_query_shape, .answer = &agent_model_shape, .tagged = true,
      .id = "pull_model", .summary = "Get the LLM model that the agent must use",
      .description = "The agent's own model, else that of its workspace, else that of the platform. Answered from memory; ask before every run, with If-None-Match. 402 while a hard budget of the agent, its model or its workspace is exceeded: then it must not call a model. Its reports are accepted as ever." },
    { ROUTE(GET, "/api/v1/agents/command-policy", ANY_KEY, 200), .handler = pull_policy, .query = &agent_query_shape, .answer = &command_policy_shape, .tagged = true,
      .id = "pull_command_policy", .summary = "Get the shell commands that the agent may run",
      .description = "The agent's own policy, else that of its workspace, else that of the platform. Without any policy the mode is `deny_all`." },
    { ROUTE(GET, "/api/v1/platform/model", PLATFORM, 200), .read = show_model, .answer = &model_setting_shape,
      .id = "get_platform_model", .summary = "Get the model in effect for the platform",
      .description = "It is used where neither the workspace nor the agent has its own." },
    { ROUTE(PUT, "/api/v1/platform/model", PLATFORM, 200), .change = set_model, .body = &model_set_shape, .answer = &model_setting_shape, .audit = "model.set",
      .id = "set_platform_model", .summary = "Set the model of the platform",
      .description = "Answers what is in effect afterwards." },
    { ROUTE(DELETE, "/api/v1/platform/model", PLATFORM, 200), .change = set_model, .answer = &model_setting_shape, .audit = "model.unset",
      .id = "unset_platform_model", .summary = "Unset the model of the platform",
      .description = "Unsetting what is not set changes nothing. Answers what is in effect afterwards." },
    { ROUTE(GET, "/api/v1/platform/command-policy", PLATFORM, 200), .read = show_policy, .answer = &policy_setting_shape,
      .id = "get_platform_command_policy", .summary = "Get the command policy in effect for the platform",
      .description = "It is used where neither the workspace nor the agent has its own." },
    { ROUTE(PUT, "/api/v1/platform/command-policy", PLATFORM, 200), .change = set_policy, .body = &policy_set_shape, .answer = &policy_setting_shape, .audit = "policy.set",
      .id = "set_platform_command_policy", .summary = "Set the command policy of the platform",
      .description = "Answers what is in effect afterwards. The mode decides which of the lists counts." },
    { ROUTE(DELETE, "/api/v1/platform/command-policy", PLATFORM, 200), .change = set_policy, .answer = &policy_setting_shape, .audit = "policy.unset",
      .id = "unset_platform_command_policy", .summary = "Unset the command policy of the platform",
      .description = "Unsetting what is not set changes nothing. Answers what is in effect afterwards." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/model", MEMBER, 200), .read = show_model, .params = &tenant_path_shape, .answer = &model_setting_shape,
      .id = "get_tenant_model", .summary = "Get the model in effect for a workspace",
      .description = "The workspace's own, else that of the platform; `source` says which." },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/model", ADMIN, 200), .change = set_model, .params = &tenant_path_shape, .body = &model_set_shape, .answer = &model_setting_shape, .audit = "model.set",
      .id = "set_tenant_model", .summary = "Set the model of a workspace",
      .description = "Overrides the platform for all agents of the workspace. Answers what is in effect afterwards." },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/model", ADMIN, 200), .change = set_model, .params = &tenant_path_shape, .answer = &model_setting_shape, .audit = "model.unset",
      .id = "unset_tenant_model", .summary = "Unset the model of a workspace",
      .description = "Unsetting what is not set changes nothing. Answers what is in effect afterwards." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/command-policy", MEMBER, 200), .read = show_policy, .params = &tenant_path_shape, .answer = &policy_setting_shape,
      .id = "get_tenant_command_policy", .summary = "Get the command policy in effect for a workspace",
      .description = "The workspace's own, else that of the platform; `source` says which." },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/command-policy", ADMIN, 200), .change = set_policy, .params = &tenant_path_shape, .body = &policy_set_shape, .answer = &policy_setting_shape, .audit = "policy.set",
      .id = "set_tenant_command_policy", .summary = "Set the command policy of a workspace",
      .description = "Overrides the platform for all agents of the workspace. Answers what is in effect afterwards. The mode decides which of the lists counts." },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/command-policy", ADMIN, 200), .change = set_policy, .params = &tenant_path_shape, .answer = &policy_setting_shape, .audit = "policy.unset",
      .id = "unset_tenant_command_policy", .summary = "Unset the command policy of a workspace",
      .description = "Unsetting what is not set changes nothing. Answers what is in effect afterwards." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/agents/{agent_name}/model", MEMBER, 200), .read = show_model, .params = &agent_path_shape, .answer = &model_setting_shape,
      .id = "get_agent_model", .summary = "Get the model in effect for an agent",
      .description = "The agent's own, else that of its workspace, else that of the platform; `source` says which." },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/agents/{agent_name}/model", ADMIN, 200), .change = set_model, .params = &agent_path_shape, .body = &model_set_shape, .answer = &model_setting_shape, .audit = "model.set",
      .id = "set_agent_model", .summary = "Set the model of an agent",
      .description = "Overrides workspace and platform. The agent need not be known yet. Answers what is in effect afterwards." },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/agents/{agent_name}/model", ADMIN, 200), .change = set_model, .params = &agent_path_shape, .answer = &model_setting_shape, .audit = "model.unset",
      .id = "unset_agent_model", .summary = "Unset the model of an agent",
      .description = "Unsetting what is not set changes nothing. Answers what is in effect afterwards." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/agents/{agent_name}/command-policy", MEMBER, 200), .read = show_policy, .params = &agent_path_shape, .answer = &policy_setting_shape,
      .id = "get_agent_command_policy", .summary = "Get the command policy in effect for an agent",
      .description = "The agent's own, else that of its workspace, else that of the platform; `source` says which." },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/agents/{agent_name}/command-policy", ADMIN, 200), .change = set_policy, .params = &agent_path_shape, .body = &policy_set_shape, .answer = &policy_setting_shape, .audit = "policy.set",
      .id = "set_agent_command_policy", .summary = "Set the command policy of an agent",
      .description = "Overrides workspace and platform. The agent need not be known yet. Answers what is in effect afterwards. The mode decides which of the lists counts." },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/agents/{agent_name}/command-policy", ADMIN, 200), .change = set_policy, .params = &agent_path_shape, .answer = &policy_setting_shape, .audit = "policy.unset",
      .id = "unset_agent_command_policy", .summary = "Unset the command policy of an agent",
      .description = "Unsetting what is not set changes nothing. Answers what is in effect afterwards." },
    { 0 },
};
/* clang-format on */
