/* agent_cache.c - the agents that a process knows, and the job that stores when they were seen.
 *
 * Invariants:
 *  1. An entry whose time is not stored yet is in the queue or in the running save.
 *  2. `queued` is cleared before the time is read, and set after it was written: a time noted
 *     meanwhile is stored by this save or queues the entry again.
 */
#include "features/agents/agent_cache.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/agents/signs_store.h"
#include "shape/shape.h"

enum {
    SAVE_MAX = 10000,    /* agents per transaction */
    ROWS_PER_EVENT = 8,  /* rows that cost the writer at most as much as one event */
    UNSTORED_MAX = 5,    /* saves to try while the row is locked or missing */
    RECHECK_S = 120,     /* twice as long as Citus needs to complete a commit */
    RECHECK_SOON_S = 10, /* all agents: most commits take milliseconds */
};

struct agent_key {
    int64_t tenant_id, agent_id;
};

struct agent_entry {
    struct agent_key key;
    _Atomic int64_t seen_at;    /* TIME_NULL: not since the start */
    _Atomic int64_t changed_no; /* the last of agent_cache_changes() that was this agent's */
    _Atomic int64_t enabled;    /* twice the changes after which that was read, + 1: it is */
    atomic_bool queued, urgent;
    struct agent_entry *next; /* in the queue */
    int unstored;             /* consecutive saves that did not store it */
    int64_t noticed_at;       /* agent_entry_noticed_us(): the last time it was given */
    int64_t noticed_us;       /* and when it was first given that time */

    struct agent_entry *next_recheck; /* under the cache's lock, as the next */
    int64_t recheck_until_us;         /* 0: it is not in that list */
};

struct save_item {
    struct agent_entry *entry;
    int64_t place; /* of its tenant (db/servers.h) */
};

/* What one job stores: a slice of the batch, of one place. */
struct save {
    struct writer_job job;
    struct agent_cache *owner;
    size_t first, n;
};

struct agent_cache {
    struct lock lock;
    struct map entries GUARDED_BY(lock); /* struct agent_key -> struct agent_entry */
    struct agent_entry *queue GUARDED_BY(lock);
    struct agent_entry *rechecks GUARDED_BY(lock);
    int64_t recheck_all_us GUARDED_BY(lock); /* when all are changed again; INT64_MAX: never */
    int64_t recheck_all_until_us GUARDED_BY(lock); /* and when for the last time */
    bool saving GUARDED_BY(lock);
    size_t pending GUARDED_BY(lock); /* jobs of the running save */
    atomic_bool schedules_changed;
    _Atomic int64_t changes, all_changed; /* written under the lock */
    sightings_fn *on_sightings;

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

struct agent_cache *agent_cache_new(void)
{
    struct agent_cache *c = NEW(struct agent_cache);

    lock_init(&c->lock);
    map_init(&c->entries);
    c->recheck_all_us = INT64_MAX;
    c->batch = mem_new(SAVE_MAX * sizeof(*c->batch));
    c->rows = mem_new(SAVE_MAX * sizeof(*c->rows));
    return c;
}

void agent_cache_free(struct agent_cache *c)
{
    struct agent_entry *entry;
    size_t at = 0;

    if (c == NULL)
        return;
    lock_unshared(&c->lock);
    while ((entry = map_next(&c->entries, &at)) != NULL)
        free(entry);
    map_done(&c->entries);
    free(c->saves);
    free(c->batch);
    free(c->rows);
    lock_done(&c->lock);
    free(c);
}

static struct agent_entry *get_entry(struct agent_cache *c, int64_t tenant_id, int64_t agent_id)
    REQUIRES(c->lock)
{
    const struct agent_key key = { tenant_id, agent_id };
    struct agent_entry *entry = map_get(&c->entries, key_str(&key));

    if (entry != NULL)
        return entry;
    entry = NEW(struct agent_entry);
    entry->key = key;
    atomic_init(&entry->seen_at, TIME_NULL);
    (void)map_put(&c->entries, key_str(&entry->key), entry);
    return entry;
}

struct agent_entry *agent_cache_get(struct agent_cache *c, int64_t tenant_id, int64_t agent_id)
{
    struct agent_entry *entry;

