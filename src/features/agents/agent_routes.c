/* agent_routes.c - agents, for operators. */
#include "api/call.h"
#include "features/access/registry.h"
#include "features/access/tenants.h"
#include "features/agents/routes.h"
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

static int remove_agent(struct api_call *call, struct db *db, struct error *err)
{
    const struct agent_path *path = call->params;

    call->audit_target = path->agent_name;
    return admin_delete_agent(db, call->tenant->id, path->agent_name, call->answer, err);
}

/* clang-format off */
const struct route agent_routes[] = {
    { ROUTE(PATCH, "/api/v1/tenants/{slug}/agents/{agent_name}", ADMIN, 200), .change = enable_agent, .params = &agent_path_shape, .body = &agent_patch_shape, .answer = &agent_state_shape, .audit = "agent.set",
      .id = "update_agent", .summary = "Enable or disable an agent",
      .description = "Events and reports of a disabled agent are rejected; it may still register, send heartbeats and pull its configuration." },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/agents/{agent_name}", ADMIN, 200), .change = remove_agent, .params = &agent_path_shape, .answer = &agent_deleted_shape, .audit = "agent.delete",
      .id = "delete_agent", .summary = "Delete an agent",
      .description = "Deletes what it declared, its model and its command policy, and revokes the keys bound to it. Its runs, reports and document stay. It comes back as a new agent when it reports again." },
    { 0 },
};
/* clang-format on */
