/* reports.c - the writer job of a business report. */
#include "features/kpis/reports.h"

#include "engine/job_cost.h"
#include "features/access/registry.h"
#include "features/kpis/catalog_store.h"

static struct job_cost business_cost = JOB_COST(20);

static int business_report_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct business_report *business = CONTAINER_OF(job, struct business_report, report.job);
    struct report_key key;

    if (report_admit(&business->report, txn, &key, err) != 0)
        return -1;
    if (business->report.verdict != VERDICT_ACCEPTED)
        return 0;
    if (store_business_put(txn->db, &key, &business->rows, txn->rollups, &business->replaced,
                           err) != 0)
        return -1;
    return store_kpis_undeclared(txn->db, &key, &business->rows, business->report.arena,
                                 &business->undeclared, err);
}

static void business_report_committed(struct writer_job *job)
{
    report_count(CONTAINER_OF(job, struct report, job), METRIC_REPORTS_BUSINESS);
}

void business_report_prepare(struct business_report *business)
{
    store_business_prepare(business->body, business->report.arena, &business->rows);
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
