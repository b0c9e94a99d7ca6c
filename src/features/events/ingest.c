/* ingest.c - gathering the events of a transaction, and storing them at its end. */
#include "features/events/ingest.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "features/access/registry.h"
#include "features/alerts/alert_notes.h"
#include "features/alerts/failures.h"
#include "features/cost/llm_totals.h"
#include "features/events/event_log.h"
#include "features/events/shapes.h"
#include "features/kpis/rollups.h"
#include "features/live/feed.h"

/* Where the verdict on a gathered event goes. */
struct verdict_place {
    enum verdict *verdict;
};

struct ingest_group {
    struct event_log *log;
    struct feed *feed;
    struct admit *admit;
    struct rollups *rollups;

    /* of the transaction under way */
    struct llm_totals *totals;
    struct arena arena;
    struct event_item *items;
    struct verdict_place *places;
    size_t n, capacity;
    size_t n_watched; /* of them */
    struct alert_notes notes;
};

struct ingest_group *ingest_group_new(struct event_log *log, const struct registry *registry,
                                      struct last_seen *last_seen)
{
    struct ingest_group *g = NEW(struct ingest_group);

    g->log = log;
    g->admit = admit_new(registry, last_seen, &g->notes);
    g->rollups = rollups_new();
    g->totals = llm_totals_new();
    arena_init(&g->arena);
    alert_notes_init(&g->notes);
    return g;
}

void ingest_group_free(struct ingest_group *g)
{
    if (g == NULL)
        return;
    admit_free(g->admit);
    rollups_free(g->rollups);
    llm_totals_free(g->totals);
    arena_done(&g->arena);
    alert_notes_done(&g->notes);
    free(g->items);
    free(g->places);
    free(g);
}

struct admit *ingest_admit_of(const struct writer_job *job)
{
    return ((const struct ingest_group *)job->group)->admit;
}

struct rollups *ingest_rollups_of(const struct writer_job *job)
{
    return ((const struct ingest_group *)job->group)->rollups;
}

struct llm_totals *ingest_totals_of(const struct writer_job *job)
{
    return ((const struct ingest_group *)job->group)->totals;
}

struct alert_notes *ingest_notes_of(const struct writer_job *job)
{
    struct ingest_group *g = job->group;

    return g == NULL ? NULL : &g->notes;
}

void ingest_group_set_feed(struct ingest_group *g, struct feed *feed)
{
    g->feed = feed;
}

struct feed *ingest_feed_of(const struct writer_job *job)
{
    return ((const struct ingest_group *)job->group)->feed;
}

static void gather(struct ingest_group *g, const struct event_item *item, enum verdict *verdict)
{
    if (g->n == g->capacity) {
        g->capacity = g->capacity == 0 ? 256 : g->capacity * 2;
        g->items = mem_resize(g->items, g->capacity * sizeof(*g->items));
        g->places = mem_resize(g->places, g->capacity * sizeof(*g->places));
    }
    g->items[g->n] = *item;
    g->n_watched += item->watched;
    g->places[g->n++].verdict = verdict;
}

static int apply(struct writer_job *job, struct db *db, struct error *err)
{
    struct ingest_request *request = CONTAINER_OF(job, struct ingest_request, job);
    struct ingest_group *g = job->group;
    bool alerts = atomic_load_explicit(&request->tenant->run_failed, memory_order_relaxed);

    for (size_t i = 0; i < request->n; i++) {
        const struct telemetry_event *event = &request->events[i];
        struct event_item item = { .tenant_id = request->tenant->id,
                                   .received_at = request->received_at,
                                   .event = event,
                                   .watched = event->event == EVENT_FAILED && alerts };
        const struct applicant agent = { item.tenant_id, event->agent_name, item.received_at };
        struct admission admission;

        if (admit_agent(g->admit, db, &agent, &admission, err) != 0)
            return -1;
        request->verdicts[i] = admission.verdict;
        item.agent_id = admission.agent_id;
        if (admission.verdict == VERDICT_ACCEPTED)
            gather(g, &item, &request->verdicts[i]);
    }
    return 0;
}

static void reset(struct ingest_group *g)
{
    g->n = g->n_watched = 0;
    alert_notes_clear(&g->notes);
    llm_totals_clear(g->totals);
    arena_reset(&g->arena);
    rollups_forget(g->rollups);
}

static int store_events(struct ingest_group *g, struct db *db, struct error *err)
{
    const struct event_log_methods *log = g->log->methods;

    if (g->n == 0)
        return 0;
    if (log->add(g->log, db, g->items, g->n, &g->arena, err) != 0)
        return -1;
    for (size_t i = 0; i < g->n; i++)
        if (g->items[i].duplicate)
            *g->places[i].verdict = VERDICT_DUPLICATE;
    if (g->n_watched > 0 && failures_alert(db, g->items, g->n, &g->notes, err) != 0)
        return -1;
    return log->prepare(g->log, db, err);
}

/* The totals last: in PostgreSQL others may wait for them until the commit. */
static int prepare(void *group, struct db *db, struct error *err)
{
    struct ingest_group *g = group;

    if (store_events(g, db, err) != 0 || rollups_settle(g->rollups, db, err) != 0)
        return -1;
    return llm_totals_save(g->totals, db, err);
}

static void committed(void *group)
{
    struct ingest_group *g = group;

    g->log->methods->committed(g->log);
    feed_note_events(g->feed, g->items, g->n);
    alert_notes_publish(&g->notes, g->feed);
    reset(g);
}

static void rolled_back(void *group)
{
    struct ingest_group *g = group;

    g->log->methods->rolled_back(g->log);
    admit_forget(g->admit);
    reset(g);
}

static void changed(void *group)
{
    struct ingest_group *g = group;

    g->log->methods->forget(g->log);
    admit_forget(g->admit);
}

const struct writer_group_methods ingest_group_methods = {
    .prepare = prepare,
    .committed = committed,
    .rolled_back = rolled_back,
    .changed = changed,
};

static void count_verdicts(const struct ingest_request *request)
{
    static const enum metric metrics[] = { [VERDICT_ACCEPTED] = METRIC_EVENTS_ACCEPTED,
                                           [VERDICT_DUPLICATE] = METRIC_EVENTS_DUPLICATE,
                                           [VERDICT_AGENT_DISABLED] = METRIC_EVENTS_DISABLED,
                                           [VERDICT_AGENT_CAP] = METRIC_EVENTS_CAP };

    for (size_t i = 0; i < request->n; i++)
        metric_add(metrics[request->verdicts[i]], 1);
}

static void events_stored(struct writer_job *job, const struct error *err)
{
    struct ingest_request *request = CONTAINER_OF(job, struct ingest_request, job);

    if (err == NULL)
        count_verdicts(request);
}

void ingest_prepare(struct ingest_request *request)
{
    request->job = (struct writer_job){
        .apply = apply, .stored = events_stored, .events = request->n, .bytes = request->bytes
    };
}
