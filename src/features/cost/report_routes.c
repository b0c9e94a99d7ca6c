/* report_routes.c - LLM usage from agents. */
#include "features/cost/report_shapes.h"

#include "api/api.h"
#include "api/call.h"
#include "engine/engine.h"
#include "features/agents/report.h"
#include "features/cost/routes.h"

static void answer_llm(struct api_call *call)
{
    const struct report_request *request = &((const struct report_call *)call->answer)->request;
    const struct llm_usage *usage = request->llm;
    struct report_words words;

    if (!report_words(call, request->verdict, usage->agent_name, &words))
        return;
    call_reply_answer(call, &(struct llm_verdict){ .status = words.status,
                                                   .run_id = usage->run_id,
                                                   .model = usage->model,
                                                   .reason = words.reason,
                                                   .detail = words.detail });
}

static void post_llm(struct api_call *call)
{
    const struct llm_usage *body = call->body;
    struct report_call *report = report_begin(call, body->client_id, body->agent_name, answer_llm);
    struct error err = { 0 };

    if (report == NULL)
        return;
    report->request.llm = body;
    if (reports_submit_llm(engine_writer(call->api->engine), &report->request, &err) != 0)
        call_reply_failure(call, &err);
}

/* clang-format off */
const struct route llm_report_routes[] = {
    { ROUTE(POST, "/api/v1/telemetry/llm", ANY_KEY, 202), .handler = post_llm, .body = &llm_usage_shape, .answer = &llm_verdict_shape,
      .summary = "Report the tokens that one run used of a model" },
    { 0 },
};
/* clang-format on */