    lock_acquire(&c->lock);
    entry = get_entry(c, tenant_id, agent_id);
    lock_release(&c->lock);
    return entry;
}

static void enqueue(struct agent_cache *c, struct agent_entry *entry)
{
    if (atomic_exchange(&entry->queued, true))
        return;
    lock_acquire(&c->lock);
    entry->next = c->queue;
    c->queue = entry;
    lock_release(&c->lock);
}

void agent_cache_seen(struct agent_cache *c, struct agent_entry *entry, int64_t at)
{
    int64_t before = atomic_load_explicit(&entry->seen_at, memory_order_relaxed);

    do {
        if (before != TIME_NULL && !sighting_is_later(at, before, at))
            return;
    } while (!atomic_compare_exchange_weak(&entry->seen_at, &before, at));
    enqueue(c, entry);
}

void agent_entry_set_stored(struct agent_entry *entry, int64_t at)
{
    atomic_store_explicit(&entry->seen_at, at, memory_order_relaxed);
}

int64_t agent_entry_seen_at(const struct agent_entry *entry)
{
    return atomic_load_explicit(&entry->seen_at, memory_order_relaxed);
}

int64_t agent_cache_last_seen(struct agent_cache *c, int64_t tenant_id, int64_t agent_id,
                              int64_t stored_at, int64_t now)
{
    const struct agent_key key = { tenant_id, agent_id };
    const struct agent_entry *entry;
    int64_t at;

    lock_acquire(&c->lock);
    entry = map_get(&c->entries, key_str(&key));
    lock_release(&c->lock);
    at = entry == NULL ? TIME_NULL : agent_entry_seen_at(entry);
    if (at == TIME_NULL || stored_at == TIME_NULL)
        return stored_at;
    return sighting_is_later(at, stored_at, now) ? at : stored_at;
}

int64_t agent_entry_noticed_us(struct agent_entry *entry, int64_t at, int64_t now_us)
{
    if (entry->noticed_at != at)
        entry->noticed_us = now_us;
    entry->noticed_at = at;
    return entry->noticed_us;
}

void agent_entry_set_urgent(struct agent_entry *entry)
{
    atomic_store(&entry->urgent, true);
}

bool agent_entry_take_urgent(struct agent_entry *entry)
{
    return atomic_load_explicit(&entry->urgent, memory_order_relaxed) &&
           atomic_exchange(&entry->urgent, false);
}

static void note_changed(struct agent_cache *c, struct agent_entry *entry) REQUIRES(c->lock)
{
    atomic_store(&entry->changed_no, atomic_fetch_add(&c->changes, 1) + 1);
}

/* An agent without an entry may be being read just now: it gets one. */
void agent_cache_changed(struct agent_cache *c, int64_t tenant_id, int64_t agent_id)
{
    lock_acquire(&c->lock);
    note_changed(c, get_entry(c, tenant_id, agent_id));
    lock_release(&c->lock);
}

static void note_all_changed(struct agent_cache *c) REQUIRES(c->lock)
{
    atomic_store(&c->all_changed, atomic_fetch_add(&c->changes, 1) + 1);
}

void agent_cache_all_changed(struct agent_cache *c)
{
    lock_acquire(&c->lock);
    note_all_changed(c);
    lock_release(&c->lock);
}

/* Reads the counters in the reverse of the order in which they are written. Otherwise a writer
 * could see a change for all agents, but number what it then reads as if from before that change: a
 * slower writer, which read before the change, could then overwrite the shared flag
 * (agent_entry_set_enabled()). */
struct agent_changes agent_cache_changes(const struct agent_cache *c)
{
    const int64_t of_all = atomic_load(&c->all_changed);

