/* admit.h - may this agent report? Whoever is unknown is registered, within the plan's cap.
 *
 * Each writer thread remembers the agents it has seen, until something changes
 * in the registry or a transaction is rolled back.
 */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct admit;
struct last_seen;
struct registry;
struct txn;

/* What becomes of a report. */
enum verdict {
    VERDICT_ACCEPTED,
    VERDICT_DUPLICATE,
    VERDICT_AGENT_DISABLED, /* rejected */
    VERDICT_AGENT_CAP,      /* rejected: the plan allows no further agent */
};

struct admission {
    enum verdict verdict; /* accepted, or why not */
    int64_t agent_id;     /* when accepted */
};

/* Who sends something. */
struct applicant {
    int64_t tenant_id;
    struct str agent_name;
    int64_t at; /* wall clock: when it came */
};

/* One per writer thread: its transaction's `admit`. Borrows both. */
struct admit *admit_new(const struct registry *registry, struct last_seen *last_seen);

/* NULL is fine. */
void admit_free(struct admit *a);

/* Inside the transaction that stores the report. Whoever is known or becomes so has shown that it
 * is alive, whatever the verdict. */
int admit_agent(struct txn *txn, const struct applicant *agent, struct admission *ret,
                struct error *err) MUST_CHECK;

/* A sign of life and nothing else: it makes no agent known. */
int admit_hear(struct txn *txn, const struct applicant *agent, struct error *err) MUST_CHECK;

/* Somebody changed what is expected of an agent. */
void admit_changed(struct admit *a);

/* After a roll-back: agents may have been made in what is undone. */
void admit_forget(struct admit *a);
