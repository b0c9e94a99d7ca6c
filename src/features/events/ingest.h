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

struct alert_notes;
struct event_log;
struct feed;
struct ingest_group;
struct last_seen;
struct llm_totals;
struct registry;
struct rollups;
struct telemetry_event;
struct tenant_entry;

/* What one writer thread shares among the requests of a transaction. Borrows all. */
struct ingest_group *ingest_group_new(struct event_log *log, const struct registry *registry,
                                      struct last_seen *last_seen);

/* Where to tell what was stored; NULL, as at first: nowhere. Borrowed. */
void ingest_group_set_feed(struct ingest_group *g, struct feed *feed);
struct feed *ingest_feed_of(const struct writer_job *job);

/* NULL is fine. */
void ingest_group_free(struct ingest_group *g);

/* For struct writer_options; a group is a struct ingest_group. */
extern const struct writer_group_methods ingest_group_methods;

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

/* The group that a job's transaction belongs to: whoever else stores reports admits by it. */
struct admit *ingest_admit_of(const struct writer_job *job);

/* Where that transaction gathers what it does to the values of KPIs. */
struct rollups *ingest_rollups_of(const struct writer_job *job);

/* The alerts that it opens and closes, told after its commit; NULL where nothing is shared. */
struct alert_notes *ingest_notes_of(const struct writer_job *job);

/* What that transaction changes in the sums of LLM usage; it is stored at its end. */
struct llm_totals *ingest_totals_of(const struct writer_job *job);
