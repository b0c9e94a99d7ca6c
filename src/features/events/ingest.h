/* ingest.h - stores reported run events.
 *
 * The events of all requests in a transaction are checked for admission of
 * their agent, collected, and stored in bulk just before the commit. Each
 * event gets a verdict; done() is called once the transaction is durable.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "engine/writer.h"
#include "features/agents/admit.h"

struct telemetry_event;
struct tenant_entry;
struct txn;

/* Filled in by the caller; must live until done(). */
struct ingest_request {
    struct writer_job job; /* filled in by ingest_prepare() but for done() */
    const struct tenant_entry *tenant;
    const struct telemetry_event *events;
    size_t n;
    size_t bytes;           /* of the request; counts towards the queue's limit */
    int64_t received_at;    /* wall clock */
    enum verdict *verdicts; /* space for n */
};

/* Fills in the job, for the caller to submit. */
void ingest_prepare(struct ingest_request *request);

/* The name of each event's agent; in the arena. */
struct str *ingest_names(const struct telemetry_event *events, size_t n, struct arena *arena);

/* For a job that stores more than events: what that job does in apply(), and in committed(). */
int ingest_add(struct ingest_request *request, struct txn *txn, struct error *err) MUST_CHECK;
void ingest_count(const struct ingest_request *request);
