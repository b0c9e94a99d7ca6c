/* report.h - shared parts of the routes on which agents report. */
#pragma once
#include "api/call.h"
#include "base/str.h"
#include "engine/writer.h"
#include "features/agents/admit.h"
#include "features/metrics.h"

/* A verdict as the API answers it. */
struct report_words {
    struct str status;
    struct str reason, detail; /* STR_NULL unless rejected */
};

/* Fails with 403 when the plan allows no further agent, with 507 beyond its quota. In the call's
 * arena. */
int report_words(struct api_call *call, enum verdict verdict, struct str agent_name,
                 struct report_words *ret, struct error *err) MUST_CHECK;

/* A report for the writer, the first member of each kind of report; in memory that lives until the
 * job's done(). */
struct report {
    struct writer_job job;
    const struct tenant_entry *tenant;
    struct str agent_name;
    struct arena *arena;  /* the request's; belongs to the writer from submit until done() */
    size_t bytes;         /* size of the request, for the queue's limit */
    int64_t received_at;  /* wall clock */
    enum verdict verdict; /* valid in done() without an error; never VERDICT_DUPLICATE or
                           * VERDICT_OVER_QUOTA */
};

/* Fills in the report, except its job, and sets call->own to it. An empty client_id means the key's
 * own tenant. Fails with 403. */
int report_begin(struct api_call *call, struct str client_id, struct str agent_name,
                 struct report *report, struct error *err) MUST_CHECK;

/* The job's announce(). */
void report_announce(struct writer_job *job, struct txn *txn);

/* In the job's apply(): sets the verdict and, when that is accepted, the key of the report. */
int report_admit(struct report *report, struct txn *txn, struct report_key *ret,
                 struct error *err) MUST_CHECK;

/* In the job's committed(): counts an accepted report, and publishes that the agent was seen. */
void report_count(const struct report *report, enum feature_metric metric);

/* Has the caller's tenant reached the quota of its plan? */
bool over_quota(const struct api_call *call);

/* Answers 507 once the writer has noted that the agent was seen: what it sent is refused, but it is
 * not silent. An unknown agent is not added. The name lives as long as the call's arena. */
int over_quota_refuse(struct api_call *call, struct str agent_name, struct error *err) MUST_CHECK;
