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
    struct writer_job job; /* ingest's own */
    const struct tenant_entry *tenant;
    const struct telemetry_event *events;
    size_t n;
    size_t bytes;           /* of the request, for the queue's bound */
    int64_t received_at;    /* wall clock */
    enum verdict *verdicts; /* room for n */

    /* Writer thread, exactly once. `err` is NULL when everything accepted is durable. */
    void (*done)(struct ingest_request *request, const struct error *err);
};

/* Any thread. ERR_BUSY when too much is waiting; done() is then not called. */
int ingest_submit(struct writer *writer, struct ingest_request *request,
                  struct error *err) MUST_CHECK;
