/* heartbeat_routes.c - heartbeats of processes. */
#include "api/call.h"
#include "base/clock.h"
#include "features/access/registry.h"
#include "features/agents/heartbeats.h"
#include "features/agents/routes.h"
#include "features/agents/shapes.h"

static int note_heartbeat(struct api_call *call, struct error *err)
{
    const struct heartbeat_query *query = call->query;
    struct heartbeat_request *request = ARENA_NEW(call->arena, struct heartbeat_request);
    struct heartbeat_answer *answer = call->answer;

    *request = (struct heartbeat_request){ .beat = { .tenant_id = call->tenant_id,
                                                     .client_id = query->client_id,
                                                     .received_at = clock_wall_us() },
                                           .agent_name = call->key->agent_name };
    *answer = (struct heartbeat_answer){ .status = STR_LIT("ok"),
                                         .client_id = query->client_id,
                                         .received_at = request->beat.received_at };
    heartbeats_prepare(request);
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
