/* ingest.c - adds the events of a request to the transaction's batch. */
#include "features/events/ingest.h"

#include "engine/job_cost.h"
#include "engine/txn.h"
#include "features/access/registry.h"
#include "features/events/event_batch.h"
#include "features/events/event_log.h"
#include "features/events/shapes.h"
#include "features/metrics.h"

static struct job_cost event_cost = JOB_COST(20);

/* At the quota an event without an id cannot be a duplicate. */
static int ingest_admit(const struct ingest_request *request, struct txn *txn,
                        const struct telemetry_event *event, struct admission *ret,
                        struct error *err)
{
    const struct applicant agent = { request->tenant->id, event->agent_name, request->received_at };

    if (!request->over_quota)
        return admit_agent(txn, &agent, ret, err);
    if (admit_over_quota(txn, &agent, ret, err) != 0)
        return -1;
    if (ret->verdict == VERDICT_ACCEPTED && event->event_id.len == 0)
        ret->verdict = VERDICT_OVER_QUOTA;
    return 0;
}

int ingest_add(struct ingest_request *request, struct txn *txn, struct error *err)
{
    bool alerts = atomic_load_explicit(&request->tenant->run_failed, memory_order_relaxed) &&
                  !request->over_quota;

    for (size_t i = 0; i < request->n; i++) {
        const struct telemetry_event *event = &request->events[i];
        struct event_item item = { .tenant_id = request->tenant->id,
                                   .received_at = request->received_at,
                                   .event = event,
                                   .watched = event->event == EVENT_FAILED && alerts,
                                   .no_room = request->over_quota };
        struct admission admission;

        if (ingest_admit(request, txn, event, &admission, err) != 0)
            return -1;
        request->verdicts[i] = admission.verdict;
        item.agent_id = admission.agent_id;
        if (admission.verdict == VERDICT_ACCEPTED)
            event_batch_add(event_batch_of(txn), &item, &request->verdicts[i]);
    }
    return 0;
}

bool ingest_has_no_room(const struct ingest_request *request)
{
    size_t i = 0;

    while (i < request->n && request->verdicts[i] != VERDICT_OVER_QUOTA)
        i++;
    return i < request->n;
}

void ingest_count(const struct ingest_request *request)
{
    static const enum feature_metric metrics[] = { [VERDICT_ACCEPTED] = METRIC_EVENTS_ACCEPTED,
                                                   [VERDICT_DUPLICATE] = METRIC_EVENTS_DUPLICATE,
                                                   [VERDICT_AGENT_DISABLED] =
                                                       METRIC_EVENTS_DISABLED,
                                                   [VERDICT_AGENT_CAP] = METRIC_EVENTS_CAP };

    if (ingest_has_no_room(request))
        return; /* the refusal counts */
    for (size_t i = 0; i < request->n; i++)
        metric_add(metrics[request->verdicts[i]], 1);
}

void ingest_announce(struct writer_job *job, struct txn *txn)
{
    const struct ingest_request *request = CONTAINER_OF(job, struct ingest_request, job);

    for (size_t i = 0; i < request->n && !request->over_quota; i++)
        admit_expect(txn,
                     &(struct applicant){ request->tenant->id, request->events[i].agent_name,
                                          request->received_at },
                     true);
}

static int ingest_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    return ingest_add(CONTAINER_OF(job, struct ingest_request, job), txn, err);
}

static void events_committed(struct writer_job *job)
{
    ingest_count(CONTAINER_OF(job, struct ingest_request, job));
}

void ingest_prepare(struct ingest_request *request)
{
    request->job = (struct writer_job){ .announce = ingest_announce,
                                        .apply = ingest_apply,
                                        .committed = events_committed,
                                        .tenant_id = request->tenant->id,
                                        .cost = &event_cost,
                                        .events = request->n,
                                        .bytes = request->bytes };
}
