/* life.c - signs of life in memory, and on their way into the store.
 *
 * Invariants:
 *  1. A sign whose time is not stored yet is in the list of waiting ones, or in the save under way.
 *  2. `waits` is cleared before the time is read, and set after it was written: a time noted
 *     meanwhile is stored by this save or puts the sign back into the list.
 */
#include "features/agents/last_seen.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "engine/writer.h"
#include "features/agents/last_seen_store.h"
#include "features/alerts/alerts.h"
#include "features/events/ingest.h"
#include "shape/shape.h"

enum {
    SAVE_MAX = 10000,  /* agents in one transaction */
    ROWS_AN_EVENT = 8, /* that take the writer as long as an event, or less */
    MISSES_MAX = 5,    /* saves that find the row taken, or none at all */
};

struct agent_key {
    int64_t tenant_id, agent_id;
};

struct life_sign {
    struct agent_key key;
    _Atomic int64_t at; /* TIME_NULL: not heard of since the start */
    atomic_bool waits, awaited;
    struct life_sign *next; /* of those that wait */
    int misses;             /* the save's own */
    int64_t noticed_at;     /* a time, and when it was noticed: of who watches */
    int64_t noticed_us;
};

struct taken_sign {
    struct life_sign *sign;
};

struct life {
    pthread_mutex_t lock; /* guards the map and the list */
    struct map signs;     /* struct agent_key -> struct life_sign */
    struct life_sign *waiting;
    bool saving;
    atomic_bool changed; /* what is expected of some agent */

    /* of the save under way; the writer's */
    struct writer_job job;
    struct taken_sign *taken;
    struct sign *rows;
    size_t n;
};

static struct str key_str(const struct agent_key *key)
{
    return str_from((const char *)key, sizeof(*key));
}

struct life *life_new(void)
{
    struct life *l = NEW(struct life);

    pthread_mutex_init(&l->lock, NULL);
    map_init(&l->signs);
    l->taken = mem_new(SAVE_MAX * sizeof(*l->taken));
    l->rows = mem_new(SAVE_MAX * sizeof(*l->rows));
    return l;
}

