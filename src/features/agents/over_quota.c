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
    int64_t tenant_id, at;
    const struct str *names;
    size_t n;
};

static struct job_cost seen_cost = JOB_COST(10);

static int seen_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    const struct seen *seen = CONTAINER_OF(job, struct seen, job);

    for (size_t i = 0; i < seen->n; i++) {
        const struct applicant agent = { seen->tenant_id, seen->names[i], seen->at };

        if (i > 0 && str_eq(seen->names[i], seen->names[i - 1]))
            continue;
        if (admit_sighting(txn, &agent, err) != 0)
            return -1;
    }
    return 0;
}

bool over_quota(const struct api_call *call)
{
    return tenant_is_over_quota(call->key->tenant);
}

int over_quota_refuse(struct api_call *call, const struct str *names, size_t n, struct error *err)
{
    struct seen *seen = ARENA_NEW(call->arena, struct seen);

    *seen = (struct seen){
        .tenant_id = call->key->tenant->id, .at = clock_wall_us(), .names = names, .n = n
    };
    seen->job = (struct writer_job){
        .apply = seen_apply, .tenant_id = seen->tenant_id, .cost = &seen_cost, .events = n
    };
    return call_submit(call, &seen->job, auth_refuse_quota, err);
}
