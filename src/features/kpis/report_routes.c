/* report_routes.c - business KPIs from agents. */
#include "features/kpis/report_shapes.h"

#include "api/call.h"
#include "features/agents/report.h"
#include "features/kpis/routes.h"

static int fill_business_verdict(struct api_call *call, struct error *err)
{
    const struct report_request *request = call->own;
    const struct business_telemetry *report = request->business;
    struct business_verdict *answer = call->answer;
    struct report_words words;

    if (report_words(call, request->verdict, report->agent_name, &words, err) != 0)
        return -1;
    *answer = (struct business_verdict){ .status = words.status,
                                         .run_id = report->run_id,
                                         .undeclared = request->undeclared,
                                         .reason = words.reason,
                                         .detail = words.detail };
    return 0;
}

static int report_business(struct api_call *call, struct error *err)
{
    const struct business_telemetry *body = call->body;
    struct report_request *request;

    if (report_begin(call, body->client_id, body->agent_name, &request, err) != 0)
        return -1;
    request->business = body;
    reports_prepare_business(request);
    return call_submit(call, &request->job, fill_business_verdict, err);
}

/* clang-format off */
const struct route kpi_report_routes[] = {
    { ROUTE(POST, "/api/v1/telemetry/business", ANY_KEY, 202), .handler = report_business, .body = &business_telemetry_shape, .answer = &business_verdict_shape, .limit = LIMIT_BUSINESS,
      .id = "report_kpis", .summary = "Report the business KPIs of one run",
      .description = "Reports of the same run are merged by key: the value with the latest timestamp counts. Keys that were not declared at registration are stored and listed in the answer." },
    { 0 },
};
/* clang-format on */
