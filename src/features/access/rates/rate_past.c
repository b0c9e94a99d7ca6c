/* rate_past.c - a map from names of windows to what was stored for them. */
#include "features/access/rates/rate_past.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "features/access/rates/rate_store.h"

enum { KEPT_S = RATE_WINDOW_S + 2, NODES_MAX = 64 };

/* What a process let through in a window, and others in the same one. */
struct past_text {
    struct past_text *next;
    struct str text;
};

struct rate_past {
    atomic_bool over;
    int64_t until_us; /* monotonic */
    struct lock lock;
    struct arena arena GUARDED_BY(lock);
    struct map windows GUARDED_BY(lock); /* name -> struct past_text, the first */
};

struct rate_past *rate_past_new(void)
{
    struct rate_past *p = NEW(struct rate_past);

    atomic_init(&p->over, true);
    lock_init(&p->lock);
    arena_init(&p->arena);
    map_init(&p->windows);
    return p;
}

void rate_past_free(struct rate_past *p)
{
    if (p == NULL)
        return;
    lock_unshared(&p->lock);
    map_done(&p->windows);
    arena_done(&p->arena);
    lock_done(&p->lock);
    free(p);
}

static void add_row(void *ctx, const struct rate_row *row)
{
    struct rate_past *p = ctx;
    struct past_text *first, *text;

    lock_acquire(&p->lock);
    text = ARENA_NEW(&p->arena, struct past_text);
    text->text = arena_copy(&p->arena, row->counts);
    first = map_get(&p->windows, row->name);
    if (first == NULL) {
        map_put(&p->windows, arena_copy(&p->arena, row->name), text);
    } else {
        text->next = first->next;
        first->next = text;
    }
    lock_release(&p->lock);
}

int rate_past_load(struct rate_past *p, struct db *db, struct error *err)
{
    const int64_t kept_us = (int64_t)KEPT_S * USEC_PER_SEC;

    if (store_rates_recent(db, clock_wall_us() - kept_us, &(struct rate_reader){ add_row, p },
                           err) != 0)
        return -1;
    assert(atomic_load(&p->over)); /* loaded once */
    p->until_us = clock_mono_us() + kept_us;
    atomic_store(&p->over, false);
    return 0;
}

void rate_past_meet(struct rate_past *p, struct rate_window *w, struct rate_moment now)
{
    struct str texts[NODES_MAX];
    size_t n = 0;

    if (atomic_load_explicit(&p->over, memory_order_acquire) || !rate_window_meet(w))
        return;
    lock_acquire(&p->lock);
    for (const struct past_text *text = map_get(&p->windows, rate_window_name(w));
         text != NULL && n < NODES_MAX; text = text->next)
        texts[n++] = text->text;
    if (n > 0)
        rate_hear(w, now, texts, n);
    lock_release(&p->lock);
}

void rate_past_forget(struct rate_past *p, int64_t mono_us)
{
    if (atomic_load(&p->over) || mono_us < p->until_us)
        return;
    atomic_store(&p->over, true);
    lock_acquire(&p->lock);
    map_done(&p->windows);
    map_init(&p->windows);
    arena_done(&p->arena);
    arena_init(&p->arena);
    lock_release(&p->lock);
}
