/* registrations.h - the writer job that stores the registration of an agent.
 *
 * The writer applies a registration in one transaction, together with other
 * requests. It never changes whether the agent is enabled, its directives, or
 * existing entries of the security catalog.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "engine/writer.h"
#include "features/agents/admit.h"
#include "features/agents/registrations_store.h"

struct tenant_entry;

/* Filled in by the caller, in memory that lives until done(). */
struct registration_request {
    struct writer_job job;         /* filled in by registrations_prepare(), except done() */
    struct registration_rows rows; /* the body as it is stored */
    struct str catalog; /* catalog entries for the parameters, used for those that are new */
    const struct tenant_entry *tenant;
    const struct agent_register *body;
    struct arena *arena; /* the request's; belongs to the writer from submit until done() */
    size_t bytes;        /* size of the request, for the queue's limit */
    int64_t received_at; /* wall clock */

    enum verdict verdict; /* set before done(NULL): accepted, or agent cap */
    bool is_new;          /* set before done(NULL): the agent was unknown */
    bool is_other;        /* internal: its interval has changed */
    bool catalog_full;    /* set before done(NULL): new parameters were not entered */
};

/* Fills in the job, `rows` and `catalog`, for the caller to submit the job. */
void registrations_prepare(struct registration_request *request);
