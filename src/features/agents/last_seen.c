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
    _Atomic int64_t at;         /* TIME_NULL: not seen since the start */
    _Atomic int64_t changed_no; /* the last of last_seen_changes() that was this agent's */
    _Atomic int64_t enabled;    /* twice the changes after which that was read, + 1: it is */
    atomic_bool queued, awaited;
    struct last_seen_entry *next; /* in the queue */
    int unstored;                 /* consecutive saves that did not store it */
    int64_t noticed_at;           /* last_seen_noticed_us(): the last time it was given */
    int64_t noticed_us;           /* and when it was first given that time */
};

struct save_item {
    struct last_seen_entry *entry;
    int64_t part; /* of its tenant (engine/parts.h) */
};

/* What one job stores: a slice of the batch, of one part of the database. */
struct save {
    struct writer_job job;
    struct last_seen *owner;
    size_t first, n;
};

struct last_seen {
    struct lock lock;
    struct map entries GUARDED_BY(lock); /* struct agent_key -> struct last_seen_entry */
    struct last_seen_entry *queue GUARDED_BY(lock);
    bool saving GUARDED_BY(lock);
    size_t pending GUARDED_BY(lock); /* jobs of the running save */
    atomic_bool changed;             /* an agent's expected interval has changed */
    _Atomic int64_t changes, all_changed;
    last_seen_fn *on_stored;

    /* of the running save; belongs to the writer */
    struct save_item *batch;
    struct sighting *rows;
    size_t n;
    struct save *saves;
};

static struct str key_str(const struct agent_key *key)
{
    return str_from((const char *)key, sizeof(*key));
}

struct last_seen *last_seen_new(void)
{
    struct last_seen *l = NEW(struct last_seen);

    lock_init(&l->lock);
    map_init(&l->entries);
    l->batch = mem_new(SAVE_MAX * sizeof(*l->batch));
    l->rows = mem_new(SAVE_MAX * sizeof(*l->rows));
    return l;
}

void last_seen_free(struct last_seen *l)
{
    struct last_seen_entry *entry;
    size_t at = 0;

    if (l == NULL)
        return;
    lock_unshared(&l->lock);
    while ((entry = map_next(&l->entries, &at)) != NULL)
        free(entry);
    map_done(&l->entries);
    free(l->saves);
    free(l->batch);
    free(l->rows);
    lock_done(&l->lock);
    free(l);
}

static struct last_seen_entry *find_entry(struct last_seen *l, const struct agent_key *key)
{
    struct last_seen_entry *entry;

    lock_acquire(&l->lock);
    entry = map_get(&l->entries, key_str(key));
    lock_release(&l->lock);
    return entry;
}

static struct last_seen_entry *get_entry(struct last_seen *l, const struct agent_key *key)
    REQUIRES(l->lock)
{
    struct last_seen_entry *entry = map_get(&l->entries, key_str(key));

    if (entry != NULL)
        return entry;
    entry = NEW(struct last_seen_entry);
    entry->key = *key;
    atomic_init(&entry->at, TIME_NULL);
    atomic_init(&entry->changed_no, 0);
    atomic_init(&entry->enabled, 0);
    atomic_init(&entry->queued, false);
    atomic_init(&entry->awaited, false);
    (void)map_put(&l->entries, key_str(&entry->key), entry);
    return entry;
}

struct last_seen_entry *last_seen_get(struct last_seen *l, int64_t tenant_id, int64_t agent_id)
{
    const struct agent_key key = { tenant_id, agent_id };
    struct last_seen_entry *entry;

    lock_acquire(&l->lock);
    entry = get_entry(l, &key);
    lock_release(&l->lock);
    return entry;
}

static void enqueue(struct last_seen *l, struct last_seen_entry *entry)
{
    if (atomic_exchange(&entry->queued, true))
        return;
    lock_acquire(&l->lock);
    entry->next = l->queue;
    l->queue = entry;
    lock_release(&l->lock);
}

