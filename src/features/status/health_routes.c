/* health_routes.c - health, limits and the OpenAPI document. */
#include "api/answers.h"
#include "api/api.h"
#include "api/call.h"
#include "engine/engine.h"
#include "features/access/rate.h"
#include "features/access/registry.h"
#include "features/status/routes.h"

static int show_health(struct api_call *call, struct error *err)
{
    struct health_answer *answer = call->answer;

    (void)err;
    answer->status = STR_LIT("ok");
    if (engine_is_healthy(call->api->engine))
        call_reply(call, NULL);
    else
        call_reply_json(call, 503, STR_LIT("{\"status\":\"unavailable\"}"));
    return 0;
}

static int show_limits(struct api_call *call, struct error *err)
{
    const struct api_limits *limits = &call->api->limits;
    const struct tenant_entry *tenant = call->key->tenant;
    struct limits_answer *answer = call->answer;

    (void)err;
    *answer = (struct limits_answer){
        .batch_max_events = (int64_t)limits->batch_max_events,
        .batch_max_bytes = (int64_t)limits->batch_max_bytes,
        .body_max_bytes = (int64_t)limits->body_max_bytes,
        .business_max_bytes = (int64_t)limits->business_max_bytes,
        .rate_limit = atomic_load(&tenant->rate_limit),
        .rate_window_seconds = RATE_WINDOW_S,
        .max_agents = atomic_load(&tenant->max_agents),
    };
    call_reply(call, NULL);
    return 0;
}

static int send_openapi(struct api_call *call, struct error *err)
{
    (void)err;
    call_reply_json(call, 200, call->api->openapi);
    return 0;
}

/* clang-format off */
const struct route health_routes[] = {
    { ROUTE(GET, "/api/v1/health", OPEN, 200), .handler = show_health, .unavailable = &health_answer_shape, .answer = &health_answer_shape,
      .id = "get_health", .summary = "Check that the service is up",
      .description = "Answers 503 with status `unavailable` while the database does not answer." },
    { ROUTE(GET, "/openapi.json", OPEN, 200), .handler = send_openapi,
      .id = "get_openapi", .summary = "Get this document",
      .description = "The OpenAPI 3.1 description of every operation, generated from the tables that the service itself reads." },
    { ROUTE(GET, "/api/v1/openapi.json", OPEN, 200), .handler = send_openapi,
      .id = "get_openapi_v1", .summary = "Get this document",
      .description = "The same document as `/openapi.json`." },
    { ROUTE(GET, "/api/v1/limits", ANY_KEY, 200), .handler = show_limits, .answer = &limits_answer_shape,
      .id = "get_limits", .summary = "Get the limits of this key",
      .description = "Sizes of batches and bodies, the rate limit of the key and the number of agents in the plan. Beyond a size limit the answer is 413, beyond the rate limit 429." },
    { 0 },
};
/* clang-format on */
