/* delivery.c - the job of a request, and the usage that waits for its events. */
#include "features/otlp/delivery.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/metrics.h"
#include "engine/job_cost.h"
#include "engine/txn.h"
#include "features/access/registry.h"
#include "features/cost/report_store.h"

static struct job_cost span_cost = JOB_COST(25);

struct note {
    const struct llm_usage *usage;
    const enum verdict *verdict; /* of its event */
    struct report_key key;
};

struct otlp_notes {
    struct note *items;
    size_t n, capacity;
};

struct otlp_notes *otlp_notes_new(void)
{
    return NEW(struct otlp_notes);
}

void otlp_notes_free(struct otlp_notes *notes)
{
    if (notes == NULL)
        return;
    free(notes->items);
    free(notes);
}

static void add_note(struct otlp_notes *notes, const struct note *note)
{
    notes->items = mem_grow(notes->items, notes->n, &notes->capacity, sizeof(*notes->items));
    notes->items[notes->n++] = *note;
}

int otlp_notes_prepare(struct txn *txn, struct error *err)
{
    const struct otlp_notes *notes = txn->otlp;

    for (size_t i = 0; i < notes->n; i++) {
        const struct note *note = &notes->items[i];
        struct report_key key = note->key;

        key.bytes = txn->bytes;
        if (*note->verdict == VERDICT_ACCEPTED &&
            store_llm_add(txn->db, &key, note->usage, txn->totals, err) != 0)
            return -1;
    }
    return 0;
}

void otlp_notes_clear(struct txn *txn)
{
    txn->otlp->n = 0;
}

static size_t last_event(const struct intake_origin *origin)
{
    assert(origin->n_events > 0);
    return origin->first_event + origin->n_events - 1;
}

enum verdict delivery_verdict(const struct delivery *delivery, const struct intake_origin *origin)
{
    return delivery->request.verdicts[last_event(origin)];
}

static int note_usages(const struct delivery *d, struct txn *txn, struct error *err)
{
    const struct intake_origin *origins = d->intake->origins.items;
    const struct intake_usage *usages = d->intake->usages.items;

    for (size_t i = 0; i < d->intake->usages.n; i++) {
        const enum verdict *verdict = &d->request.verdicts[last_event(&origins[usages[i].origin])];
        const struct applicant agent = { d->request.tenant->id, usages[i].usage.agent_name,
                                         d->request.received_at };
        struct admission admission;

        if (*verdict != VERDICT_ACCEPTED)
            continue;
        if (admit_agent(txn, &agent, &admission, err) != 0)
            return -1;
        add_note(txn->otlp, &(struct note){ .usage = &usages[i].usage,
                                            .verdict = verdict,
                                            .key = { .tenant_id = agent.tenant_id,
                                                     .agent_id = admission.agent_id,
                                                     .received_at = agent.at } });
    }
    return 0;
}

static struct delivery *delivery_of(struct writer_job *job)
{
    return CONTAINER_OF(job, struct delivery, request.job);
}

static int delivery_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct delivery *d = delivery_of(job);

    if (ingest_add(&d->request, txn, err) != 0)
        return -1;
    return d->request.over_quota ? 0 : note_usages(d, txn, err);
}

static void delivery_committed(struct writer_job *job)
{
    const struct delivery *d = delivery_of(job);
    const struct intake_origin *origins = d->intake->origins.items;
    const struct intake_usage *usages = d->intake->usages.items;

    ingest_count(&d->request);
    for (size_t i = 0; i < d->intake->usages.n; i++)
        if (delivery_verdict(d, &origins[usages[i].origin]) == VERDICT_ACCEPTED)
            metric_add(METRIC_REPORTS_LLM, 1);
}

void delivery_prepare(struct delivery *d)
{
    d->request.job = (struct writer_job){ .announce = ingest_announce,
                                          .apply = delivery_apply,
                                          .committed = delivery_committed,
                                          .tenant_id = d->request.tenant->id,
                                          .cost = &span_cost,
                                          .events = d->request.n,
                                          .bytes = d->request.bytes };
}
