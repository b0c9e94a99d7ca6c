/* rate.c - the sliding window, as a ring of timestamps or as counts of sub-windows. */
#include "features/access/rate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"

enum {
    SLOTS = 601,
    SLOT_US = 100000
}; /* 60 s of sub-windows, and the one that is leaving the window */

static const int64_t window_us = (int64_t)RATE_WINDOW_S * USEC_PER_SEC;

struct rate_window {
    struct lock lock;

    /* exact: a ring of timestamps, the oldest at `first` */
    int64_t *stamps GUARDED_BY(lock);
    size_t room GUARDED_BY(lock), first GUARDED_BY(lock), n GUARDED_BY(lock);

    /* counted: SLOTS sub-windows, `slot` is the newest, and those before `oldest` are empty */
    int64_t *counts GUARDED_BY(lock);
    int64_t slot GUARDED_BY(lock), oldest GUARDED_BY(lock), total GUARDED_BY(lock);
};

struct rate_window *rate_window_new(void)
{
    struct rate_window *w = NEW(struct rate_window);

    lock_init(&w->lock);
    return w;
}

void rate_window_free(struct rate_window *w)
{
    if (w == NULL)
        return;
    lock_unshared(&w->lock);
    lock_done(&w->lock);
    free(w->stamps);
    free(w->counts);
    free(w);
}

/* The ring index of the i-th oldest timestamp. */
static size_t ring_index(const struct rate_window *w, size_t i) REQUIRES(w->lock)
{
    size_t index = w->first + i;

    assert(w->room > 0 && w->first < w->room && i <= w->n);
    return index < w->room ? index : index - w->room;
}

static int64_t stamp_at(const struct rate_window *w, size_t i) REQUIRES(w->lock)
{
    return w->stamps[ring_index(w, i)];
}

static void drop_left(struct rate_window *w, int64_t now_us) REQUIRES(w->lock)
{
    while (w->n > 0 && stamp_at(w, 0) <= now_us - window_us) {
        w->first = ring_index(w, 1);
        w->n--;
    }
}

/* Never shrinks: a limit that falls and rises again must not lose timestamps. */
static void grow_ring(struct rate_window *w, size_t room) REQUIRES(w->lock)
{
    int64_t *stamps = mem_new(room * sizeof(*stamps));

    assert(w->counts == NULL || w->stamps == NULL); /* one method at a time */
    ASSERT_ALWAYS(w->n <= room);
    for (size_t i = 0; i < w->n; i++)
        stamps[i] = stamp_at(w, i);
    free(w->stamps);
    w->stamps = stamps;
    w->room = room;
    w->first = 0;
}

static void begin_counting(struct rate_window *w, int64_t now_us) REQUIRES(w->lock)
{
    w->counts = mem_new(SLOTS * sizeof(*w->counts));
    w->slot = now_us / SLOT_US;
    w->oldest = w->slot < SLOTS ? 0 : w->slot - SLOTS + 1;
    drop_left(w, now_us);
    for (size_t i = 0; i < w->n; i++) {
        int64_t slot = stamp_at(w, i) / SLOT_US;

        w->counts[(slot < w->slot ? slot : w->slot) % SLOTS]++;
    }
    w->total = (int64_t)w->n;
    free(w->stamps);
    w->stamps = NULL;
    w->room = w->n = 0;
}

/* Moves on to this sub-window and drops those that have left the window. */
static void advance_to_slot(struct rate_window *w, int64_t slot) REQUIRES(w->lock)
{
    if (slot - w->slot >= SLOTS) {
        memset(w->counts, 0, SLOTS * sizeof(*w->counts));
        w->total = 0;
        w->slot = w->oldest = slot;
    }
    while (w->slot < slot) {
        w->slot++;
        w->total -= w->counts[w->slot % SLOTS];
        w->counts[w->slot % SLOTS] = 0;
    }
    if (w->oldest <= w->slot - SLOTS)
        w->oldest = w->slot - SLOTS + 1;
    while (w->oldest < w->slot && w->counts[w->oldest % SLOTS] == 0)
        w->oldest++;
}

