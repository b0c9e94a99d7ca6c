/* heartbeats.c - what the writer does with a heartbeat. */
#include "features/agents/heartbeats.h"

#include "engine/txn.h"
#include "features/agents/admit.h"
#include "features/live/feed.h"

static int apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct heartbeat_request *request = CONTAINER_OF(job, struct heartbeat_request, job);

    const struct applicant agent = { .tenant_id = request->beat.tenant_id,
                                     .agent_name = request->agent_name,
                                     .at = request->beat.received_at };

    if (store_heartbeat_put(txn->db, &request->beat, err) != 0)
        return -1;
    if (str_is_null(request->agent_name)) /* a workspace key speaks for no agent */
        return 0;
    return admit_hear(txn, &agent, err);
}

static void done(struct writer_job *job, const struct error *err)
{
    struct heartbeat_request *request = CONTAINER_OF(job, struct heartbeat_request, job);

    if (err == NULL && !str_is_null(request->agent_name))
        feed_note_agent(job->txn->feed, request->beat.tenant_id, request->agent_name);
    request->done(request, err);
}

int heartbeats_submit(struct writer *writer, struct heartbeat_request *request, struct error *err)
{
    request->job = (struct writer_job){
        .apply = apply, .done = done, .events = 1, .bytes = request->beat.client_id.len
    };
    return writer_submit(writer, &request->job, err);
}
