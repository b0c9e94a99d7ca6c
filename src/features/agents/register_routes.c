/* register_routes.c - agents that say who they are. */
#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/agents/registrations.h"
#include "features/agents/report.h"
#include "features/agents/routes.h"
#include "features/agents/shapes.h"
#include "features/agents/vocabulary.h"
#include "http/exchange.h"

/* A registration on its way through the writer; call->answer until there is another. */
struct register_call {
    struct registration_request request;
    struct api_call *call;
};

static void answer_registration(struct api_call *call)
{
    const struct register_call *r = call->answer;
    const struct agent_register *body = call->body;
    struct agent_registered answer = {
        .status = r->request.is_new ? STR_LIT("registered") : STR_LIT("updated"),
        .agent_name = body->agent_name,
        .agent_version = body->agent_version,
        .kpis = (int64_t)body->business_kpis.n,
    };
    struct report_words words;

    if (!report_words(call, r->request.verdict, body->agent_name, &words))
        return;
    if (body->config_schema != NULL)
        answer.params = (int64_t)body->config_schema->params.n;
    answer.warnings = vocabulary_warnings(body, call->arena);
    call_reply_answer(call, &answer);
}

static void stored(struct registration_request *request, const struct error *err)
{
    struct register_call *r = CONTAINER_OF(request, struct register_call, request);

    call_resume(r->call, err, answer_registration);
}

static void post_register(struct api_call *call)
{
    const struct agent_register *body = call->body;
    struct register_call *r;
    struct error err = { 0 };

    if (!auth_may_report(call, STR_NULL, body->agent_name))
        return;
    r = ARENA_NEW(call->arena, struct register_call);
    r->call = call;
    r->request = (struct registration_request){ .tenant = call->key->tenant,
                                                .body = body,
                                                .arena = call->arena,
                                                .bytes = call->exchange->request.body.len,
                                                .received_at = clock_wall_us(),
                                                .done = stored };
    call->answer = r;
    if (registrations_submit(engine_writer(call->api->engine), &r->request, &err) != 0)
        call_reply_failure(call, &err);
}

/* clang-format off */
const struct route register_routes[] = {
    { ROUTE(POST, "/api/v1/agents/register", ANY_KEY, 200), .handler = post_register, .body = &agent_register_shape, .answer = &agent_registered_shape,
      .summary = "Say who the agent is and what it reports" },
    { 0 },
};
/* clang-format on */
