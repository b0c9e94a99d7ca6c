/* agent_routes.c - agents, for operators. */
#include "api/call.h"
#include "api/handlers.h"
#include "features/access/registry.h"
#include "features/access/tenants.h"
#include "features/agents/shapes.h"

static int enable_agent(struct api_call *call, struct db *db, struct error *err)
{
    const struct agent_path *path = call->params;
    const struct agent_patch *patch = call->body;
    struct agent_state *answer = call->answer;

    call->audit_target = path->agent_name;
    call->audit_detail =
        patch->enabled ? STR_LIT("{\"enabled\":true}") : STR_LIT("{\"enabled\":false}");
    *answer = (struct agent_state){ path->agent_name, patch->enabled };
    return admin_enable_agent(db, call->tenant->id, path->agent_name, patch->enabled, err);
}

void patch_agent(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct agent_state);
    call_change(call, enable_agent);
}

static int remove_agent(struct api_call *call, struct db *db, struct error *err)
{
    const struct agent_path *path = call->params;

    call->audit_target = path->agent_name;
    return admin_delete_agent(db, call->tenant->id, path->agent_name, call->answer, err);
}

void delete_agent(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct agent_deleted);
    call_change(call, remove_agent);
}
