/* health_routes.c - is the service up, and what does it take. */
#include "api/answers.h"
#include "api/api.h"
#include "api/call.h"
#include "api/handlers.h"
#include "engine/engine.h"
#include "features/access/registry.h"

void get_health(struct api_call *call)
{
    if (engine_is_healthy(call->api->engine))
        call_reply_answer(call, &(struct health_answer){ .status = STR_LIT("ok") });
    else
        call_reply_json(call, 503, STR_LIT("{\"status\":\"unavailable\"}"));
}

void get_limits(struct api_call *call)
{
    const struct api_limits *limits = &call->api->limits;
    const struct tenant_entry *tenant = call->key->tenant;
    const struct limits_answer answer = {
        .batch_max_events = (int64_t)limits->batch_max_events,
        .batch_max_bytes = (int64_t)limits->batch_max_bytes,
        .body_max_bytes = (int64_t)limits->body_max_bytes,
        .business_max_bytes = (int64_t)limits->business_max_bytes,
        .rate_limit = atomic_load(&tenant->rate_limit),
        .rate_window_seconds = RATE_WINDOW_S,
        .max_agents = atomic_load(&tenant->max_agents),
    };

    call_reply_answer(call, &answer);
}
