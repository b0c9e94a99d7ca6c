/* ingest.c - collects the events of a transaction and stores them at its end. */
#include "features/events/ingest.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"
#include "engine/job.h"
#include "engine/txn.h"
#include "features/access/registry.h"
#include "features/access/stored_bytes.h"
#include "features/agents/admit.h"
#include "features/events/event_days.h"
#include "features/events/event_log.h"
#include "features/events/event_rows.h"
#include "features/events/shapes.h"
#include "features/live/feed.h"
#include "features/metrics.h"

const char event_batch_part[] = "event_batch";

struct event_batch {
    struct event_log *log;
    struct event_days *days;
    struct arena arena; /* scratch of one transaction */
    struct event_item *items;
    enum verdict **verdicts; /* one per item, owned by the requests */
    size_t n, capacity;
    size_t n_watched; /* of the items */
};

struct event_batch *event_batch_new(struct event_log *log)
{
    struct event_batch *batch = NEW(struct event_batch);

    batch->log = log;
    batch->days = event_days_new();
    arena_init(&batch->arena);
    return batch;
}

void event_batch_free(struct event_batch *batch)
{
    if (batch == NULL)
        return;
    event_days_free(batch->days);
    arena_done(&batch->arena);
    free(batch->items);
    free((void *)batch->verdicts);
    free(batch);
}

/* Keeps *verdict, which event_batch_prepare() sets to VERDICT_DUPLICATE for a duplicate, and to
 * VERDICT_OVER_QUOTA for what has no room. */
static void event_batch_add(struct event_batch *batch, const struct event_item *item,
                            enum verdict *verdict)
{
    assert(*verdict == VERDICT_ACCEPTED);
    if (batch->n == batch->capacity) {
        batch->capacity = batch->capacity == 0 ? 256 : batch->capacity * 2;
        batch->items = mem_resize(batch->items, batch->capacity * sizeof(*batch->items));
        batch->verdicts = (enum verdict **)mem_resize((void *)batch->verdicts,
                                                      batch->capacity * sizeof(*batch->verdicts));
    }
    batch->items[batch->n] = *item;
    batch->n_watched += item->watched;
    batch->verdicts[batch->n++] = verdict;
}

const struct event_item *event_batch_items(const struct event_batch *batch, size_t *ret_n)
{
    *ret_n = batch->n;
    return batch->items;
}

bool event_batch_is_watched(const struct event_batch *batch)
{
    return batch->n_watched > 0;
}

static void reset(struct event_batch *batch)
{
    batch->n = batch->n_watched = 0;
    arena_reset(&batch->arena);
}

int event_batch_prepare(struct txn *txn, struct error *err)
{
    struct event_batch *batch = event_batch_of(txn);
    const struct event_log_methods *log = batch->log->methods;

    if (batch->n == 0)
        return 0;
    if (log->add(batch->log, txn->db, batch->items, batch->n, &batch->arena, err) != 0)
        return -1;
    for (size_t i = 0; i < batch->n; i++) {
        const struct event_item *item = &batch->items[i];

        if (item->duplicate)
            *batch->verdicts[i] = VERDICT_DUPLICATE;
        else if (item->no_room)
            *batch->verdicts[i] = VERDICT_OVER_QUOTA;
        else
            stored_bytes_add(stored_bytes_of(txn), item->tenant_id,
                             event_stored_bytes(item->event));
    }
    return log->save(batch->log, txn->db, err);
}

int event_batch_settle(struct txn *txn, struct error *err)
{
    struct event_batch *batch = event_batch_of(txn);

    return batch->n == 0 ? 0 : event_days_note(batch->days, txn->db, batch->items, batch->n, err);
}

/* Notes the changed runs for live updates. */
static void publish(struct event_batch *batch, struct feed *feed)
{
    struct feed_run *runs;
    size_t n = 0;

    if (batch->n == 0 || !feed_is_noting(feed))
        return;
    runs = ARENA_ARRAY(&batch->arena, struct feed_run, batch->n);
    for (size_t i = 0; i < batch->n; i++) {
        const struct event_item *item = &batch->items[i];

        if (event_item_is_stored(item))
            runs[n++] = (struct feed_run){ .tenant_id = item->tenant_id,
                                           .run_id = item->event->run_id,
                                           .agent_name = item->event->agent_name,
                                           .status = run_status_names[item->run_status] };
    }
    feed_note_runs(feed, runs, n);
}

void event_batch_committed(struct txn *txn)
{
    struct event_batch *batch = event_batch_of(txn);

    batch->log->methods->committed(batch->log, batch->items, batch->n);
    publish(batch, feed_of(txn));
    reset(batch);
}

void event_batch_rolled_back(struct txn *txn)
{
    struct event_batch *batch = event_batch_of(txn);

    batch->log->methods->rolled_back(batch->log);
    event_days_forget(batch->days);
    reset(batch);
}

void event_batch_changed(struct txn *txn)
{
    struct event_batch *batch = event_batch_of(txn);

    assert(batch->n == 0);
    batch->log->methods->forget(batch->log);
}

/* --- the events of a request --- */

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

void ingest_job_init(struct ingest_request *request)
{
    request->job = (struct writer_job){ .announce = ingest_announce,
                                        .apply = ingest_apply,
                                        .committed = events_committed,
                                        .tenant_id = request->tenant->id,
                                        .cost = &event_cost,
                                        .events = request->n,
                                        .bytes = request->bytes };
}
