/* reports.h - business KPIs and LLM usage on their way into the store.
 *
 * A report is applied by the writer in one transaction, with what other
 * requests brought, and told once that is durable.
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
    struct writer_job job;     /* the service's own, as is `rows` */
    struct business_rows rows; /* of a business report */
    const struct tenant_entry *tenant;
    union { /* as the function that it is submitted by says */
        const struct business_telemetry *business;
        const struct llm_usage *llm;
    };
    struct arena *arena; /* the request's: the writer's from submit until done() */
    size_t bytes;        /* of the request, for the queue's bound */
    int64_t received_at; /* wall clock */

    enum verdict verdict;   /* set before done(NULL); a report is never a duplicate */
    struct list undeclared; /* of struct str; business: keys not declared at registration */

    /* Writer thread, exactly once. `err` is NULL when the report is durable or not accepted. */
    void (*done)(struct report_request *request, const struct error *err);
};

/* Any thread. ERR_BUSY when too much is waiting; done() is then not called. */
int reports_submit_business(struct writer *writer, struct report_request *request,
                            struct error *err) MUST_CHECK;
int reports_submit_llm(struct writer *writer, struct report_request *request,
                       struct error *err) MUST_CHECK;
