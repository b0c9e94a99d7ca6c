/* reports.c - what the writer does with a business or LLM-usage report. */
#include "features/kpis/reports.h"

#include "base/metrics.h"
#include "engine/txn.h"
#include "features/access/registry.h"
#include "features/cost/report_shapes.h"
#include "features/cost/report_store.h"
#include "features/kpis/catalog_store.h"
#include "features/kpis/report_shapes.h"
#include "features/live/feed.h"

/* Sets the verdict and, when that is accepted, where the report belongs. */
static int admit(struct report_request *request, struct txn *txn, struct str agent_name,
                 struct report_key *ret, struct error *err)
{
    const struct applicant agent = { request->tenant->id, agent_name, request->received_at };
    struct admission admission;

    if (admit_agent(txn, &agent, &admission, err) != 0)
        return -1;
    request->verdict = admission.verdict;
    *ret = (struct report_key){ .tenant_id = request->tenant->id,
                                .agent_id = admission.agent_id,
                                .received_at = request->received_at };
    return 0;
}

static int business_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct report_request *request = CONTAINER_OF(job, struct report_request, job);
    struct report_key place;

    if (admit(request, txn, request->business->agent_name, &place, err) != 0)
        return -1;
    if (request->verdict != VERDICT_ACCEPTED)
        return 0;
    if (store_business_put(txn->db, &place, &request->rows, txn->rollups, err) != 0)
        return -1;
    return store_kpis_undeclared(txn->db, &place, &request->rows, request->arena,
                                 &request->undeclared, err);
}

static int llm_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct report_request *request = CONTAINER_OF(job, struct report_request, job);
    struct report_key place;

    if (admit(request, txn, request->llm->agent_name, &place, err) != 0)
        return -1;
    if (request->verdict != VERDICT_ACCEPTED)
        return 0;
    return store_llm_put(txn->db, &place, request->llm, txn->totals, err);
}

static void report_stored(struct writer_job *job, const struct error *err)
{
    struct report_request *request = CONTAINER_OF(job, struct report_request, job);

    if (err == NULL && request->verdict == VERDICT_ACCEPTED) {
        bool is_llm = job->apply == llm_apply;

        metric_add(is_llm ? METRIC_REPORTS_LLM : METRIC_REPORTS_BUSINESS, 1);
        feed_note_agent(job->txn->feed, request->tenant->id,
                        is_llm ? request->llm->agent_name : request->business->agent_name);
    }
}

void reports_prepare_business(struct report_request *request)
{
    store_business_prepare(request->business, request->arena, &request->rows);
    request->undeclared = (struct list){ 0 };
    request->job = (struct writer_job){
        .apply = business_apply,
        .stored = report_stored,
        .events = 1 + request->rows.n_values + request->rows.n_breakdowns, /* rows it writes */
        .bytes = request->bytes,
    };
}

void reports_prepare_llm(struct report_request *request)
{
    request->job = (struct writer_job){
        .apply = llm_apply, .stored = report_stored, .events = 1, .bytes = request->bytes
    };
}
