/* reports.h - stores reports of business KPIs and LLM usage.
 *
 * The writer applies a report in one transaction, together with other
 * requests; done() is called once it is durable.
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

/* Filled in by the caller; must live until done(). */
struct report_request {
    struct writer_job job;     /* private to reports.c, as is `rows` */
    struct business_rows rows; /* of a business report */
    const struct tenant_entry *tenant;
    union { /* which one: by the submit function */
        const struct business_telemetry *business;
        const struct llm_usage *llm;
    };
    struct arena *arena; /* the request's; used by the writer from submit until done() */
    size_t bytes;        /* of the request; counts towards the queue's limit */
    int64_t received_at; /* wall clock */

    enum verdict verdict;   /* set before done(NULL); a report is never a duplicate */
    struct list undeclared; /* of struct str; business: keys not declared at registration */

    /* Writer thread, exactly once. `err` is NULL when the report is durable or not accepted. */
    void (*done)(struct report_request *request, const struct error *err);
};

/* Any thread. ERR_BUSY when the queue is full; then done() is not called. */
int reports_submit_business(struct writer *writer, struct report_request *request,
                            struct error *err) MUST_CHECK;
int reports_submit_llm(struct writer *writer, struct report_request *request,
                       struct error *err) MUST_CHECK;
