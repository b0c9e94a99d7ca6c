/* heartbeats.h - the writer job that stores the heartbeat of a process. */
#pragma once
#include "engine/writer.h"
#include "features/agents/heartbeats_store.h"

/* Filled in by the caller, in memory that lives until done(). */
struct heartbeat_request {
    struct writer_job job; /* filled in by heartbeats_prepare(), except done() */
    struct heartbeat beat;
    struct str agent_name; /* agent that the key is bound to; STR_NULL: a workspace key */
};

/* Fills in the job, for the caller to submit. */
void heartbeats_prepare(struct heartbeat_request *request);
