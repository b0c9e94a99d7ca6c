/* rate.c - the sliding window, as a log of moments or as counts of sub-windows. */
#include "features/access/rate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"

enum { SLOTS = 601, SLOT_US = 100000 }; /* 60 s of sub-windows and the one that is leaving */

static const int64_t window_us = (int64_t)RATE_WINDOW_S * USEC_PER_SEC;

struct rate_window {
    struct lock lock;

    /* exact: a ring of moments, oldest at `first` */
    int64_t *stamps GUARDED_BY(lock);
    size_t room GUARDED_BY(lock), first GUARDED_BY(lock), n GUARDED_BY(lock);

    /* counted: SLOTS sub-windows, `slot` the newest, none before `oldest` */
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

/* Where the ring keeps the i-th oldest moment. */
static size_t place_of(const struct rate_window *w, size_t i) REQUIRES(w->lock)
{
    size_t place = w->first + i;

    assert(w->room > 0 && w->first < w->room && i <= w->n);
    return place < w->room ? place : place - w->room;
}

static int64_t stamp_at(const struct rate_window *w, size_t i) REQUIRES(w->lock)
{
    return w->stamps[place_of(w, i)];
}

static void drop_left(struct rate_window *w, int64_t now_us) REQUIRES(w->lock)
{
    while (w->n > 0 && stamp_at(w, 0) <= now_us - window_us) {
        w->first = place_of(w, 1);
        w->n--;
    }
}

/* Never smaller than before: a limit that falls and rises again must not forget. */
static void grow_ring(struct rate_window *w, size_t room) REQUIRES(w->lock)
{
    int64_t *stamps = mem_new(room * sizeof(*stamps));

    assert(w->counts == NULL || w->stamps == NULL); /* one way of counting at a time */
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

/* Drops the sub-windows of which all has left. */
static void go_to_slot(struct rate_window *w, int64_t slot) REQUIRES(w->lock)
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

/* What was counted is taken as late as it may have been. */
static void end_counting(struct rate_window *w, int64_t now_us) REQUIRES(w->lock)
{
    ASSERT_ALWAYS(w->total <= RATE_EXACT_MAX); /* they fit the ring */
    grow_ring(w, RATE_EXACT_MAX);
    for (int64_t slot = w->oldest; slot <= w->slot; slot++) {
        int64_t end_us = (slot + 1) * SLOT_US;

        for (int64_t i = 0; i < w->counts[slot % SLOTS]; i++)
            w->stamps[w->n++] = end_us < now_us ? end_us : now_us;
    }
    free(w->counts);
    w->counts = NULL;
}

/* Chooses the way of counting for `limit`. Counting goes on below RATE_EXACT_MAX for as long as
 * there is more in the window than a ring can hold. */
static void fit(struct rate_window *w, int64_t limit, int64_t now_us) REQUIRES(w->lock)
{
    if (limit > RATE_EXACT_MAX) {
        if (w->counts == NULL)
            begin_counting(w, now_us);
        return;
    }
    if (w->counts != NULL) {
        go_to_slot(w, now_us / SLOT_US);
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

    if (w->stamps == NULL) /* a limit that lets nobody in */
        return;
    drop_left(w, now_us);
    assert(w->room >= limit && w->n <= w->room);
    v->allowed = w->n < limit;
    if (v->allowed)
        w->stamps[place_of(w, w->n++)] = now_us;
    v->remaining = w->n < limit ? v->limit - (int64_t)w->n : 0;
    if (w->n == 0)
        return;
    /* of more than the limit, the newest count */
    v->reset_s = seconds_up(stamp_at(w, w->n > limit ? w->n - limit : 0) + window_us - now_us);
}

static void take_counted(struct rate_window *w, int64_t now_us, struct rate_verdict *v)
    REQUIRES(w->lock)
{
    int64_t leaving, left;

    go_to_slot(w, now_us / SLOT_US);
    assert(w->total >= 0 && w->oldest <= w->slot && w->slot - w->oldest < SLOTS);
    v->allowed = w->total < v->limit;
    if (v->allowed) {
        w->counts[w->slot % SLOTS]++;
        w->total++;
    }
    v->remaining = w->total < v->limit ? v->limit - w->total : 0;
    leaving = w->oldest;
    left = w->total - w->counts[leaving % SLOTS];
    while (left >= v->limit) /* a limit that fell: more than the oldest must leave */
        left -= w->counts[++leaving % SLOTS];
    /* a sub-window leaves when all of it is 60 s old */
    v->reset_s = seconds_up((leaving + 1) * SLOT_US + window_us - now_us);
}

struct rate_verdict rate_take(struct rate_window *w, int64_t limit, int64_t now_us)
{
    struct rate_verdict v = { .limit = limit < 1 ? 1 : limit };

    limit = v.limit;
    lock_acquire(&w->lock);
    fit(w, limit, now_us);
    if (w->counts != NULL)
        take_counted(w, now_us, &v);
    else
        take_exact(w, now_us, &v);
    assert(v.remaining >= 0 && v.remaining < limit);
    lock_release(&w->lock);
    return v;
}
