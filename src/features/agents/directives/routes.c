/* routes.c - what agents are told: they ask for it, operators set it. */
#include "api/api.h"
#include "api/call.h"
#include "api/handlers.h"
#include "base/buf.h"
#include "engine/engine.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/agents/agents.h"
#include "features/agents/directives/directives.h"
#include "features/agents/directives/directives_admin.h"
#include "features/agents/shapes.h"

void get_agent_model(struct api_call *call)
{
    const struct agent_query *query = call->query;
    struct agent_model answer;

    if (!auth_may_report(call, STR_NULL, query->agent_name))
        return;
    directives_cache_model(agents_directives(call->api->engine), call->key->tenant->id,
                           query->agent_name, call->arena, &answer);
    call_reply_tagged(call, &answer);
}

void get_agent_policy(struct api_call *call)
{
    const struct agent_query *query = call->query;
    struct command_policy answer;

    if (!auth_may_report(call, STR_NULL, query->agent_name))
        return;
    directives_cache_policy(agents_directives(call->api->engine), call->key->tenant->id,
                            query->agent_name, call->arena, &answer);
    call_reply_tagged(call, &answer);
}

/* Whom the path speaks of: the platform, {slug}, or {slug} and {agent_name}. */
static struct directive_key place_of(const struct api_call *call)
{
    struct directive_key place = { .agent_name = STR_LIT("") };

    if (call->tenant == NULL)
        return place;
    place.tenant_id = call->tenant->id;
    place.scope = call->values.n > 1 ? SCOPE_AGENT : SCOPE_WORKSPACE;
    if (place.scope == SCOPE_AGENT)
        place.agent_name = ((const struct agent_path *)call->params)->agent_name;
    return place;
}

static void name_place(const struct api_call *call, struct str *ret_tenant, struct str *ret_agent)
{
    *ret_tenant = call->tenant == NULL ? STR_NULL : call->tenant->slug;
    *ret_agent = call->tenant != NULL && call->values.n > 1
                     ? ((const struct agent_path *)call->params)->agent_name
                     : STR_NULL;
}

static int show_model(struct api_call *call, struct db *db, struct error *err)
{
    const struct directive_key place = place_of(call);
    struct model_setting *answer = call->answer;

    if (directives_show_model(db, &place, call->arena, answer, err) != 0)
        return -1;
    name_place(call, &answer->tenant, &answer->agent_name);
    return 0;
}

/* What holds then. */
static void tell_model(struct api_call *call, const struct model_setting *setting)
{
    struct buf text;

    buf_init(&text, SIZE_MAX); /* in proportion to a request, which was bounded */
    shape_write_json(&model_setting_shape, setting, &text);
    call->audit_detail = arena_copy(call->arena, buf_str(&text));
    buf_done(&text);
}

/* A DELETE has no body, and unsets. */
static int set_model(struct api_call *call, struct db *db, struct error *err)
{
    const struct directive_key place = place_of(call);
    struct model_setting *answer = call->answer;

    if (directives_set_model(db, &place, call->body, call->arena, answer, err) != 0)
        return -1;
    name_place(call, &answer->tenant, &answer->agent_name);
    tell_model(call, answer);
    return 0;
}

void get_model(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct model_setting);
    call_read(call, show_model);
}

void change_model(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct model_setting);
    call_change(call, set_model);
}

static int show_policy(struct api_call *call, struct db *db, struct error *err)
{
    const struct directive_key place = place_of(call);
    struct policy_setting *answer = call->answer;

    if (directives_show_policy(db, &place, call->arena, answer, err) != 0)
        return -1;
    name_place(call, &answer->tenant, &answer->agent_name);
    return 0;
}

static int set_policy(struct api_call *call, struct db *db, struct error *err)
{
    const struct directive_key place = place_of(call);
    struct policy_setting *answer = call->answer;

    if (directives_set_policy(db, &place, call->body, call->arena, answer, err) != 0)
        return -1;
    call->audit_detail = arena_printf(call->arena, "{\"mode\":\"%.*s\",\"version\":%lld}",
                                      STR_ARG(answer->mode), (long long)answer->version);
    name_place(call, &answer->tenant, &answer->agent_name);
    return 0;
}

void get_policy(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct policy_setting);
    call_read(call, show_policy);
}

void change_policy(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct policy_setting);
    call_change(call, set_policy);
}
