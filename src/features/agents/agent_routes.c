/* agent_routes.c - agents, for operators. */
#include "api/call.h"
#include "base/clock.h"
#include "engine/txn.h"
#include "features/agents/admit.h"
#include "features/agents/directives/store.h"
#include "features/agents/routes.h"
#include "features/agents/shapes.h"
#include "features/agents/store.h"

/* All writers of this process look the agent up again, from the commit on. */
static void note_changed(const struct api_call *call, int64_t agent_id)
{
    admit_agent_changed(call->change.write.txn->admit, call->tenant_id, agent_id);
}

static int enable_agent(struct api_call *call, struct db *db, struct error *err)
{
    const struct agent_path *path = call->params;
    const struct agent_patch *patch = call->body;
    struct agent_state *answer = call->answer;
    int64_t agent_id;

    call->audit_target = path->agent_name;
    call->audit_detail =
        patch->enabled ? STR_LIT("{\"enabled\":true}") : STR_LIT("{\"enabled\":false}");
    *answer = (struct agent_state){ path->agent_name, patch->enabled };
    if (store_agent_enable(db, call->tenant_id, path->agent_name, patch->enabled, &agent_id, err) !=
        0)
        return -1;
    note_changed(call, agent_id);
    return 0;
}

/* Deletes its registration, KPIs and directives and revokes its keys; its reports stay. */
static int remove_agent(struct api_call *call, struct db *db, struct error *err)
{
    const struct agent_path *path = call->params;
    const struct directive_key key = { SCOPE_AGENT, call->tenant_id, path->agent_name };
    struct agent_deleted *answer = call->answer;
    struct agent_deletion deletion;

    call->audit_target = path->agent_name;
    answer->agent_name = path->agent_name;
    if (store_agent_delete(db, key.tenant_id, path->agent_name, clock_wall_us(), &deletion, err) !=
            0 ||
        store_model_unset(db, &key, err) != 0)
        return -1;
    answer->keys_revoked = deletion.keys_revoked;
    note_changed(call, deletion.agent_id);
    return store_policy_unset(db, &key, err);
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