    return (struct agent_changes){ .n = atomic_load(&c->changes), .of_all = of_all };
}

bool agent_entry_holds(const struct agent_entry *entry, int64_t read_no)
{
    return atomic_load_explicit(&entry->changed_no, memory_order_acquire) <= read_no;
}

void agent_entry_set_enabled(struct agent_entry *entry, bool enabled, int64_t read_no)
{
    const int64_t now = 2 * read_no + (enabled ? 1 : 0);
    int64_t before = atomic_load(&entry->enabled);

    while (before / 2 <= read_no && !atomic_compare_exchange_weak(&entry->enabled, &before, now))
        continue;
}

bool agent_entry_is_enabled(const struct agent_entry *entry)
{
    return atomic_load_explicit(&entry->enabled, memory_order_relaxed) % 2 != 0;
}

static int64_t recheck_until(int64_t now_us)
{
    return now_us + (int64_t)RECHECK_S * USEC_PER_SEC;
}

void agent_cache_recheck(struct agent_cache *c, int64_t tenant_id, int64_t agent_id, int64_t now_us)
{
    struct agent_entry *entry;

    lock_acquire(&c->lock);
    entry = get_entry(c, tenant_id, agent_id);
    if (entry->recheck_until_us == 0) {
        entry->next_recheck = c->rechecks;
        c->rechecks = entry;
    }
    entry->recheck_until_us = recheck_until(now_us);
    lock_release(&c->lock);
}

/* Later calls do not put off the first recheck, or it would never come. */
void agent_cache_recheck_all(struct agent_cache *c, int64_t now_us)
{
    const int64_t soon_us = now_us + (int64_t)RECHECK_SOON_S * USEC_PER_SEC;

    lock_acquire(&c->lock);
    if (c->recheck_all_us > soon_us)
        c->recheck_all_us = soon_us;
    c->recheck_all_until_us = recheck_until(now_us);
    lock_release(&c->lock);
}

/* An agent's last recheck comes after its time is over. */
static void recheck_each(struct agent_cache *c, int64_t now_us, bool healthy) REQUIRES(c->lock)
{
    struct agent_entry **at = &c->rechecks, *entry;

    while ((entry = *at) != NULL) {
        note_changed(c, entry);
        if (!healthy)
            entry->recheck_until_us = recheck_until(now_us);
        if (entry->recheck_until_us > now_us) {
            at = &entry->next_recheck;
            continue;
        }
        *at = entry->next_recheck;
        entry->recheck_until_us = 0;
    }
}

static void recheck_all(struct agent_cache *c, int64_t now_us, bool healthy) REQUIRES(c->lock)
{
    if (!healthy && c->recheck_all_us != INT64_MAX)
        c->recheck_all_until_us = recheck_until(now_us);
    if (c->recheck_all_us > now_us)
        return;
    note_all_changed(c);
    c->recheck_all_us = c->recheck_all_until_us > now_us ? c->recheck_all_until_us : INT64_MAX;
}

void agent_cache_tick(struct agent_cache *c, int64_t now_us, bool healthy)
{
    lock_acquire(&c->lock);
    recheck_each(c, now_us, healthy);
    recheck_all(c, now_us, healthy);
    lock_release(&c->lock);
}

void agent_cache_set_schedules_changed(struct agent_cache *c)
{
    atomic_store(&c->schedules_changed, true);
}

bool agent_cache_take_schedules_changed(struct agent_cache *c)
{
    return atomic_exchange(&c->schedules_changed, false);
}

void agent_cache_on_sightings(struct agent_cache *c, sightings_fn *fn)
{
    c->on_sightings = fn;
}

int agent_cache_publish_sightings(struct agent_cache *c, struct txn *txn,
                                  const struct sighting *sightings, size_t n, struct error *err)
{
    return c->on_sightings == NULL ? 0 : c->on_sightings(txn, sightings, n, err);
}

/* Writer thread; may run again after a rollback, then with newer times. */
static int save_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    const struct save *save = CONTAINER_OF(job, struct save, job);
    struct agent_cache *c = save->owner;
    struct sighting *rows = c->rows + save->first;

