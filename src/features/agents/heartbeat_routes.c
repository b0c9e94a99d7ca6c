/* heartbeat_routes.c - processes that say they are alive. */
#include "api/api.h"
#include "api/call.h"
#include "api/handlers.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "features/access/registry.h"
#include "features/agents/heartbeats.h"
#include "features/agents/shapes.h"

/* A sign of life on its way through the writer; call->answer until there is another. */
struct heartbeat_call {
    struct heartbeat_request request;
    struct api_call *call;
};

static void answer_heartbeat(struct api_call *call)
{
    const struct heartbeat *beat = &((const struct heartbeat_call *)call->answer)->request.beat;

    call_reply_answer(call, &(struct heartbeat_answer){ .status = STR_LIT("ok"),
                                                        .client_id = beat->client_id,
                                                        .received_at = beat->received_at });
}

static void stored(struct heartbeat_request *request, const struct error *err)
{
    struct heartbeat_call *h = CONTAINER_OF(request, struct heartbeat_call, request);

    call_resume(h->call, err, answer_heartbeat);
}

void post_heartbeat(struct api_call *call)
{
    const struct heartbeat_query *query = call->query;
    struct heartbeat_call *h = ARENA_NEW(call->arena, struct heartbeat_call);
    struct error err = { 0 };

    h->call = call;
    h->request = (struct heartbeat_request){ .beat = { .tenant_id = call->key->tenant->id,
                                                       .client_id = query->client_id,
                                                       .received_at = clock_wall_us() },
                                             .agent_name = call->key->agent_name,
                                             .done = stored };
    call->answer = h;
    if (heartbeats_submit(engine_writer(call->api->engine), &h->request, &err) != 0)
        call_reply_failure(call, &err);
}
