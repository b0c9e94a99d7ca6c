/* heartbeats.c - the writer job of a heartbeat. */
#include "features/agents/heartbeats.h"

#include "engine/job_cost.h"
#include "engine/txn.h"
#include "features/agents/admit.h"
#include "features/live/feed.h"

static struct job_cost heartbeat_cost = JOB_COST(20);

static int heartbeat_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct heartbeat_request *request = CONTAINER_OF(job, struct heartbeat_request, job);

    const struct applicant agent = { .tenant_id = request->beat.tenant_id,
                                     .agent_name = request->agent_name,
                                     .at = request->beat.received_at };

    if (store_heartbeat_put(txn->db, &request->beat, err) != 0)
        return -1;
    if (str_is_null(request->agent_name)) /* a workspace key identifies no agent */
        return 0;
    return admit_sighting(txn, &agent, err);
}

static void heartbeat_committed(struct writer_job *job)
{
    struct heartbeat_request *request = CONTAINER_OF(job, struct heartbeat_request, job);

    if (!str_is_null(request->agent_name))
        feed_note_agent(job->txn->feed, request->beat.tenant_id, request->agent_name);
}

void heartbeats_prepare(struct heartbeat_request *request)
{
    request->job = (struct writer_job){ .apply = heartbeat_apply,
                                        .committed = heartbeat_committed,
                                        .tenant_id = request->beat.tenant_id,
                                        .agent_name = request->agent_name,
                                        .cost = &heartbeat_cost,
                                        .events = 1,
                                        .bytes = request->beat.client_id.len };
}
