/* reports.c - LLM usage from agents: the route, and the job of the writer. */
#include "features/cost/reports.h"

#include "api/call.h"
#include "engine/job.h"
#include "features/access/registry.h"
#include "features/cost/llm_totals.h"
#include "features/metrics.h"

static struct job_cost llm_cost = JOB_COST(50);

static int llm_report_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct llm_report *llm = CONTAINER_OF(job, struct llm_report, report.job);
    struct report_key key;

    if (report_admit(&llm->report, txn, &key, err) != 0)
        return -1;
    if (llm->report.verdict != VERDICT_ACCEPTED)
        return 0;
    return llm_usage_put(txn->db, &key, llm->body, llm_totals_of(txn), &llm->replaced, err);
}

static void llm_report_committed(struct writer_job *job)
{
    report_count(CONTAINER_OF(job, struct report, job), METRIC_REPORTS_LLM);
}

void llm_report_prepare(struct llm_report *llm)
{
    llm->report.job = (struct writer_job){ .announce = report_announce,
                                           .apply = llm_report_apply,
                                           .committed = llm_report_committed,
                                           .tenant_id = llm->report.tenant->id,
                                           .agent_name = llm->report.agent_name,
                                           .cost = &llm_cost,
                                           .events = 1,
                                           .bytes = llm->report.bytes };
}

static int fill_llm_verdict(struct api_call *call, struct error *err)
{
    const struct llm_report *llm = call->own;
    const struct llm_usage *usage = llm->body;
    struct llm_verdict *answer = call->answer;
    struct report_words words;

    if (report_words(call, llm->report.verdict, usage->agent_name, &words, err) != 0)
        return -1;
    *answer = (struct llm_verdict){ .status = words.status,
                                    .run_id = usage->run_id,
                                    .model = usage->model,
                                    .replaced = llm->replaced,
                                    .reason = words.reason,
                                    .detail = words.detail };
    return 0;
}

static int report_llm_usage(struct api_call *call, struct error *err)
{
    const struct llm_usage *body = call->body;
    struct llm_report *llm = ARENA_NEW(call->arena, struct llm_report);

    if (report_begin(call, body->client_id, body->agent_name, &llm->report, err) != 0)
        return -1;
    if (over_quota(call))
        return over_quota_refuse(call, body->agent_name, err);
    llm->body = body;
    llm_report_prepare(llm);
    return call_submit(call, &llm->report.job, fill_llm_verdict, err);
}

/* clang-format off */
const struct route llm_report_routes[] = {
    { ROUTE(POST, "/api/v1/telemetry/llm", REPORT, 202), .handler = report_llm_usage, .also = ALSO_QUOTA, .body = &llm_usage_shape, .answer = &llm_verdict_shape,
      .id = "report_llm_usage", .summary = "Report LLM tokens used by one run",
      .description = "A report with the same agent, run, model and timestamp replaces the earlier one, and `replaced` in the answer says so. Only tokens are stored; cost is computed from the price list when it is read." },
    { 0 },
};
/* clang-format on */
