/* last_seen.c - last-seen times in memory, and the job that stores them.
 *
 * Invariants:
 *  1. An entry whose time is not stored yet is in the queue or in the running save.
 *  2. `queued` is cleared before the time is read, and set after it was written: a time noted
 *     meanwhile is stored by this save or queues the entry again.
 */
#include "features/agents/last_seen.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/agents/last_seen_store.h"
#include "shape/shape.h"

enum {
    SAVE_MAX = 10000,   /* agents per transaction */
    ROWS_PER_EVENT = 8, /* rows that cost the writer at most as much as one event */
    UNSTORED_MAX = 5,   /* saves to try while the row is locked or missing */
};

struct agent_key {
    int64_t tenant_id, agent_id;
};

struct last_seen_entry {
    struct agent_key key;
    _Atomic int64_t at; /* TIME_NULL: not seen since the start */
    atomic_bool queued, awaited;
    struct last_seen_entry *next; /* in the queue */
    int unstored;                 /* consecutive saves that did not store it */
    int64_t noticed_at;           /* for last_seen_noticed_us(): a time, and when it was noticed */
    int64_t noticed_us;
};

struct save_item {
    struct last_seen_entry *sighting;
};

struct last_seen {
    struct lock lock;
    struct map sightings GUARDED_BY(lock); /* struct agent_key -> struct last_seen_entry */
    struct last_seen_entry *queue GUARDED_BY(lock);
    bool saving GUARDED_BY(lock);
    atomic_bool changed; /* an agent's expected interval has changed */
    last_seen_fn *on_heard;

    /* of the running save; belongs to the writer */
    struct writer_job job;
    struct save_item *batch;
    struct sighting *rows;
    size_t n;
};

static struct str key_str(const struct agent_key *key)
{
    return str_from((const char *)key, sizeof(*key));
}

struct last_seen *last_seen_new(void)
{
    struct last_seen *l = NEW(struct last_seen);

    lock_init(&l->lock);
    map_init(&l->sightings);
    l->batch = mem_new(SAVE_MAX * sizeof(*l->batch));
    l->rows = mem_new(SAVE_MAX * sizeof(*l->rows));
    return l;
}

void last_seen_free(struct last_seen *l)
{
    struct last_seen_entry *sighting;
    size_t at = 0;

    if (l == NULL)
        return;
    lock_unshared(&l->lock);
    while ((sighting = map_next(&l->sightings, &at)) != NULL)
        free(sighting);
    map_done(&l->sightings);
    free(l->batch);
    free(l->rows);
    lock_done(&l->lock);
    free(l);
}

static struct last_seen_entry *find_entry(struct last_seen *l, const struct agent_key *key)
{
    struct last_seen_entry *sighting;

    lock_acquire(&l->lock);
    sighting = map_get(&l->sightings, key_str(key));
    lock_release(&l->lock);
    return sighting;
}

struct last_seen_entry *last_seen_get(struct last_seen *l, int64_t tenant_id, int64_t agent_id)
{
    const struct agent_key key = { tenant_id, agent_id };
    struct last_seen_entry *sighting;

    lock_acquire(&l->lock);
    sighting = map_get(&l->sightings, key_str(&key));
    if (sighting == NULL) {
        sighting = NEW(struct last_seen_entry);
        sighting->key = key;
        atomic_init(&sighting->at, TIME_NULL);
        atomic_init(&sighting->queued, false);
        atomic_init(&sighting->awaited, false);
        (void)map_put(&l->sightings, key_str(&sighting->key), sighting);
    }
    lock_release(&l->lock);
    return sighting;
}

static void enqueue(struct last_seen *l, struct last_seen_entry *sighting)
{
    if (atomic_exchange(&sighting->queued, true))
        return;
    lock_acquire(&l->lock);
    sighting->next = l->queue;
    l->queue = sighting;
    lock_release(&l->lock);
}

void last_seen_note(struct last_seen *l, struct last_seen_entry *sighting, int64_t at)
{
    int64_t before = atomic_load_explicit(&sighting->at, memory_order_relaxed);

    do {
        if (before != TIME_NULL && !sighting_is_later(at, before, at))
            return;
    } while (!atomic_compare_exchange_weak(&sighting->at, &before, at));
    enqueue(l, sighting);
}

int64_t last_seen_latest(struct last_seen *l, int64_t tenant_id, int64_t agent_id,
                         int64_t stored_at, int64_t now)
{
    const struct agent_key key = { tenant_id, agent_id };
    const struct last_seen_entry *sighting = find_entry(l, &key);
    int64_t at = sighting == NULL ? TIME_NULL : last_seen_at_here(sighting);

    if (at == TIME_NULL || stored_at == TIME_NULL)
        return stored_at;
    return sighting_is_later(at, stored_at, now) ? at : stored_at;
}