/* Turns counts into timestamps, each at the end of its sub-window. */
static void end_counting(struct rate_window *w, int64_t now_us) REQUIRES(w->lock)
{
    ASSERT_ALWAYS(w->total <= RATE_EXACT_MAX); /* they fit into the ring */
    grow_ring(w, RATE_EXACT_MAX);
    for (int64_t slot = w->oldest; slot <= w->slot; slot++) {
        int64_t end_us = (slot + 1) * SLOT_US;

        for (int64_t i = 0; i < w->counts[slot % SLOTS]; i++)
            w->stamps[w->n++] = end_us < now_us ? end_us : now_us;
    }
    free(w->counts);
    w->counts = NULL;
}

/* Chooses the method for `limit`. Sub-windows stay in use below RATE_EXACT_MAX while the window has
 * more requests than the ring can hold. */
static void choose_method(struct rate_window *w, int64_t limit, int64_t now_us) REQUIRES(w->lock)
{
    if (limit > RATE_EXACT_MAX) {
        if (w->counts == NULL)
            begin_counting(w, now_us);
        return;
    }
    if (w->counts != NULL) {
        advance_to_slot(w, now_us / SLOT_US);
        if (w->total <= RATE_EXACT_MAX)
            end_counting(w, now_us);
    } else if (w->room < (size_t)limit) {
        grow_ring(w, (size_t)limit);
    }
}

static int64_t seconds_up(int64_t us)
{
    return us <= 0 ? 0 : (us + USEC_PER_SEC - 1) / USEC_PER_SEC;
}

static void take_exact(struct rate_window *w, int64_t now_us, struct rate_verdict *v)
    REQUIRES(w->lock)
{
    size_t limit = (size_t)v->limit;

    if (w->stamps == NULL) /* limit is 0: nothing is allowed */
        return;
    drop_left(w, now_us);
    assert(w->room >= limit && w->n <= w->room);
    v->allowed = w->n < limit;
    if (v->allowed)
        w->stamps[ring_index(w, w->n++)] = now_us;
    v->remaining = w->n < limit ? v->limit - (int64_t)w->n : 0;
    if (w->n == 0)
        return;
    /* if there are more than the limit, only the newest count */
    v->reset_s = seconds_up(stamp_at(w, w->n > limit ? w->n - limit : 0) + window_us - now_us);
}

static void take_counted(struct rate_window *w, int64_t now_us, struct rate_verdict *v)
    REQUIRES(w->lock)
{
    int64_t leaving, left;

    advance_to_slot(w, now_us / SLOT_US);
    assert(w->total >= 0 && w->oldest <= w->slot && w->slot - w->oldest < SLOTS);
    v->allowed = w->total < v->limit;
    if (v->allowed) {
        w->counts[w->slot % SLOTS]++;
        w->total++;
    }
    v->remaining = w->total < v->limit ? v->limit - w->total : 0;
    leaving = w->oldest;
    left = w->total - w->counts[leaving % SLOTS];
    while (left >= v->limit) /* the limit was lowered: more than the oldest must leave */
        left -= w->counts[++leaving % SLOTS];
    /* a sub-window leaves when all of it is 60 s old */
    v->reset_s = seconds_up((leaving + 1) * SLOT_US + window_us - now_us);
}

struct rate_verdict rate_take(struct rate_window *w, int64_t limit, int64_t now_us)
{
    struct rate_verdict v = { .limit = limit < 1 ? 1 : limit };

    limit = v.limit;
    lock_acquire(&w->lock);
    choose_method(w, limit, now_us);
    if (w->counts != NULL)
        take_counted(w, now_us, &v);
    else
        take_exact(w, now_us, &v);
    assert(v.remaining >= 0 && v.remaining < limit);
    lock_release(&w->lock);
    return v;
}
