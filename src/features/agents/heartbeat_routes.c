/* heartbeat_routes.c - heartbeats of processes. */
#include "api/call.h"
#include "base/clock.h"
#include "engine/job_cost.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/access/registry.h"
#include "features/agents/admit.h"
#include "features/agents/routes.h"
#include "features/agents/shapes.h"
#include "features/agents/signs_store.h"
#include "features/live/feed.h"

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

    if (store_heartbeat_put(txn->db, &request->beat, err) != 0)
        return -1;
    if (str_is_null(request->agent_name)) /* a workspace key identifies no agent */
        return 0;
    return admit_sighting(txn, &agent, err);
}

static void heartbeat_committed(struct writer_job *job)
{
    struct heartbeat_request *request = CONTAINER_OF(job, struct heartbeat_request, job);

    if (!str_is_null(request->agent_name))
        feed_note_agent(job->txn->feed, request->beat.tenant_id, request->agent_name);
}

static int note_heartbeat(struct api_call *call, struct error *err)
{
    const struct heartbeat_query *query = call->query;
    struct heartbeat_request *request = ARENA_NEW(call->arena, struct heartbeat_request);
    struct heartbeat_answer *answer = call->answer;

    request->agent_name = call->key->agent_name;
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
