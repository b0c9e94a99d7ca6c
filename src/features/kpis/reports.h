/* reports.h - business KPIs and LLM usage on their way into the store.
 *
 * The writer applies a report in one transaction, together with other requests.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "engine/writer.h"
#include "features/events/ingest.h"
#include "features/kpis/report_store.h"
#include "shape/shape.h"

struct business_telemetry;
struct llm_usage;
struct tenant_entry;

/* Filled in by the caller, in memory that lives until done(). */
struct report_request {
    struct writer_job job;     /* filled in by the functions below but for done(), as is `rows` */
    struct business_rows rows; /* of a business report */
    const struct tenant_entry *tenant;
    union { /* as the function that prepares it says */
        const struct business_telemetry *business;
        const struct llm_usage *llm;
    };
    struct arena *arena; /* the request's: the writer's from submit until done() */
    size_t bytes;        /* of the request, for the queue's bound */
    int64_t received_at; /* wall clock */

    enum verdict verdict;   /* set before done(NULL); a report is never a duplicate */
    struct list undeclared; /* of struct str; business: keys not declared at registration */
};

/* Each fills in the job, for the caller to submit. */
void reports_prepare_business(struct report_request *request);
void reports_prepare_llm(struct report_request *request);
