/* ingest.h - stores reported run events.
 *
 * The events of all requests in a transaction are checked for admission of
 * their agent, collected, and stored in bulk just before the commit. Each
 * event gets a verdict; done() is called once the transaction is durable.
 */
#pragma once
#include "base/err.h"
#include "engine/writer.h"
#include "features/agents/admit.h"

struct telemetry_event;
struct tenant_entry;

/* Filled in by the caller; must live until done(). */
struct ingest_request {
    struct writer_job job; /* private to ingest.c */
    const struct tenant_entry *tenant;
    const struct telemetry_event *events;
    size_t n;
    size_t bytes;           /* of the request; counts towards the queue's limit */
    int64_t received_at;    /* wall clock */
    enum verdict *verdicts; /* space for n */

    /* Writer thread, exactly once. `err` is NULL when everything accepted is durable. */
    void (*done)(struct ingest_request *request, const struct error *err);
};

/* Any thread. ERR_BUSY when the queue is full; then done() is not called. */
int ingest_submit(struct writer *writer, struct ingest_request *request,
                  struct error *err) MUST_CHECK;
