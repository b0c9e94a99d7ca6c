/* rate.c - the sliding window, as a ring of timestamps or as counts of sub-windows, and beside it
 * what other nodes let through. */
#include "features/access/rate.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/lock.h"
#include "base/mem.h"

enum {
    SLOTS = 601,
    SLOT_US = 100000, /* 60 s of sub-windows, and the one that is leaving the window */

    SECONDS = 64, /* of other nodes' windows: 61 that have not left, and some for unequal clocks */
    AHEAD_S = 5,  /* how much clocks may differ */
};

static const int64_t window_us = (int64_t)RATE_WINDOW_S * USEC_PER_SEC;

/* What other nodes let through, by the second, and when the first of these leaves the window. */
struct others {
    int64_t leaves_us; /* monotonic */
    int64_t counts[SECONDS];
    size_t first; /* those before it have left */
    int64_t total;
};

struct rate_window {
    struct lock lock;
    atomic_uint holds;
    atomic_bool met;
    char name[BASE64URL_LEN + 1];

    /* exact: a ring of timestamps, the oldest at `first` */
    int64_t *stamps GUARDED_BY(lock);
    size_t room GUARDED_BY(lock), first GUARDED_BY(lock), n GUARDED_BY(lock);

    /* counted: SLOTS sub-windows, `slot` is the newest, and those before `oldest` are empty */
    int64_t *counts GUARDED_BY(lock);
    int64_t slot GUARDED_BY(lock), oldest GUARDED_BY(lock), total GUARDED_BY(lock);

    struct others *others GUARDED_BY(lock); /* NULL: none */
    int64_t untold GUARDED_BY(lock);        /* counted here since others were told */
    int64_t limit GUARDED_BY(lock);         /* when it was last asked */
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

bool rate_window_meet(struct rate_window *w)
{
    return !atomic_load_explicit(&w->met, memory_order_relaxed) && !atomic_exchange(&w->met, true);
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
    for (; o->first < SECONDS && o->leaves_us + (int64_t)o->first * USEC_PER_SEC <= now_us;
         o->first++)
        o->total -= o->counts[o->first];
    if (o->first < SECONDS)
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
    while (o != NULL && at->second < SECONDS && o->counts[at->second] == 0)
        at->second++;
    if (o == NULL || at->second == SECONDS)
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
    w->untold++;
}

static struct rate_verdict judge(struct rate_window *w, int64_t limit, int64_t now_us, bool counts)
{
    struct rate_verdict v = { .limit = limit < 1 ? 1 : limit };
    int64_t total, leaves_us;

