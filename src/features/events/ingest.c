/* ingest.c - adds the events of a request to the transaction's batch. */
#include "features/events/ingest.h"

#include "base/metrics.h"
#include "engine/job_cost.h"
#include "engine/txn.h"
#include "features/access/registry.h"
#include "features/events/event_batch.h"
#include "features/events/event_log.h"
#include "features/events/shapes.h"

static struct job_cost event_cost = JOB_COST(20);

int ingest_add(struct ingest_request *request, struct txn *txn, struct error *err)
{
    bool alerts = atomic_load_explicit(&request->tenant->run_failed, memory_order_relaxed);

    for (size_t i = 0; i < request->n; i++) {
        const struct telemetry_event *event = &request->events[i];
        struct event_item item = { .tenant_id = request->tenant->id,
                                   .received_at = request->received_at,
                                   .event = event,
                                   .watched = event->event == EVENT_FAILED && alerts };
        const struct applicant agent = { item.tenant_id, event->agent_name, item.received_at };
        struct admission admission;

        if (admit_agent(txn, &agent, &admission, err) != 0)
            return -1;
        request->verdicts[i] = admission.verdict;
        item.agent_id = admission.agent_id;
        if (admission.verdict == VERDICT_ACCEPTED)
            event_batch_add(txn->events, &item, &request->verdicts[i]);
    }
    return 0;
}

struct str *ingest_names(const struct telemetry_event *events, size_t n, struct arena *arena)
{
    struct str *names = ARENA_ARRAY(arena, struct str, n);

    for (size_t i = 0; i < n; i++)
        names[i] = events[i].agent_name;
    return names;
}

void ingest_count(const struct ingest_request *request)
{
    static const enum metric metrics[] = { [VERDICT_ACCEPTED] = METRIC_EVENTS_ACCEPTED,
                                           [VERDICT_DUPLICATE] = METRIC_EVENTS_DUPLICATE,
                                           [VERDICT_AGENT_DISABLED] = METRIC_EVENTS_DISABLED,
                                           [VERDICT_AGENT_CAP] = METRIC_EVENTS_CAP };

    for (size_t i = 0; i < request->n; i++)
        metric_add(metrics[request->verdicts[i]], 1);
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
    request->job = (struct writer_job){ .apply = ingest_apply,
                                        .committed = events_committed,
                                        .tenant_id = request->tenant->id,
                                        .cost = &event_cost,
                                        .events = request->n,
                                        .bytes = request->bytes };
}
