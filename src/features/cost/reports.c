/* reports.c - what the writer does with a report of LLM usage. */
#include "features/cost/reports.h"

#include "engine/job_cost.h"
#include "features/access/registry.h"
#include "features/cost/report_store.h"

static struct job_cost llm_cost = JOB_COST(50);

static int llm_report_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct llm_report *llm = CONTAINER_OF(job, struct llm_report, report.job);
    struct report_key key;

    if (report_admit(&llm->report, txn, &key, err) != 0)
        return -1;
    if (llm->report.verdict != VERDICT_ACCEPTED)
        return 0;
    return store_llm_put(txn->db, &key, llm->body, txn->totals, &llm->replaced, err);
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
