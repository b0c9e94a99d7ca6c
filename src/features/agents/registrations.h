/* registrations.h - agents that say who they are, on their way into the store.
 *
 * A registration is applied by the writer in one transaction, with what other
 * requests brought, and told once that is durable. It never touches whether
 * the agent is enabled, what it is told, or the security catalog's entries.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "engine/writer.h"
#include "features/agents/admit.h"
#include "features/agents/registrations_store.h"

struct agent_register;
struct tenant_entry;

/* Filled in by the caller, in memory that lives until done(). */
struct registration_request {
    struct writer_job job;         /* the service's own, as are `rows` and `catalog` */
    struct registration_rows rows; /* what is stored of the body */
    struct str catalog;            /* the parameters' entries, if they are new */
    const struct tenant_entry *tenant;
    const struct agent_register *body;
    struct arena *arena; /* the request's: the writer's from submit until done() */
    size_t bytes;        /* of the request, for the queue's bound */
    int64_t received_at; /* wall clock */

    enum verdict verdict; /* set before done(NULL): accepted, or the cap */
    bool is_new;          /* likewise: the agent was not known before */
    bool is_other;        /* the service's own: its interval is not what it was */

    /* Writer thread, exactly once. `err` is NULL when it is durable or not accepted. */
    void (*done)(struct registration_request *request, const struct error *err);
};

/* Any thread. ERR_BUSY when too much is waiting; done() is then not called. */
int registrations_submit(struct writer *writer, struct registration_request *request,
                         struct error *err) MUST_CHECK;
