/* ingest.h - run events on their way into the store.
 *
 * The events of all requests that share a transaction are gathered, each
 * admitted by its agent, then stored in bulk just before the commit. Each
 * event gets a verdict; a request is told once the transaction is durable.
 */
#pragma once
#include "base/err.h"
#include "engine/writer.h"
#include "features/agents/admit.h"

struct telemetry_event;
struct tenant_entry;

/* Filled in by the caller, in memory that lives until done(). */
struct ingest_request {
    struct writer_job job; /* filled in by ingest_prepare() but for done() */
    const struct tenant_entry *tenant;
    const struct telemetry_event *events;
    size_t n;
    size_t bytes;           /* of the request, for the queue's bound */
    int64_t received_at;    /* wall clock */
    enum verdict *verdicts; /* room for n */
};

/* Fills in the job, for the caller to submit. */
void ingest_prepare(struct ingest_request *request);
