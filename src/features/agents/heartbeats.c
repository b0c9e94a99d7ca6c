/* heartbeats.c - what the writer does with a heartbeat. */
#include "features/agents/heartbeats.h"

#include "features/events/ingest.h"
#include "features/live/feed.h"

static int heartbeat_apply(struct writer_job *job, struct db *db, struct error *err)
{
    struct heartbeat_request *request = CONTAINER_OF(job, struct heartbeat_request, job);

    const struct applicant agent = { .tenant_id = request->beat.tenant_id,
                                     .agent_name = request->agent_name,
                                     .at = request->beat.received_at };

    if (store_heartbeat_put(db, &request->beat, err) != 0)
        return -1;
    if (str_is_null(request->agent_name)) /* a workspace key speaks for no agent */
        return 0;
    return admit_hear(ingest_admit_of(job), db, &agent, err);
}

static void heartbeat_stored(struct writer_job *job, const struct error *err)
{
    struct heartbeat_request *request = CONTAINER_OF(job, struct heartbeat_request, job);

    if (err == NULL && !str_is_null(request->agent_name))
        feed_note_agent(ingest_feed_of(job), request->beat.tenant_id, request->agent_name);
}

void heartbeats_prepare(struct heartbeat_request *request)
{
    request->job = (struct writer_job){ .apply = heartbeat_apply,
                                        .stored = heartbeat_stored,
                                        .events = 1,
                                        .bytes = request->beat.client_id.len };
}
