/* health_routes.c - is the service up, and what does it take. */
#include "api/answers.h"
#include "api/api.h"
#include "api/call.h"
#include "engine/engine.h"
#include "features/access/registry.h"
#include "features/status/routes.h"

static void get_health(struct api_call *call)
{
    if (engine_is_healthy(call->api->engine))
        call_reply_answer(call, &(struct health_answer){ .status = STR_LIT("ok") });
    else
        call_reply_json(call, 503, STR_LIT("{\"status\":\"unavailable\"}"));
}

static void get_limits(struct api_call *call)
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

static void get_openapi(struct api_call *call)
{
    call_reply_json(call, 200, call->api->openapi);
}

/* clang-format off */
const struct route health_routes[] = {
    { ROUTE(GET, "/api/v1/health", OPEN, 200), .handler = get_health, .unavailable = &health_answer_shape, .answer = &health_answer_shape,
      .summary = "Is the service up" },
    { ROUTE(GET, "/openapi.json", OPEN, 200), .handler = get_openapi,
      .summary = "This document" },
    { ROUTE(GET, "/api/v1/openapi.json", OPEN, 200), .handler = get_openapi,
      .summary = "This document" },
    { ROUTE(GET, "/api/v1/limits", ANY_KEY, 200), .handler = get_limits, .answer = &limits_answer_shape,
      .summary = "What is taken at most" },
    { 0 },
};
/* clang-format on */