void life_free(struct life *l)
{
    struct life_sign *sign;
    size_t at = 0;

    if (l == NULL)
        return;
    while ((sign = map_next(&l->signs, &at)) != NULL)
        free(sign);
    map_done(&l->signs);
    free(l->taken);
    free(l->rows);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static struct life_sign *find(struct life *l, const struct agent_key *key)
{
    struct life_sign *sign;

    pthread_mutex_lock(&l->lock);
    sign = map_get(&l->signs, key_str(key));
    pthread_mutex_unlock(&l->lock);
    return sign;
}

struct life_sign *life_of(struct life *l, int64_t tenant_id, int64_t agent_id)
{
    const struct agent_key key = { tenant_id, agent_id };
    struct life_sign *sign;

    pthread_mutex_lock(&l->lock);
    sign = map_get(&l->signs, key_str(&key));
    if (sign == NULL) {
        sign = NEW(struct life_sign);
        sign->key = key;
        atomic_init(&sign->at, TIME_NULL);
        atomic_init(&sign->waits, false);
        atomic_init(&sign->awaited, false);
        (void)map_put(&l->signs, key_str(&sign->key), sign);
    }
    pthread_mutex_unlock(&l->lock);
    return sign;
}

static void put_in_line(struct life *l, struct life_sign *sign)
{
    if (atomic_exchange(&sign->waits, true))
        return;
    pthread_mutex_lock(&l->lock);
    sign->next = l->waiting;
    l->waiting = sign;
    pthread_mutex_unlock(&l->lock);
}

void life_see(struct life *l, struct life_sign *sign, int64_t at)
{
    int64_t before = atomic_load_explicit(&sign->at, memory_order_relaxed);

    do {
        if (before != TIME_NULL && !sign_is_later(at, before, at))
            return;
    } while (!atomic_compare_exchange_weak(&sign->at, &before, at));
    put_in_line(l, sign);
}

int64_t life_seen_at(struct life *l, int64_t tenant_id, int64_t agent_id, int64_t stored_at,
                     int64_t now)
{
    const struct agent_key key = { tenant_id, agent_id };
    const struct life_sign *sign = find(l, &key);
    int64_t at = sign == NULL ? TIME_NULL : life_at(sign);

    if (at == TIME_NULL || stored_at == TIME_NULL)
        return stored_at;
    return sign_is_later(at, stored_at, now) ? at : stored_at;
}

int64_t life_at(const struct life_sign *sign)
{
    return atomic_load_explicit(&sign->at, memory_order_relaxed);
}

int64_t life_noticed_us(struct life_sign *sign, int64_t at, int64_t now_us)
{
    if (sign->noticed_at != at)
        sign->noticed_us = now_us;
    sign->noticed_at = at;
    return sign->noticed_us;
}

void life_await(struct life_sign *sign)
{
    atomic_store(&sign->awaited, true);
}

bool life_take_awaited(struct life_sign *sign)
{
    return atomic_load_explicit(&sign->awaited, memory_order_relaxed) &&
           atomic_exchange(&sign->awaited, false);
}

void life_set_changed(struct life *l)
{
    atomic_store(&l->changed, true);
}

bool life_take_changed(struct life *l)
{
    return atomic_exchange(&l->changed, false);
}

/* Writer thread; maybe again after a roll-back, with times that are newer by then. */
static int apply(struct writer_job *job, struct db *db, struct error *err)
{
    struct life *l = CONTAINER_OF(job, struct life, job);

    for (size_t i = 0; i < l->n; i++) {
        const struct life_sign *sign = l->taken[i].sign;

        l->rows[i] = (struct sign){ .tenant_id = sign->key.tenant_id,
                                    .agent_id = sign->key.agent_id,
                                    .at = atomic_load(&sign->at) };
    }
    if (store_signs_put(db, l->rows, l->n, clock_wall_us(), err) != 0)
        return -1;
    return alerts_heard(db, l->rows, l->n, ingest_notes_of(job), err);
}

static void end_save(struct life *l)
{
    pthread_mutex_lock(&l->lock);
    l->saving = false;
    pthread_mutex_unlock(&l->lock);
}

static void put_all_in_line(struct life *l)
{
    for (size_t i = 0; i < l->n; i++)
        put_in_line(l, l->taken[i].sign);
}

/* Both are sorted alike. Whatever was not stored waits for the next save. */
static void done(struct writer_job *job, const struct error *err)
{
    struct life *l = CONTAINER_OF(job, struct life, job);

    if (err != NULL)
        put_all_in_line(l);
    for (size_t i = 0; i < l->n && err == NULL; i++) {
        struct life_sign *sign = l->taken[i].sign;

        sign->misses = l->rows[i].stored ? 0 : sign->misses + 1;
        if (!l->rows[i].stored && sign->misses < MISSES_MAX)
            put_in_line(l, sign);
    }
    end_save(l);
}

static int by_key(const void *a, const void *b)
{
    const struct agent_key *x = &((const struct taken_sign *)a)->sign->key;
    const struct agent_key *y = &((const struct taken_sign *)b)->sign->key;

    if (x->tenant_id != y->tenant_id)
        return x->tenant_id < y->tenant_id ? -1 : 1;
    return x->agent_id < y->agent_id ? -1 : 1;
}

/* False when there is nothing to save, or a save is under way. */
static bool take(struct life *l)
{
    bool taken = false;

    pthread_mutex_lock(&l->lock);
    if (!l->saving && l->waiting != NULL) {
        taken = l->saving = true;
        l->n = 0;
    }
    while (taken && l->waiting != NULL && l->n < SAVE_MAX) {
        struct life_sign *sign = l->waiting;

        l->waiting = sign->next;
        atomic_store(&sign->waits, false);
        l->taken[l->n++].sign = sign;
    }
    pthread_mutex_unlock(&l->lock);
    if (taken)
        qsort(l->taken, l->n, sizeof(*l->taken), by_key);
    return taken;
}

void life_save(struct life *l, struct writer *writer)
{
    if (!take(l))
        return;
    l->job = (struct writer_job){
        .apply = apply, .done = done, .events = 1 + l->n / ROWS_AN_EVENT, .always = true
    };
    if (writer_submit(writer, &l->job, NULL) == 0)
        return;
    put_all_in_line(l);
    end_save(l);
}
