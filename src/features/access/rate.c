/* rate.c - the sliding window as a ring of timestamps, and what other nodes let through. */
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
    ROOM_LEAST = 16,     /* timestamps */
    ROOM_KEPT = 1 << 12, /* of a window that is empty */

    SHARE_S = 3,     /* how long a share is valid while the database does not answer */
    SHARE_PARTS = 4, /* per second a node gets 1/4 of its fair share: it reads other nodes' counts
                        with a delay */
};

static const int64_t window_us = (int64_t)RATE_WINDOW_S * USEC_PER_SEC;

/* Requests that other nodes allowed, per second, and when the first second leaves the window. */
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

    /* a ring of timestamps, the oldest at `first` */
    int64_t *stamps GUARDED_BY(lock);
    size_t room GUARDED_BY(lock), first GUARDED_BY(lock), n GUARDED_BY(lock);

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

/* Those counted here that have not left the window. */
static int64_t own_total(struct rate_window *w, int64_t now_us) REQUIRES(w->lock)
{
    while (w->n > 0 && stamp_at(w, 0) <= now_us - window_us) {
        w->first = ring_index(w, 1);
        w->n--;
    }
    if (w->n == 0 && w->room > ROOM_KEPT) {
        free(w->stamps);
        w->stamps = NULL;
        w->room = w->first = 0;
    }
    return (int64_t)w->n;
}

static void count_one(struct rate_window *w, int64_t now_us) REQUIRES(w->lock)
{
    if (w->n == w->room) {
        const size_t room = w->room == 0 ? ROOM_LEAST : 2 * w->room;
        int64_t *stamps = mem_new(room * sizeof(*stamps));

        for (size_t i = 0; i < w->n; i++)
            stamps[i] = stamp_at(w, i);
        free(w->stamps);
        w->stamps = stamps;
        w->room = room;
        w->first = 0;
    }
    w->n++;
    w->stamps[ring_index(w, w->n - 1)] = now_us;
    w->unsaved++;
    w->share--;
}

static int64_t seconds_up(int64_t us)
{
    return us <= 0 ? 0 : (us + USEC_PER_SEC - 1) / USEC_PER_SEC;
}

/* How many requests within the window other nodes allowed. */
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

/* How many timestamps are not after this one. A window has up to a million, and each refused
 * request asks: they are not walked. */
static size_t stamps_until(const struct rate_window *w, int64_t us) REQUIRES(w->lock)
{
    size_t low = 0, high = w->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (stamp_at(w, middle) <= us)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The time at which more than `before` of the counted requests, of this node and the others, will
 * have left the window; INT64_MAX if there are not that many. */
static int64_t leaves_at(const struct rate_window *w, int64_t before) REQUIRES(w->lock)
{
    const struct others *o = w->others;
    int64_t own = 0; /* number of timestamps here that leave no later than the second */

    for (size_t second = o == NULL ? RATE_SECONDS : o->first; second < RATE_SECONDS; second++) {
        const int64_t others_us = o->leaves_us + (int64_t)second * USEC_PER_SEC;
        const int64_t more = (int64_t)stamps_until(w, others_us - window_us) - own;

        if (before < more)
            break;
        before -= more;
        own += more;
        if (before < o->counts[second])
            return others_us;
        before -= o->counts[second];
    }
    return own + before < (int64_t)w->n ? stamp_at(w, (size_t)(own + before)) + window_us
                                        : INT64_MAX;
}

struct rate_verdict rate_take(struct rate_window *w, int64_t limit, int64_t now_us)
{
    struct rate_verdict v = { .limit = limit < 1 ? 1 : limit };
    int64_t own, total, leaves_us, left;

    lock_acquire(&w->lock);
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

int64_t rate_begin_saving(struct rate_window *w)
{
    int64_t unsaved;

    atomic_store(&w->due, false);
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

/* How many requests this node may allow until it next reads the counts of other nodes: on average
 * 1/SHARE_PARTS of its fair share of what is left. Where that is not a whole number, nodes take
 * turns. */
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
    /* a second counts in full until its end has left the window */
    o->leaves_us = now.mono_us + second_us - now.wall_us + window_us + USEC_PER_SEC;
    lock_acquire(&w->lock);
    before = w->others;
    w->others = o;
    total = own_total(w, now.mono_us) + others_total(w, now.mono_us);
    if (others->nodes > 0 && total >= w->limit)
        w->contended_until_us = now.mono_us + window_us + USEC_PER_SEC;
    is_contended = now.mono_us < w->contended_until_us;
    /* while contended, a node whose counts have left the window keeps its share */
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