int64_t last_seen_at_here(const struct last_seen_entry *sighting)
{
    return atomic_load_explicit(&sighting->at, memory_order_relaxed);
}

int64_t last_seen_noticed_us(struct last_seen_entry *sighting, int64_t at, int64_t now_us)
{
    if (sighting->noticed_at != at)
        sighting->noticed_us = now_us;
    sighting->noticed_at = at;
    return sighting->noticed_us;
}

void last_seen_await(struct last_seen_entry *sighting)
{
    atomic_store(&sighting->awaited, true);
}

bool last_seen_take_awaited(struct last_seen_entry *sighting)
{
    return atomic_load_explicit(&sighting->awaited, memory_order_relaxed) &&
           atomic_exchange(&sighting->awaited, false);
}

void last_seen_set_changed(struct last_seen *l)
{
    atomic_store(&l->changed, true);
}

bool last_seen_take_changed(struct last_seen *l)
{
    return atomic_exchange(&l->changed, false);
}

void last_seen_on_heard(struct last_seen *l, last_seen_fn *fn)
{
    l->on_heard = fn;
}

int last_seen_heard(struct last_seen *l, struct txn *txn, const struct sighting *sightings,
                    size_t n, struct error *err)
{
    return l->on_heard == NULL ? 0 : l->on_heard(txn, sightings, n, err);
}

/* Writer thread; may run again after a rollback, then with newer times. */
static int last_seen_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct last_seen *l = CONTAINER_OF(job, struct last_seen, job);

    for (size_t i = 0; i < l->n; i++) {
        const struct last_seen_entry *sighting = l->batch[i].sighting;

        l->rows[i] = (struct sighting){ .tenant_id = sighting->key.tenant_id,
                                        .agent_id = sighting->key.agent_id,
                                        .at = atomic_load(&sighting->at) };
    }
    if (store_last_seen_put(txn->db, l->rows, l->n, clock_wall_us(), err) != 0)
        return -1;
    return last_seen_heard(l, txn, l->rows, l->n, err);
}

static void end_save(struct last_seen *l)
{
    lock_acquire(&l->lock);
    l->saving = false;
    lock_release(&l->lock);
}

static void enqueue_all(struct last_seen *l)
{
    for (size_t i = 0; i < l->n; i++)
        enqueue(l, l->batch[i].sighting);
}

/* `rows` and `batch` have the same order. Entries that were not stored are queued again. */
static void last_seen_done(struct writer_job *job, const struct error *err)
{
    struct last_seen *l = CONTAINER_OF(job, struct last_seen, job);

    if (err != NULL)
        enqueue_all(l);
    for (size_t i = 0; i < l->n && err == NULL; i++) {
        struct last_seen_entry *sighting = l->batch[i].sighting;

        sighting->unstored = l->rows[i].stored ? 0 : sighting->unstored + 1;
        if (!l->rows[i].stored && sighting->unstored < UNSTORED_MAX)
            enqueue(l, sighting);
    }
    end_save(l);
}

static int by_key(const void *a, const void *b)
{
    const struct agent_key *x = &((const struct save_item *)a)->sighting->key;
    const struct agent_key *y = &((const struct save_item *)b)->sighting->key;

    if (x->tenant_id != y->tenant_id)
        return x->tenant_id < y->tenant_id ? -1 : 1;
    return x->agent_id < y->agent_id ? -1 : 1;
}

/* False when there is nothing to save or a save is running. */
static bool take_batch(struct last_seen *l)
{
    bool taken = false;

    lock_acquire(&l->lock);
    if (!l->saving && l->queue != NULL) {
        taken = l->saving = true;
        l->n = 0;
    }
    while (taken && l->queue != NULL && l->n < SAVE_MAX) {
        struct last_seen_entry *sighting = l->queue;

        l->queue = sighting->next;
        atomic_store(&sighting->queued, false);
        l->batch[l->n++].sighting = sighting;
    }
    lock_release(&l->lock);
    if (taken)
        qsort(l->batch, l->n, sizeof(*l->batch), by_key);
    return taken;
}

void last_seen_save(struct last_seen *l, struct writer *writer)
{
    if (!take_batch(l))
        return;
    l->job = (struct writer_job){ .apply = last_seen_apply,
                                  .done = last_seen_done,
                                  .events = 1 + l->n / ROWS_PER_EVENT,
                                  .unbounded = true };
    if (writer_submit(writer, &l->job, NULL) == 0)
        return;
    enqueue_all(l);
    end_save(l);
}
