/* admit.h - decides whether an agent may report, and adds unknown agents within the plan's cap.
 *
 * Each writer thread remembers the agents that it has found, so that a report of one costs no
 * statement; beyond a million it forgets them all. An agent that is enabled, disabled or deleted,
 * here or by another process, is looked up again by all writers (agent_cache_changed()); other
 * changes of the registry forget nothing. A rollback forgets what its transaction has found.
 * Whether an agent is enabled is one flag for all writers, so that a process never wavers.
 */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "engine/txn.h"

struct admit;
struct agent_cache;
struct agent_row;
struct stored_bytes;

/* The result of a report. */
enum verdict {
    VERDICT_ACCEPTED,
    VERDICT_DUPLICATE,
    VERDICT_AGENT_DISABLED, /* rejected */
    VERDICT_AGENT_CAP,      /* rejected: the plan allows no further agent */
    VERDICT_OVER_QUOTA,     /* rejected: the tenant has reached its quota of bytes */
};

struct admission {
    enum verdict verdict; /* accepted, or the reason for the rejection */
    int64_t agent_id;     /* 0 when the cap is reached */
};

/* Which agent sent a report, and when it was received. */
struct report_key {
    int64_t tenant_id; /* the key's, never the body's */
    int64_t agent_id;
    int64_t received_at;
    struct stored_bytes *bytes; /* of the transaction: what is stored is added to it; or NULL */
};

/* An agent that sends something. */
struct applicant {
    int64_t tenant_id;
    struct str agent_name;
    int64_t at; /* wall clock: when it was received */
};

/* One per writer thread: its transaction's `admit`. Borrows the cache. */
struct admit *admit_new(struct agent_cache *cache);

/* NULL is fine. */
void admit_free(struct admit *a);

/* Inside the transaction that stores the report. A known or newly added agent counts as seen,
 * whatever the verdict. */
int admit_agent(struct txn *txn, const struct applicant *agent, struct admission *ret,
                struct error *err) MUST_CHECK;

/* The same for a tenant that has reached its quota: an unknown agent is not added, and its verdict
 * is VERDICT_OVER_QUOTA. */
int admit_over_quota(struct txn *txn, const struct applicant *agent, struct admission *ret,
                     struct error *err) MUST_CHECK;

/* Before any job of the transaction is applied: it will ask for this agent, which may be added;
 * `seen`: by a report. Nothing to do where statements are no round trips. */
void admit_expect(struct txn *txn, const struct applicant *agent, bool seen);

/* Then, still before any job is applied: finds or adds all that were announced, in two statements
 * instead of three for each, and so locks the tenants of new agents in their order, before any
 * other row of any tenant. What is still not known after it is asked for by itself: it was deleted,
 * or its tenant, which stays locked, has no room for all of its new ones. */
int admit_expected(struct txn *txn, struct error *err) MUST_CHECK;

/* For a registration: was the agent added because it was announced, and is this the first that asks
 * for it? Then *ret is its row, which was never seen. */
bool admit_added(struct txn *txn, const struct applicant *agent, struct agent_row *ret);

/* Notes a sighting of a known agent; an unknown one is not added. */
int admit_sighting(struct txn *txn, const struct applicant *agent, struct error *err) MUST_CHECK;

/* An agent's expected interval has changed. */
void admit_interval_changed(struct admit *a);

/* The transaction has enabled, disabled or deleted an agent: once it is committed, all writers look
 * the agent up again. */
void admit_agent_changed(struct admit *a, int64_t tenant_id, int64_t agent_id);

/* The transaction has ended. A rollback may have undone the adding of agents. */
void admit_committed(struct txn *txn);
void admit_rolled_back(struct txn *txn);

/* The part of a transaction that is this; NULL: it has none. */
extern const char admit_part[];

static inline struct admit *admit_of(const struct txn *txn)
{
    return txn_part(txn, admit_part);
}
