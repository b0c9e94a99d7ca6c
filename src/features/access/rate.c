/* rate.c - the sliding window, as a ring of timestamps or as counts of sub-windows, and beside it
 * what other nodes let through. */
#include "features/access/rate.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/lock.h"
#include "base/mem.h"

enum {
    SLOTS = 601,
    SLOT_US = 100000, /* 60 s of sub-windows, and the one that is leaving the window */

    SHARE_S = 3,     /* how long a share holds, if the database does not answer */
    SHARE_PARTS = 4, /* per second a node gets a quarter of its part: nodes see each other late */
};

static const int64_t window_us = (int64_t)RATE_WINDOW_S * USEC_PER_SEC;

/* What other nodes let through, by the second, and when the first of these leaves the window. */
struct others {
    int64_t leaves_us; /* monotonic */
    int64_t counts[RATE_SECONDS];
    size_t first; /* those before it have left */
    int64_t total;
};

struct rate_window {
    struct lock lock;
    atomic_uint holds;
    atomic_bool known, due; /* rate_is_new(), rate_mark_due() */
    char name[BASE64URL_LEN + 1];

    /* exact: a ring of timestamps, the oldest at `first` */
    int64_t *stamps GUARDED_BY(lock);
    size_t room GUARDED_BY(lock), first GUARDED_BY(lock), n GUARDED_BY(lock);

    /* counted: SLOTS sub-windows, `slot` is the newest, and those before `oldest` are empty */
    int64_t *counts GUARDED_BY(lock);
    int64_t slot GUARDED_BY(lock), oldest GUARDED_BY(lock), total GUARDED_BY(lock);

    struct others *others GUARDED_BY(lock);               /* NULL: none */
    int64_t unsaved GUARDED_BY(lock);                     /* counted here, and not stored yet */
    int64_t limit GUARDED_BY(lock);                       /* of the last request */
    int64_t contended_until_us GUARDED_BY(lock);          /* monotonic */
    size_t nodes GUARDED_BY(lock), rank GUARDED_BY(lock); /* as in rate_others, while contended */
    int64_t share GUARDED_BY(lock), share_until_us GUARDED_BY(lock);
};

struct rate_window *rate_window_new(struct str about)
{
    const struct sha256 digest = digest_sha256(about);
    struct rate_window *w = NEW(struct rate_window);

    lock_init(&w->lock);
    atomic_init(&w->holds, 1);
    digest_base64url(digest.bytes, w->name);
    return w;
}

struct str rate_window_name(const struct rate_window *w)
{
    return str_from(w->name, BASE64URL_LEN);
}

static bool set_once(atomic_bool *flag)
{
    return !atomic_load_explicit(flag, memory_order_relaxed) && !atomic_exchange(flag, true);
}

bool rate_is_new(struct rate_window *w)
{
    return set_once(&w->known);
}

bool rate_mark_due(struct rate_window *w)
{
    return set_once(&w->due);
}

struct rate_window *rate_window_hold(struct rate_window *w)
{
    (void)atomic_fetch_add_explicit(&w->holds, 1, memory_order_relaxed);
    return w;
}