void last_seen_note(struct last_seen *l, struct last_seen_entry *entry, int64_t at)
{
    int64_t before = atomic_load_explicit(&entry->at, memory_order_relaxed);

    do {
        if (before != TIME_NULL && !sighting_is_later(at, before, at))
            return;
    } while (!atomic_compare_exchange_weak(&entry->at, &before, at));
    enqueue(l, entry);
}

void last_seen_set_stored(struct last_seen_entry *entry, int64_t at)
{
    atomic_store_explicit(&entry->at, at, memory_order_relaxed);
}

int64_t last_seen_latest(struct last_seen *l, int64_t tenant_id, int64_t agent_id,
                         int64_t stored_at, int64_t now)
{
    const struct agent_key key = { tenant_id, agent_id };
    const struct last_seen_entry *entry = find_entry(l, &key);
    int64_t at = entry == NULL ? TIME_NULL : last_seen_at_here(entry);

    if (at == TIME_NULL || stored_at == TIME_NULL)
        return stored_at;
    return sighting_is_later(at, stored_at, now) ? at : stored_at;
}

int64_t last_seen_at_here(const struct last_seen_entry *entry)
{
    return atomic_load_explicit(&entry->at, memory_order_relaxed);
}

int64_t last_seen_noticed_us(struct last_seen_entry *entry, int64_t at, int64_t now_us)
{
    if (entry->noticed_at != at)
        entry->noticed_us = now_us;
    entry->noticed_at = at;
    return entry->noticed_us;
}

void last_seen_await(struct last_seen_entry *entry)
{
    atomic_store(&entry->awaited, true);
}

bool last_seen_take_awaited(struct last_seen_entry *entry)
{
    return atomic_load_explicit(&entry->awaited, memory_order_relaxed) &&
           atomic_exchange(&entry->awaited, false);
}

/* An agent without an entry may be being read just now: it gets one. */
void last_seen_agent_changed(struct last_seen *l, int64_t tenant_id, int64_t agent_id)
{
    const struct agent_key key = { tenant_id, agent_id };

    lock_acquire(&l->lock);
    atomic_store(&get_entry(l, &key)->changed_no, atomic_fetch_add(&l->changes, 1) + 1);
    lock_release(&l->lock);
}

void last_seen_agents_changed(struct last_seen *l)
{
    lock_acquire(&l->lock);
    atomic_store(&l->all_changed, atomic_fetch_add(&l->changes, 1) + 1);
    lock_release(&l->lock);
}

/* In the opposite order to that in which they are written. Otherwise a writer could know of a
 * change for all agents, which it will then not hear of again, and take its readings for those of
 * before: a slower one, which has read before the change, would replace them in the flag that is
 * for both (last_seen_set_enabled()). */
struct agent_changes last_seen_changes(const struct last_seen *l)
{
    const int64_t of_all = atomic_load(&l->all_changed);

    return (struct agent_changes){ .n = atomic_load(&l->changes), .of_all = of_all };
}

bool last_seen_holds(const struct last_seen_entry *entry, int64_t read_no)
{
    return atomic_load_explicit(&entry->changed_no, memory_order_acquire) <= read_no;
}

void last_seen_set_enabled(struct last_seen_entry *entry, bool enabled, int64_t read_no)
{
    const int64_t now = 2 * read_no + (enabled ? 1 : 0);
    int64_t before = atomic_load(&entry->enabled);

    while (before / 2 <= read_no && !atomic_compare_exchange_weak(&entry->enabled, &before, now))
        continue;
}

bool last_seen_is_enabled(const struct last_seen_entry *entry)
{
    return atomic_load_explicit(&entry->enabled, memory_order_relaxed) % 2 != 0;
}

void last_seen_set_changed(struct last_seen *l)
{
    atomic_store(&l->changed, true);
}

bool last_seen_take_changed(struct last_seen *l)
{
    return atomic_exchange(&l->changed, false);
}

void last_seen_on_stored(struct last_seen *l, last_seen_fn *fn)
{
    l->on_stored = fn;
}

