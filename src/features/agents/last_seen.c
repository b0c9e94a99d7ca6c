/* last_seen.c - signs of life in memory, and on their way into the store.
 *
 * Invariants:
 *  1. A sign whose time is not stored yet is in the list of waiting ones, or in the save under way.
 *  2. `waits` is cleared before the time is read, and set after it was written: a time noted
 *     meanwhile is stored by this save or puts the sign back into the list.
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
    SAVE_MAX = 10000,  /* agents in one transaction */
    ROWS_AN_EVENT = 8, /* that take the writer as long as an event, or less */
    UNSTORED_MAX = 5,  /* saves that find the row locked, or no row */
};

struct agent_key {
    int64_t tenant_id, agent_id;
};

struct last_seen_entry {
    struct agent_key key;
    _Atomic int64_t at; /* TIME_NULL: not heard of since the start */
    atomic_bool waits, awaited;
    struct last_seen_entry *next; /* of those that wait */
    int unstored;                 /* saves in a row that did not store it */
    int64_t noticed_at;           /* a time, and when it was noticed: of who watches */
    int64_t noticed_us;
};

struct taken_sign {
    struct last_seen_entry *sighting;
};

struct last_seen {
    struct lock lock;
    struct map sightings GUARDED_BY(lock); /* struct agent_key -> struct last_seen_entry */
    struct last_seen_entry *waiting GUARDED_BY(lock);
    bool saving GUARDED_BY(lock);
    atomic_bool changed; /* what is expected of some agent */
    last_seen_fn *on_heard;

    /* of the save under way; the writer's */
    struct writer_job job;
    struct taken_sign *taken;
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
    l->taken = mem_new(SAVE_MAX * sizeof(*l->taken));
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
    free(l->taken);
    free(l->rows);
    lock_done(&l->lock);
    free(l);
}

static struct last_seen_entry *find(struct last_seen *l, const struct agent_key *key)
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
        atomic_init(&sighting->waits, false);
        atomic_init(&sighting->awaited, false);
        (void)map_put(&l->sightings, key_str(&sighting->key), sighting);
    }
    lock_release(&l->lock);
    return sighting;
}

static void put_in_line(struct last_seen *l, struct last_seen_entry *sighting)
{
    if (atomic_exchange(&sighting->waits, true))
        return;
    lock_acquire(&l->lock);
    sighting->next = l->waiting;
    l->waiting = sighting;
    lock_release(&l->lock);
}

void last_seen_note(struct last_seen *l, struct last_seen_entry *sighting, int64_t at)
{
    int64_t before = atomic_load_explicit(&sighting->at, memory_order_relaxed);

    do {
        if (before != TIME_NULL && !sighting_is_later(at, before, at))
            return;
    } while (!atomic_compare_exchange_weak(&sighting->at, &before, at));
    put_in_line(l, sighting);
}

int64_t last_seen_latest(struct last_seen *l, int64_t tenant_id, int64_t agent_id,
                         int64_t stored_at, int64_t now)
{
    const struct agent_key key = { tenant_id, agent_id };
    const struct last_seen_entry *sighting = find(l, &key);
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

/* Writer thread; maybe again after a roll-back, with times that are newer by then. */
static int apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct last_seen *l = CONTAINER_OF(job, struct last_seen, job);

    for (size_t i = 0; i < l->n; i++) {
        const struct last_seen_entry *sighting = l->taken[i].sighting;

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

static void put_all_in_line(struct last_seen *l)
{
    for (size_t i = 0; i < l->n; i++)
        put_in_line(l, l->taken[i].sighting);
}

/* Both are sorted alike. Whatever was not stored waits for the next save. */
static void done(struct writer_job *job, const struct error *err)
{
    struct last_seen *l = CONTAINER_OF(job, struct last_seen, job);

    if (err != NULL)
        put_all_in_line(l);
    for (size_t i = 0; i < l->n && err == NULL; i++) {
        struct last_seen_entry *sighting = l->taken[i].sighting;

        sighting->unstored = l->rows[i].stored ? 0 : sighting->unstored + 1;
        if (!l->rows[i].stored && sighting->unstored < UNSTORED_MAX)
            put_in_line(l, sighting);
    }
    end_save(l);
}

static int by_key(const void *a, const void *b)
{
    const struct agent_key *x = &((const struct taken_sign *)a)->sighting->key;
    const struct agent_key *y = &((const struct taken_sign *)b)->sighting->key;

    if (x->tenant_id != y->tenant_id)
        return x->tenant_id < y->tenant_id ? -1 : 1;
    return x->agent_id < y->agent_id ? -1 : 1;
}

/* False when there is nothing to save, or a save is under way. */
static bool take(struct last_seen *l)
{
    bool taken = false;

    lock_acquire(&l->lock);
    if (!l->saving && l->waiting != NULL) {
        taken = l->saving = true;
        l->n = 0;
    }
    while (taken && l->waiting != NULL && l->n < SAVE_MAX) {
        struct last_seen_entry *sighting = l->waiting;

        l->waiting = sighting->next;
        atomic_store(&sighting->waits, false);
        l->taken[l->n++].sighting = sighting;
    }
    lock_release(&l->lock);
    if (taken)
        qsort(l->taken, l->n, sizeof(*l->taken), by_key);
    return taken;
}

void last_seen_save(struct last_seen *l, struct writer *writer)
{
    if (!take(l))
        return;
    l->job = (struct writer_job){
        .apply = apply, .done = done, .events = 1 + l->n / ROWS_AN_EVENT, .unbounded = true
    };
    if (writer_submit(writer, &l->job, NULL) == 0)
        return;
    put_all_in_line(l);
    end_save(l);
}
