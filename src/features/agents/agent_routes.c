/* agent_routes.c - agents, for operators, and heartbeats. */
#include "api/call.h"
#include "base/clock.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/agents/admit.h"
#include "features/agents/agents_store.h"
#include "features/agents/directives/store.h"
#include "features/agents/routes.h"
#include "features/agents/shapes.h"
#include "features/agents/signs_store.h"
#include "features/live/feed.h"

/* All writers of this process look the agent up again, from the commit on. */
static void note_changed(const struct api_call *call, int64_t agent_id)
{
    admit_agent_changed(admit_of(call->change.write.txn), call->tenant_id, agent_id);
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
    if (agents_enable(db, call->tenant_id, path->agent_name, patch->enabled, &agent_id, err) != 0)
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
    if (agents_delete(db, key.tenant_id, path->agent_name, clock_wall_us(), &deletion, err) != 0 ||
        directive_remove(db, DIRECTIVE_MODEL, &key, err) != 0)
        return -1;
    answer->keys_revoked = deletion.keys_revoked;
    note_changed(call, deletion.agent_id);
    return directive_remove(db, DIRECTIVE_POLICY, &key, err);
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

struct heartbeat_request {
    struct writer_job job;
    struct heartbeat beat;
    struct str agent_name; /* agent that the key is bound to; STR_NULL: a workspace key */
};

static struct job_cost heartbeat_cost = JOB_COST(20);

static int heartbeat_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct heartbeat_request *request = CONTAINER_OF(job, struct heartbeat_request, job);
    const struct applicant agent = { .tenant_id = request->beat.tenant_id,
                                     .agent_name = request->agent_name,
                                     .at = request->beat.received_at };

    if (heartbeat_put(txn->db, &request->beat, err) != 0)
        return -1;
    if (str_is_null(request->agent_name)) /* a workspace key identifies no agent */
        return 0;
    return admit_sighting(txn, &agent, err);
}

static void heartbeat_committed(struct writer_job *job)
{
    struct heartbeat_request *request = CONTAINER_OF(job, struct heartbeat_request, job);

    if (!str_is_null(request->agent_name))
        feed_note_agent(feed_of(job->txn), request->beat.tenant_id, request->agent_name);
}

static int note_heartbeat(struct api_call *call, struct error *err)
{
    const struct heartbeat_query *query = call->query;
    struct heartbeat_request *request = ARENA_NEW(call->arena, struct heartbeat_request);
    struct heartbeat_answer *answer = call->answer;

    request->agent_name = call->caller->key->agent_name;
    request->beat = (struct heartbeat){ .tenant_id = call->tenant_id,
                                        .client_id = query->client_id,
                                        .received_at = clock_wall_us() };
    request->job = (struct writer_job){ .apply = heartbeat_apply,
                                        .committed = heartbeat_committed,
                                        .tenant_id = call->tenant_id,
                                        .agent_name = request->agent_name,
                                        .cost = &heartbeat_cost,
                                        .events = 1,
                                        .bytes = query->client_id.len };
    *answer = (struct heartbeat_answer){ .status = STR_LIT("ok"),
                                         .client_id = query->client_id,
                                         .received_at = request->beat.received_at };
    return call_submit(call, &request->job, NULL, err);
}

/* clang-format off */
const struct route heartbeat_routes[] = {
    { ROUTE(POST, "/api/v1/heartbeat", REPORT, 200), .handler = note_heartbeat, .query = &heartbeat_query_shape, .answer = &heartbeat_answer_shape,
      .id = "send_heartbeat", .summary = "Report that a process is alive",
      .description = "`client_id` names a process, not a workspace. With an agent key it also counts as a sign of life of that agent. Optional: events prove liveness too." },
    { 0 },
};
/* clang-format on */