    lock_acquire(&w->lock);
    choose_method(w, v.limit, now_us);
    w->limit = v.limit;
    total = own_total(w, now_us) + others_total(w, now_us);
    v.allowed = counts && total < v.limit;
    if (v.allowed) {
        count_one(w, now_us);
        total++;
    }
    v.untold = w->untold;
    v.remaining = total < v.limit ? v.limit - total : 0;
    /* if there are more than the limit, only the newest count */
    leaves_us = leaves_at(w, total > v.limit ? total - v.limit : 0);
    if (leaves_us != INT64_MAX)
        v.reset_s = seconds_up(leaves_us - now_us);
    lock_release(&w->lock);
    assert(v.remaining >= 0 && v.remaining <= v.limit);
    return v;
}

struct rate_verdict rate_take(struct rate_window *w, int64_t limit, int64_t now_us)
{
    return judge(w, limit, now_us, true);
}

struct rate_verdict rate_look(struct rate_window *w, int64_t limit, int64_t now_us)
{
    return judge(w, limit, now_us, false);
}

int64_t rate_excess(struct rate_window *w, int64_t limit, int64_t now_us)
{
    int64_t total;

    lock_acquire(&w->lock);
    total = own_total(w, now_us) + others_total(w, now_us);
    lock_release(&w->lock);
    return total > limit ? total - limit : 0;
}

void rate_give_back(struct rate_window *w)
{
    lock_acquire(&w->lock);
    if (w->counts != NULL) {
        int64_t slot = w->slot;

        while (slot > w->oldest && w->counts[slot % SLOTS] == 0)
            slot--;
        if (w->counts[slot % SLOTS] > 0) {
            w->counts[slot % SLOTS]--;
            w->total--;
        }
    } else if (w->n > 0) {
        w->n--;
    }
    w->untold -= w->untold > 0 ? 1 : 0;
    lock_release(&w->lock);
}

/* Adds those of one moment to the count of their second. */
static void add_second(int64_t counts[SECONDS], int64_t first, int64_t at_us, int64_t n)
{
    int64_t i = at_us / USEC_PER_SEC - first;

    counts[i < 0 ? 0 : i < SECONDS ? i : SECONDS - 1] += n;
}

/* The oldest second of which something may still be in the window. */
static int64_t first_second(int64_t wall_us)
{
    return wall_us / USEC_PER_SEC - RATE_WINDOW_S;
}

int64_t rate_tell(struct rate_window *w, struct rate_moment now, struct buf *ret)
{
    const int64_t first = first_second(now.wall_us), ahead_us = now.wall_us - now.mono_us;
    int64_t counts[SECONDS] = { 0 }, untold;
    int last = SECONDS - 1;

    lock_acquire(&w->lock);
    (void)own_total(w, now.mono_us);
    for (size_t i = 0; w->counts == NULL && i < w->n; i++)
        add_second(counts, first, stamp_at(w, i) + ahead_us, 1);
    for (int64_t slot = w->oldest; w->counts != NULL && slot <= w->slot; slot++)
        add_second(counts, first, slot * SLOT_US + ahead_us, w->counts[slot % SLOTS]);
    untold = w->untold;
    lock_release(&w->lock);
    while (last > 0 && counts[last] == 0)
        last--;
    buf_printf(ret, "%lld", (long long)first);
    for (int i = 0; i <= last; i++)
        buf_printf(ret, ",%lld", (long long)counts[i]);
    return untold;
}

void rate_told(struct rate_window *w, int64_t n)
{
    lock_acquire(&w->lock);
    w->untold -= n < w->untold ? n : w->untold;
    lock_release(&w->lock);
}

/* The next number of a text that rate_tell() wrote; false at its end, and for anything else. */
static bool next_number(struct str *text, int64_t *ret)
{
    struct str number = str_split(text, ',');

    return number.len > 0 && str_to_int(number, ret) && *ret >= 0;
}

int64_t rate_untold(struct rate_window *w, int64_t *ret_limit)
{
    int64_t untold;

    lock_acquire(&w->lock);
    untold = w->untold;
    *ret_limit = w->limit;
    lock_release(&w->lock);
    return untold;
}

/* Adds what a text says to the counts by the second. Seconds that are far ahead were counted before
 * the clock was set back: they would stay until it has caught up. */
static void read_counts(struct str text, int64_t first, int64_t counts[SECONDS])
{
    const int64_t last = first + RATE_WINDOW_S + AHEAD_S;
    int64_t second, n;

    if (!next_number(&text, &second))
        return;
    for (int i = 0; i < SECONDS && next_number(&text, &n); i++, second++)
        if (second >= first && second <= last && n > 0)
            add_second(counts, first, second * USEC_PER_SEC, n);
}

void rate_hear(struct rate_window *w, struct rate_moment now, const struct str *texts, size_t n)
{
    const int64_t first = first_second(now.wall_us);
    struct others *o = NULL, *before;

    for (size_t i = 0; i < n; i++) {
        if (o == NULL)
            o = NEW(struct others);
        read_counts(texts[i], first, o->counts);
    }
    for (int i = 0; o != NULL && i < SECONDS; i++)
        o->total += o->counts[i];
    if (o != NULL) /* all of a second counts until the last of it has left */
        o->leaves_us = now.mono_us + (first + 1 + RATE_WINDOW_S) * USEC_PER_SEC - now.wall_us;
    lock_acquire(&w->lock);
    before = w->others;
    w->others = o;
    lock_release(&w->lock);
    free(before);
}
