/* report_routes.c - business KPIs from agents. */
#include "features/kpis/report_shapes.h"

#include "api/api.h"
#include "api/call.h"
#include "engine/engine.h"
#include "features/agents/report.h"
#include "features/kpis/routes.h"

static void answer_business(struct api_call *call)
{
    const struct report_request *request = &((const struct report_call *)call->answer)->request;
    const struct business_telemetry *report = request->business;
    struct report_words words;

    if (!report_words(call, request->verdict, report->agent_name, &words))
        return;
    call_reply_answer(call, &(struct business_verdict){ .status = words.status,
                                                        .run_id = report->run_id,
                                                        .undeclared = request->undeclared,
                                                        .reason = words.reason,
                                                        .detail = words.detail });
}

static void post_business(struct api_call *call)
{
    const struct business_telemetry *body = call->body;
    struct report_call *report =
        report_begin(call, body->client_id, body->agent_name, answer_business);
    struct error err = { 0 };

    if (report == NULL)
        return;
    report->request.business = body;
    if (reports_submit_business(engine_writer(call->api->engine), &report->request, &err) != 0)
        call_reply_failure(call, &err);
}

/* clang-format off */
const struct route kpi_report_routes[] = {
    { ROUTE(POST, "/api/v1/telemetry/business", ANY_KEY, 202), .handler = post_business, .body = &business_telemetry_shape, .answer = &business_verdict_shape, .limit = LIMIT_BUSINESS,
      .summary = "Report the business KPIs of one run" },
    { 0 },
};
/* clang-format on */
