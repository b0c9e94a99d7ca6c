/* delivery.c - the job of a request, and the usage that waits for its events. */
#include "features/otlp/delivery.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"

#include "base/mem.h"
#include "engine/job_cost.h"
#include "engine/txn.h"
#include "features/access/registry.h"
#include "features/access/stored_bytes.h"
#include "features/cost/llm_totals.h"
#include "features/cost/reports.h"
#include "features/metrics.h"

const char otlp_notes_part[] = "otlp_notes";

static struct job_cost span_cost = JOB_COST(25);

/* What is remembered of a call to a model that was counted: its span, and the span above it. */
enum call_part { CALL_ITSELF, CALL_ABOVE };

struct note {
    const struct llm_usage *usage;
    const enum verdict *verdict; /* of its event */
    struct report_key key;
    uint64_t marks[2];  /* of its own call, by enum call_part */
    uint64_t others[2]; /* of calls with which it is counted already: above it, and below */
    bool counted;
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

/* The calls that were counted not long ago, as keyed hashes, each in its place: of two spans of one
 * call, one below the other, the one that comes in a later request does not count. All writers'. */
enum { CALLS_KNOWN = 65536 };
static _Atomic uint64_t calls_known[CALLS_KNOWN];

static bool is_known(uint64_t mark)
{
    return atomic_load_explicit(&calls_known[mark % CALLS_KNOWN], memory_order_relaxed) == mark;
}

static void set_known(const uint64_t marks[2], bool known)
{
    for (size_t i = 0; i < 2; i++)
        if (known || is_known(marks[i]))
            atomic_store_explicit(&calls_known[marks[i] % CALLS_KNOWN], known ? marks[i] : 0,
                                  memory_order_relaxed);
}

static uint64_t mark_of(int64_t tenant_id, const struct intake_origin *o,
                        const struct otlp_id *span, enum call_part part)
{
    struct {
        int64_t tenant_id, part, kind;
        uint8_t trace[OTLP_TRACE_BYTES], span[OTLP_TRACE_BYTES];
    } key = { .tenant_id = tenant_id, .part = part, .kind = o->kind };

    memcpy(key.trace, o->trace.bytes, sizeof(key.trace));
    memcpy(key.span, span->bytes, sizeof(key.span));
    return digest_sip(str_from((const char *)&key, sizeof(key)));
}

static void set_marks(struct note *note, int64_t tenant_id, const struct intake_origin *o)
{
    note->marks[CALL_ITSELF] = mark_of(tenant_id, o, &o->span, CALL_ITSELF);
    note->marks[CALL_ABOVE] = mark_of(tenant_id, o, &o->parent, CALL_ABOVE);
    note->others[0] = mark_of(tenant_id, o, &o->parent, CALL_ITSELF);
    note->others[1] = mark_of(tenant_id, o, &o->span, CALL_ABOVE);
}

int otlp_notes_prepare(struct txn *txn, struct error *err)
{
    const struct otlp_notes *notes = otlp_notes_of(txn);

    for (size_t i = 0; i < notes->n; i++) {
        struct note *note = &notes->items[i];
        struct report_key key = note->key;

        key.bytes = stored_bytes_of(txn);
        if (*note->verdict != VERDICT_ACCEPTED || is_known(note->others[0]) ||
            is_known(note->others[1]))
            continue;
        if (llm_usage_add(txn->db, &key, note->usage, llm_totals_of(txn), err) != 0)
            return -1;
        note->counted = true;
        set_known(note->marks, true);
    }
    return 0;
}

void otlp_notes_rolled_back(struct txn *txn)
{
    for (size_t i = 0; i < otlp_notes_of(txn)->n; i++)
        if (otlp_notes_of(txn)->items[i].counted)
            set_known(otlp_notes_of(txn)->items[i].marks, false);
    otlp_notes_clear(txn);
}

void otlp_notes_clear(struct txn *txn)
{
    otlp_notes_of(txn)->n = 0;
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
        struct note note = { .usage = &usages[i].usage, .verdict = verdict };
        struct admission admission;

        if (*verdict != VERDICT_ACCEPTED)
            continue;
        if (admit_agent(txn, &agent, &admission, err) != 0)
            return -1;
        note.key = (struct report_key){ .tenant_id = agent.tenant_id,
                                        .agent_id = admission.agent_id,
                                        .received_at = agent.at };
        set_marks(&note, agent.tenant_id, &origins[usages[i].origin]);
        add_note(otlp_notes_of(txn), &note);
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
