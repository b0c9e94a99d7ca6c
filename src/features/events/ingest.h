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

/* Filled in by the caller; must live until done(). */
struct ingest_request {
    struct writer_job job; /* filled in by ingest_prepare() but for done() */
    const struct tenant_entry *tenant;
    const struct telemetry_event *events;
    size_t n;
    size_t bytes;           /* of the request; counts towards the queue's limit */
    int64_t received_at;    /* wall clock */
    bool over_quota;        /* duplicates are found, and nothing is stored */
    enum verdict *verdicts; /* space for n */
};

/* Fills in the job, for the caller to submit. */
void ingest_prepare(struct ingest_request *request);

/* Once it was applied: is there an event to store for which the quota leaves no room? Then the
 * whole request is refused. */
bool ingest_has_no_room(const struct ingest_request *request);

/* For a job that stores more than events: its announce(), and what it does in apply() and in
 * committed(). */
void ingest_announce(struct writer_job *job, struct txn *txn);
int ingest_add(struct ingest_request *request, struct txn *txn, struct error *err) MUST_CHECK;
void ingest_count(const struct ingest_request *request);
