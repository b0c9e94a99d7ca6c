/* ingest.h - stores reported run events.
 *
 * The events of all requests in a transaction are checked for admission of
 * their agent, collected, and stored in bulk just before the commit. Each
 * event gets a verdict; done() is called once the transaction is durable.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/agents/admit.h"

struct telemetry_event;
struct tenant_entry;

/* Filled in by the caller; must live until done(). */
struct ingest_request {
    struct writer_job job; /* filled in by ingest_job_init() but for done() */
    const struct tenant_entry *tenant;
    const struct telemetry_event *events;
    size_t n;
    size_t bytes;           /* of the request; counts towards the queue's limit */
    int64_t received_at;    /* wall clock */
    bool over_quota;        /* duplicates are found, and nothing is stored */
    enum verdict *verdicts; /* space for n */
};

/* Fills in the job, for the caller to submit. */
void ingest_job_init(struct ingest_request *request);

/* After apply(): does the quota leave no room for one of the events? Then the whole request is
 * refused. */
bool ingest_has_no_room(const struct ingest_request *request);

/* For a job that stores more than events: its announce(), and what it does in apply() and in
 * committed(). */
void ingest_announce(struct writer_job *job, struct txn *txn);
int ingest_add(struct ingest_request *request, struct txn *txn, struct error *err) MUST_CHECK;
void ingest_count(const struct ingest_request *request);

/* --- the batch of a transaction, for the writer alone: collected, then stored in bulk before its
 * commit --- */

struct event_batch;
struct event_item;
struct event_log;

/* Borrows the log. */
struct event_batch *event_batch_new(struct event_log *log);

/* NULL is fine. */
void event_batch_free(struct event_batch *batch);

/* The events collected so far; once prepared, with their results. */
const struct event_item *event_batch_items(const struct event_batch *batch, size_t *ret_n);

/* Is any of them watched by alerts? */
bool event_batch_is_watched(const struct event_batch *batch);

/* The steps of a transaction, as in engine/txn.h. */
int event_batch_prepare(struct txn *txn, struct error *err);
int event_batch_settle(struct txn *txn, struct error *err);
void event_batch_committed(struct txn *txn);
void event_batch_rolled_back(struct txn *txn);
void event_batch_changed(struct txn *txn);

/* The part of a transaction that is this; NULL: it has none. */
extern const char event_batch_part[];

static inline struct event_batch *event_batch_of(const struct txn *txn)
{
    return txn_part(txn, event_batch_part);
}