void rate_window_free(struct rate_window *w)
{
    if (w == NULL || atomic_fetch_sub_explicit(&w->holds, 1, memory_order_acq_rel) != 1)
        return;
    lock_unshared(&w->lock);
    lock_done(&w->lock);
    free(w->stamps);
    free(w->counts);
    free(w->others);
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

/* How many the others let through that have not left the window. */
static int64_t others_total(struct rate_window *w, int64_t now_us) REQUIRES(w->lock)
{
    struct others *o = w->others;

    if (o == NULL)
        return 0;
    for (; o->first < RATE_SECONDS && o->leaves_us + (int64_t)o->first * USEC_PER_SEC <= now_us;
         o->first++)
        o->total -= o->counts[o->first];
    if (o->first < RATE_SECONDS)
        return o->total;
    free(o);
    w->others = NULL;
    return 0;
}

/* A walk through all that is counted, here and by others, the oldest first. */
struct walk {
    size_t stamp;
    int64_t slot;
    size_t second;
};

/* When the next of those counted here leave the window, and how many they are; 0: there are none.
 */
static int64_t own_leaves(const struct rate_window *w, struct walk *at, int64_t *ret_us)
    REQUIRES(w->lock)
{
    *ret_us = INT64_MAX;
    if (w->counts == NULL) {
        if (at->stamp >= w->n)
            return 0;
        *ret_us = stamp_at(w, at->stamp) + window_us;
        return 1;
    }
    while (at->slot <= w->slot && w->counts[at->slot % SLOTS] == 0)
        at->slot++;
    if (at->slot > w->slot)
        return 0;
    /* a sub-window leaves when all of it is 60 s old */
    *ret_us = (at->slot + 1) * SLOT_US + window_us;
    return w->counts[at->slot % SLOTS];
}

static int64_t others_leave(const struct rate_window *w, struct walk *at, int64_t *ret_us)
    REQUIRES(w->lock)
{
    const struct others *o = w->others;

    *ret_us = INT64_MAX;
    while (o != NULL && at->second < RATE_SECONDS && o->counts[at->second] == 0)
        at->second++;
    if (o == NULL || at->second == RATE_SECONDS)
        return 0;
    *ret_us = o->leaves_us + (int64_t)at->second * USEC_PER_SEC;
    return o->counts[at->second];
}

/* When more than `before` of those that are counted have left; INT64_MAX: there are fewer. */
static int64_t leaves_at(const struct rate_window *w, int64_t before) REQUIRES(w->lock)
{
    struct walk at = { .slot = w->oldest, .second = w->others == NULL ? 0 : w->others->first };

    for (;;) {
        int64_t own_us, others_us;
        const int64_t own = own_leaves(w, &at, &own_us);
        const int64_t others = others_leave(w, &at, &others_us);
        const bool is_own = own_us <= others_us;
        const int64_t n = is_own ? own : others;

        if (n > before || n == 0)
            return is_own ? own_us : others_us;
        before -= n;
        at.stamp += is_own ? 1 : 0;
        at.slot += is_own ? 1 : 0;
        at.second += is_own ? 0 : 1;
    }
}

/* Those counted here that have not left the window. */
static int64_t own_total(struct rate_window *w, int64_t now_us) REQUIRES(w->lock)
{
    if (w->counts != NULL) {
        advance_to_slot(w, now_us / SLOT_US);
        assert(w->total >= 0 && w->oldest <= w->slot && w->slot - w->oldest < SLOTS);
        return w->total;
    }
    if (w->n > 0)
        drop_left(w, now_us);
    return (int64_t)w->n;
}

static void count_one(struct rate_window *w, int64_t now_us) REQUIRES(w->lock)
{
    if (w->counts != NULL) {
        w->counts[w->slot % SLOTS]++;
        w->total++;
    } else {
        assert(w->n < w->room);
        w->n++;
        w->stamps[ring_index(w, w->n - 1)] = now_us;
    }
    w->unsaved++;
    w->share--;
}

struct rate_verdict rate_take(struct rate_window *w, int64_t limit, int64_t now_us)
{
    struct rate_verdict v = { .limit = limit < 1 ? 1 : limit };
    int64_t own, total, leaves_us, left;

    lock_acquire(&w->lock);
    choose_method(w, v.limit, now_us);
    w->limit = v.limit;
    own = own_total(w, now_us);
    total = own + others_total(w, now_us);
    if (now_us >= w->share_until_us)
        w->share = INT64_MAX;
    left = total < v.limit ? v.limit - total : 0;
    if (left == 0 && total > own)
        w->contended_until_us = now_us + window_us;
    v.allowed = left > 0 && w->share > 0;
    v.contended = now_us < w->contended_until_us;
    w->unsaved = w->unsaved < own ? w->unsaved : own;
    if (v.allowed) {
        count_one(w, now_us);
        total++;
        left--;
    }
    v.unsaved = w->unsaved;
    v.remaining = left < w->share ? left : w->share;
    /* if there are more than the limit, only the newest count */
    leaves_us = leaves_at(w, total > v.limit ? total - v.limit : 0);
    if (!v.allowed && left > 0)
        v.reset_s = 1; /* then there is another share */
    else if (leaves_us != INT64_MAX)
        v.reset_s = seconds_up(leaves_us - now_us);
    lock_release(&w->lock);
    assert(v.remaining >= 0 && v.remaining <= v.limit);
    return v;
}

void rate_clear_due(struct rate_window *w)
{
    atomic_store(&w->due, false);
}

int64_t rate_unsaved(struct rate_window *w)
{
    int64_t unsaved;

    lock_acquire(&w->lock);
    unsaved = w->unsaved;
    lock_release(&w->lock);
    return unsaved;
}

void rate_saved(struct rate_window *w, int64_t n)
{
    lock_acquire(&w->lock);
    w->unsaved -= n < w->unsaved ? n : w->unsaved;
    lock_release(&w->lock);
}

int64_t rate_first_second(int64_t wall_us)
{
    return wall_us / USEC_PER_SEC - RATE_WINDOW_S;
}

/* What this node may let through until it reads the counts of the others again: on the average a
 * quarter of its part of what is left. Where that is no whole number, nodes take turns. */
static int64_t share_of(const struct rate_window *w, int64_t left, int64_t second) REQUIRES(w->lock)
{
    const int64_t parts = SHARE_PARTS * (int64_t)(w->nodes + 1);
    const int64_t turn = (second + SHARE_PARTS * (int64_t)w->rank) % parts;

    return left <= 0 ? 0 : left / parts + (turn < left % parts ? 1 : 0);
}

void rate_set_others(struct rate_window *w, struct rate_moment now,
                     const struct rate_others *others)
{
    const int64_t first = rate_first_second(now.wall_us), second_us = first * USEC_PER_SEC;
    struct others *o = NEW(struct others), *before;
    bool is_contended;
    int64_t total;

    for (int i = 0; i < RATE_SECONDS; i++)
        o->total += o->counts[i] = others->counts[i];
    /* all of a second counts until the last of it has left */
    o->leaves_us = now.mono_us + second_us - now.wall_us + window_us + USEC_PER_SEC;
    lock_acquire(&w->lock);
    before = w->others;
    w->others = o;
    total = own_total(w, now.mono_us) + others_total(w, now.mono_us);
    if (others->nodes > 0 && total >= w->limit)
        w->contended_until_us = now.mono_us + window_us + USEC_PER_SEC;
    is_contended = now.mono_us < w->contended_until_us;
    /* what they let through leaves the window, and they remain */
    if (!is_contended || others->nodes > w->nodes) {
        w->nodes = others->nodes;
        w->rank = others->rank;
    }
    w->share = INT64_MAX;
    if (is_contended && w->nodes > 0) {
        w->share = share_of(w, w->limit - total, now.wall_us / USEC_PER_SEC);
        w->share_until_us = now.mono_us + SHARE_S * (int64_t)USEC_PER_SEC;
    }
    lock_release(&w->lock);
    free(before);
}