int last_seen_stored(struct last_seen *l, struct txn *txn, const struct sighting *sightings,
                     size_t n, struct error *err)
{
    return l->on_stored == NULL ? 0 : l->on_stored(txn, sightings, n, err);
}

/* Writer thread; may run again after a rollback, then with newer times. */
static int last_seen_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    const struct save *save = CONTAINER_OF(job, struct save, job);
    struct last_seen *l = save->owner;
    struct sighting *rows = l->rows + save->first;

    for (size_t i = 0; i < save->n; i++) {
        const struct last_seen_entry *entry = l->batch[save->first + i].entry;

        rows[i] = (struct sighting){ .tenant_id = entry->key.tenant_id,
                                     .agent_id = entry->key.agent_id,
                                     .at = atomic_load(&entry->at) };
    }
    if (store_last_seen_put(txn->db, rows, save->n, clock_wall_us(), err) != 0)
        return -1;
    return last_seen_stored(l, txn, rows, save->n, err);
}

static void end_save(struct last_seen *l)
{
    lock_acquire(&l->lock);
    if (--l->pending == 0)
        l->saving = false;
    lock_release(&l->lock);
}

static void enqueue_all(struct last_seen *l, const struct save *save)
{
    for (size_t i = save->first; i < save->first + save->n; i++)
        enqueue(l, l->batch[i].entry);
}

/* `rows` and `batch` have the same order. Entries that were not stored are queued again. */
static void last_seen_done(struct writer_job *job, const struct error *err)
{
    const struct save *save = CONTAINER_OF(job, struct save, job);
    struct last_seen *l = save->owner;

    if (err != NULL)
        enqueue_all(l, save);
    for (size_t i = save->first; i < save->first + save->n && err == NULL; i++) {
        struct last_seen_entry *entry = l->batch[i].entry;

        entry->unstored = l->rows[i].stored ? 0 : entry->unstored + 1;
        if (!l->rows[i].stored && entry->unstored < UNSTORED_MAX)
            enqueue(l, entry);
    }
    end_save(l);
}

static int by_part_and_key(const void *a, const void *b)
{
    const struct save_item *i = a, *j = b;
    const struct agent_key *x = &i->entry->key, *y = &j->entry->key;

    if (i->part != j->part)
        return i->part < j->part ? -1 : 1;
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
        struct last_seen_entry *entry = l->queue;

        l->queue = entry->next;
        atomic_store(&entry->queued, false);
        l->batch[l->n++].entry = entry;
    }
    lock_release(&l->lock);
    return taken;
}

/* One job for each part: on another server, which may be away. */
static size_t divide(struct last_seen *l, struct writer *writer)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        l->batch[i].part = writer_part_of(writer, l->batch[i].entry->key.tenant_id);
    qsort(l->batch, l->n, sizeof(*l->batch), by_part_and_key);
    for (size_t i = 0; i < l->n; i++)
        n += i == 0 || l->batch[i].part != l->batch[i - 1].part;
    free(l->saves);
    l->saves = mem_new(n * sizeof(*l->saves));
    n = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (i == 0 || l->batch[i].part != l->batch[i - 1].part)
            l->saves[n++] = (struct save){ .owner = l, .first = i };
        l->saves[n - 1].n++;
    }
    return n;
}

void last_seen_save(struct last_seen *l, struct writer *writer)
{
    size_t n;

    if (!take_batch(l))
        return;
    n = divide(l, writer);
    lock_acquire(&l->lock);
    l->pending = n;
    lock_release(&l->lock);
    for (size_t i = 0; i < n; i++) {
        struct save *save = &l->saves[i];
        const struct save_item *first = &l->batch[save->first];

        save->job =
            (struct writer_job){ .apply = last_seen_apply,
                                 .done = last_seen_done,
                                 .tenant_id = first->part == 0 ? 0 : first->entry->key.tenant_id,
                                 .events = 1 + save->n / ROWS_PER_EVENT,
                                 .unbounded = true };
        if (writer_submit(writer, &save->job, NULL) == 0)
            continue;
        enqueue_all(l, save);
        end_save(l);
    }
}
