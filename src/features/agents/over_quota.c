/* over_quota.c - a refused report is a sign of life. */
#include "features/agents/over_quota.h"

#include "base/clock.h"
#include "engine/job_cost.h"
#include "engine/writer.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/agents/admit.h"

struct seen {
    struct writer_job job;
    struct applicant agent;
};

static struct job_cost seen_cost = JOB_COST(10);

static int seen_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    return admit_sighting(txn, &CONTAINER_OF(job, struct seen, job)->agent, err);
}

bool over_quota(const struct api_call *call)
{
    return tenant_is_over_quota(call->key->tenant);
}

int over_quota_refuse(struct api_call *call, struct str agent_name, struct error *err)
{
    struct seen *seen = ARENA_NEW(call->arena, struct seen);

    seen->agent = (struct applicant){ call->key->tenant->id, agent_name, clock_wall_us() };
    seen->job = (struct writer_job){ .apply = seen_apply,
                                     .tenant_id = seen->agent.tenant_id,
                                     .agent_name = agent_name,
                                     .cost = &seen_cost,
                                     .events = 1 };
    return call_submit(call, &seen->job, auth_refuse_quota, err);
}
