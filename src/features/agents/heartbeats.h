/* heartbeats.h - processes that say they are alive, on their way into the store. */
#pragma once
#include "base/err.h"
#include "engine/writer.h"
#include "features/agents/heartbeats_store.h"

/* Filled in by the caller, in memory that lives until done(). */
struct heartbeat_request {
    struct writer_job job; /* the service's own */
    struct heartbeat beat;
    struct str agent_name; /* that the key is bound to; STR_NULL: a workspace key */

    /* Writer thread, exactly once. `err` is NULL when it is durable. */
    void (*done)(struct heartbeat_request *request, const struct error *err);
};

/* Any thread. ERR_BUSY when too much is waiting; done() is then not called. */
int heartbeats_submit(struct writer *writer, struct heartbeat_request *request,
                      struct error *err) MUST_CHECK;
