/* reports.c - the writer jobs of business and LLM-usage reports. */
#include "features/kpis/reports.h"

#include "base/metrics.h"
#include "engine/txn.h"
#include "features/access/registry.h"
#include "features/cost/report_shapes.h"
#include "features/cost/report_store.h"
#include "features/kpis/catalog_store.h"
#include "features/kpis/report_shapes.h"
#include "features/live/feed.h"

/* Sets the verdict and the key of an accepted report. */
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

static int report_apply_business(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct report_request *request = CONTAINER_OF(job, struct report_request, job);
    struct report_key key;

    if (admit(request, txn, request->business->agent_name, &key, err) != 0)
        return -1;
    if (request->verdict != VERDICT_ACCEPTED)
        return 0;
    if (store_business_put(txn->db, &key, &request->rows, txn->rollups, err) != 0)
        return -1;
    return store_kpis_undeclared(txn->db, &key, &request->rows, request->arena,
                                 &request->undeclared, err);
}

static int report_apply_llm(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct report_request *request = CONTAINER_OF(job, struct report_request, job);
    struct report_key key;

    if (admit(request, txn, request->llm->agent_name, &key, err) != 0)
        return -1;
    if (request->verdict != VERDICT_ACCEPTED)
        return 0;
    return store_llm_put(txn->db, &key, request->llm, txn->totals, err);
}

static void report_done(struct writer_job *job, const struct error *err)
{
    struct report_request *request = CONTAINER_OF(job, struct report_request, job);

    if (err == NULL && request->verdict == VERDICT_ACCEPTED) {
        bool is_llm = job->apply == report_apply_llm;

        metric_add(is_llm ? METRIC_REPORTS_LLM : METRIC_REPORTS_BUSINESS, 1);
        feed_note_agent(job->txn->feed, request->tenant->id,
                        is_llm ? request->llm->agent_name : request->business->agent_name);
    }
    request->done(request, err);
}

int reports_submit_business(struct writer *writer, struct report_request *request,
                            struct error *err)
{
    store_business_prepare(request->business, request->arena, &request->rows);
    request->undeclared = (struct list){ 0 };
    request->job = (struct writer_job){
        .apply = report_apply_business,
        .done = report_done,
        .events = 1 + request->rows.n_values + request->rows.n_breakdowns, /* rows it writes */
        .bytes = request->bytes,
    };
    return writer_submit(writer, &request->job, err);
}

int reports_submit_llm(struct writer *writer, struct report_request *request, struct error *err)
{
    request->job = (struct writer_job){
        .apply = report_apply_llm, .done = report_done, .events = 1, .bytes = request->bytes
    };
    return writer_submit(writer, &request->job, err);
}