    for (size_t i = 0; i < save->n; i++) {
        const struct agent_entry *entry = c->batch[save->first + i].entry;

        rows[i] = (struct sighting){ .tenant_id = entry->key.tenant_id,
                                     .agent_id = entry->key.agent_id,
                                     .at = atomic_load(&entry->seen_at) };
    }
    if (sightings_put(txn->db, rows, save->n, clock_wall_us(), err) != 0)
        return -1;
    return agent_cache_publish_sightings(c, txn, rows, save->n, err);
}

static void end_save(struct agent_cache *c)
{
    lock_acquire(&c->lock);
    if (--c->pending == 0)
        c->saving = false;
    lock_release(&c->lock);
}

static void enqueue_all(struct agent_cache *c, const struct save *save)
{
    for (size_t i = save->first; i < save->first + save->n; i++)
        enqueue(c, c->batch[i].entry);
}

/* `rows` and `batch` have the same order. Entries that were not stored are queued again. */
static void save_done(struct writer_job *job, const struct error *err)
{
    const struct save *save = CONTAINER_OF(job, struct save, job);
    struct agent_cache *c = save->owner;

    if (err != NULL)
        enqueue_all(c, save);
    for (size_t i = save->first; i < save->first + save->n && err == NULL; i++) {
        struct agent_entry *entry = c->batch[i].entry;

        entry->unstored = c->rows[i].stored ? 0 : entry->unstored + 1;
        if (!c->rows[i].stored && entry->unstored < UNSTORED_MAX)
            enqueue(c, entry);
    }
    end_save(c);
}

static int by_place_and_key(const void *a, const void *b)
{
    const struct save_item *i = a, *j = b;
    const struct agent_key *x = &i->entry->key, *y = &j->entry->key;

    if (i->place != j->place)
        return i->place < j->place ? -1 : 1;
    if (x->tenant_id != y->tenant_id)
        return x->tenant_id < y->tenant_id ? -1 : 1;
    return x->agent_id < y->agent_id ? -1 : 1;
}

/* False when there is nothing to save or a save is running. */
static bool take_batch(struct agent_cache *c)
{
    bool taken = false;

    lock_acquire(&c->lock);
    if (!c->saving && c->queue != NULL) {
        taken = c->saving = true;
        c->n = 0;
    }
    while (taken && c->queue != NULL && c->n < SAVE_MAX) {
        struct agent_entry *entry = c->queue;

        c->queue = entry->next;
        atomic_store(&entry->queued, false);
        c->batch[c->n++].entry = entry;
    }
    lock_release(&c->lock);
    return taken;
}

/* One job for each place: on another server, which may be away. */
static size_t divide(struct agent_cache *c, struct writer *writer)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++)
        c->batch[i].place = writer_place_of(writer, c->batch[i].entry->key.tenant_id);
    qsort(c->batch, c->n, sizeof(*c->batch), by_place_and_key);
    for (size_t i = 0; i < c->n; i++)
        n += i == 0 || c->batch[i].place != c->batch[i - 1].place;
    free(c->saves);
    c->saves = mem_new(n * sizeof(*c->saves));
    n = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (i == 0 || c->batch[i].place != c->batch[i - 1].place)
            c->saves[n++] = (struct save){ .owner = c, .first = i };
        c->saves[n - 1].n++;
    }
    return n;
}

void agent_cache_save(struct agent_cache *c, struct writer *writer)
{
    size_t n;

    if (!take_batch(c))
        return;
    n = divide(c, writer);
    lock_acquire(&c->lock);
    c->pending = n;
    lock_release(&c->lock);
    for (size_t i = 0; i < n; i++) {
        struct save *save = &c->saves[i];
        const struct save_item *first = &c->batch[save->first];

        save->job =
            (struct writer_job){ .apply = save_apply,
                                 .done = save_done,
                                 .tenant_id = first->place == 0 ? 0 : first->entry->key.tenant_id,
                                 .events = 1 + save->n / ROWS_PER_EVENT,
                                 .unbounded = true };
        if (writer_submit(writer, &save->job, NULL) == 0)
            continue;
        enqueue_all(c, save);
        end_save(c);
    }
}
