/* reports.c - business KPIs from agents: the route, and the job of the writer. */
#include "features/kpis/reports.h"
#include "features/metrics.h"

#include "api/call.h"
#include "engine/job.h"
#include "features/access/registry.h"
#include "features/kpis/rollups.h"
#include "features/kpis/shapes.h"

static struct job_cost business_cost = JOB_COST(20);

static int business_report_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct business_report *business = CONTAINER_OF(job, struct business_report, report.job);
    struct report_key key;

    if (report_admit(&business->report, txn, &key, err) != 0)
        return -1;
    if (business->report.verdict != VERDICT_ACCEPTED)
        return 0;
    if (business_put(txn->db, &key, &business->rows, rollups_of(txn), &business->replaced, err) !=
        0)
        return -1;
    return business_undeclared(txn->db, &key, &business->rows, business->report.arena,
                               &business->undeclared, err);
}

static void business_report_committed(struct writer_job *job)
{
    report_count(CONTAINER_OF(job, struct report, job), METRIC_REPORTS_BUSINESS);
}

void business_report_prepare(struct business_report *business)
{
    business_prepare(business->body, business->report.arena, &business->rows);
    business->undeclared = (struct list){ 0 };
    business->report.job = (struct writer_job){
        .announce = report_announce,
        .apply = business_report_apply,
        .committed = business_report_committed,
        .tenant_id = business->report.tenant->id,
        .agent_name = business->report.agent_name,
        .cost = &business_cost,
        .events = 1 + business->rows.n_values + business->rows.n_breakdowns, /* rows it writes */
        .bytes = business->report.bytes,
    };
}

static int fill_business_verdict(struct api_call *call, struct error *err)
{
    const struct business_report *business = call->own;
    const struct business_telemetry *body = business->body;
    struct business_verdict *answer = call->answer;
    struct report_words words;

    if (report_words(call, business->report.verdict, body->agent_name, &words, err) != 0)
        return -1;
    *answer = (struct business_verdict){ .status = words.status,
                                         .run_id = body->run_id,
                                         .undeclared = business->undeclared,
                                         .replaced = business->replaced > 0,
                                         .reason = words.reason,
                                         .detail = words.detail };
    return 0;
}

static int report_business(struct api_call *call, struct error *err)
{
    const struct business_telemetry *body = call->body;
    struct business_report *business = ARENA_NEW(call->arena, struct business_report);

    if (report_begin(call, body->client_id, body->agent_name, &business->report, err) != 0)
        return -1;
    if (over_quota(call))
        return over_quota_refuse(call, body->agent_name, err);
    business->body = body;
    business_report_prepare(business);
    return call_submit(call, &business->report.job, fill_business_verdict, err);
}

/* clang-format off */
const struct route kpi_report_routes[] = {
    { ROUTE(POST, "/api/v1/telemetry/business", REPORT, 202), .handler = report_business, .also = ALSO_QUOTA, .body = &business_telemetry_shape, .answer = &business_verdict_shape, .limit = LIMIT_BUSINESS,
      .id = "report_kpis", .summary = "Report the business KPIs of one run",
      .description = "Reports of the same run are merged by key: the value with the latest timestamp counts, and `replaced` in the answer says whether the report replaced a stored value or breakdown. Keys that were not declared at registration are stored and listed in the answer." },
    { 0 },
};
/* clang-format on */
