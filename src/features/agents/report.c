/* report.c - shared parts of the routes on which agents report. */
#include "features/agents/report.h"

#include "base/clock.h"
#include "engine/job.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/access/stored_bytes.h"
#include "features/live/feed.h"

int report_words(struct api_call *call, enum verdict verdict, struct str agent_name,
                 struct report_words *ret, struct error *err)
{
    const struct tenant_entry *tenant = call->caller->key->tenant;

    *ret = (struct report_words){ .status = STR_LIT("accepted") };
    switch (verdict) {
    case VERDICT_AGENT_CAP:
        return call_refuse(call, err, 403,
                           "Agent cap reached: the plan of tenant '%.*s' allows %lld agents",
                           STR_ARG(tenant->slug), (long long)atomic_load(&tenant->max_agents));
    case VERDICT_AGENT_DISABLED:
        ret->status = STR_LIT("rejected");
        ret->reason = STR_LIT("agent_disabled");
        ret->detail = arena_printf(call->arena, "Agent '%.*s' is disabled", STR_ARG(agent_name));
        break;
    case VERDICT_OVER_QUOTA:
        return auth_refuse_quota(call, err);
    case VERDICT_DUPLICATE:
        ret->status = STR_LIT("duplicate");
        break;
    case VERDICT_ACCEPTED:
        break;
    }
    return 0;
}

int report_begin(struct api_call *call, struct str client_id, struct str agent_name,
                 struct report *report, struct error *err)
{
    if (auth_may_report(call, client_id.len == 0 ? STR_NULL : client_id, agent_name, err) != 0)
        return -1;
    *report = (struct report){ .tenant = call->caller->key->tenant,
                               .agent_name = agent_name,
                               .arena = call->arena,
                               .bytes = call->exchange->request.body.len,
                               .received_at = clock_wall_us() };
    call->own = report;
    return 0;
}

static struct applicant applicant_of(const struct report *report)
{
    return (struct applicant){ report->tenant->id, report->agent_name, report->received_at };
}

void report_announce(struct writer_job *job, struct txn *txn)
{
    const struct applicant agent = applicant_of(CONTAINER_OF(job, struct report, job));

    admit_expect(txn, &agent, true);
}

int report_admit(struct report *report, struct txn *txn, struct report_key *ret, struct error *err)
{
    const struct applicant agent = applicant_of(report);
    struct admission admission;

    if (admit_agent(txn, &agent, &admission, err) != 0)
        return -1;
    report->verdict = admission.verdict;
    *ret = (struct report_key){ .tenant_id = report->tenant->id,
                                .agent_id = admission.agent_id,
                                .received_at = report->received_at,
                                .bytes = stored_bytes_of(txn) };
    return 0;
}

void report_count(const struct report *report, enum feature_metric metric)
{
    if (report->verdict != VERDICT_ACCEPTED)
        return;
    metric_add(metric, 1);
    feed_note_agent(feed_of(report->job.txn), report->tenant->id, report->agent_name);
}

/* A refused report is a sign of life. */
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
    return tenant_is_over_quota(call->caller->key->tenant);
}

int over_quota_refuse(struct api_call *call, struct str agent_name, struct error *err)
{
    struct seen *seen = ARENA_NEW(call->arena, struct seen);

    seen->agent = (struct applicant){ call->caller->key->tenant->id, agent_name, clock_wall_us() };
    seen->job = (struct writer_job){ .apply = seen_apply,
                                     .tenant_id = seen->agent.tenant_id,
                                     .agent_name = agent_name,
                                     .cost = &seen_cost,
                                     .events = 1 };
    return call_submit(call, &seen->job, auth_refuse_quota, err);
}
