/* llm.c - LLM usage from agents. */
#include "contract/llm.h"

#include "api/api.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/report.h"
#include "service/engine.h"

static void llm_done(struct report_request *request, const struct error *err)
{
    struct api_call *call = CONTAINER_OF(request, struct report_call, request)->call;
    const struct llm_usage *usage = request->llm;
    struct report_words words;

    if (err != NULL) {
        call_reply_failure(call, err);
        return;
    }
    if (!report_words(call, request->verdict, usage->agent_name, &words))
        return;
    call_reply_answer(call, &(struct llm_verdict){ .status = words.status,
                                                   .run_id = usage->run_id,
                                                   .model = usage->model,
                                                   .reason = words.reason,
                                                   .detail = words.detail });
}

void post_llm(struct api_call *call)
{
    const struct llm_usage *body = call->body;
    struct report_call *report = report_begin(call, body->client_id, body->agent_name);
    struct error err = { 0 };

    if (report == NULL)
        return;
    report->request.llm = body;
    report->request.done = llm_done;
    if (reports_submit_llm(engine_writer(call->api->engine), &report->request, &err) != 0)
        call_reply_failure(call, &err);
}
