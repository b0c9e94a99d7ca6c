/* rate_share.c - which windows are due, the jobs that store them and hear of others, and who waits.
 */
#include "features/access/rates/rate_share.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/budget.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "db/db.h"
#include "engine/sync_job.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/access/rates/rate_due.h"
#include "features/access/rates/rate_past.h"
#include "features/access/rates/rate_store.h"

enum {
    PART = 10,  /* of the limit: what all processes may let through before they ask */
    STEP = 256, /* windows per transaction */
    NODE_CHARS = 16,
    NODES_MAX = 64,    /* that are heard of one window */
    SEEN_PERIOD_S = 2, /* how often a process says that it runs */
    SEEN_MAX_S = 10,   /* without it for longer, it does not count */
    PRUNE_PERIOD_S = 600,
    COUNTS_MAX = 2048, /* bytes of a window as text */
    SOON_US = 100000,  /* who asked so little after the first of a batch has as little time */
};

/* The transaction that stores some. */
struct batch {
    struct writer_job job;
    struct rate_share *share;
    struct rate_due *first;
    size_t n;
};

struct presence {
    struct writer_job job;
    struct rate_share *share;
    bool prunes, leaves;
    int64_t nodes;
};

struct rate_share {
    bool shared;
    struct writer *writer; /* NULL: not started */
    char node[NODE_CHARS + 1];
    struct budget budget; /* jobs wait for their turn, and no longer than a tenant's */
    struct rate_past *past;
    _Atomic int64_t nodes;
    atomic_bool telling;        /* a presence is under way */
    int64_t seen_us, pruned_us; /* monotonic; only the tick's */

    struct lock lock;
    struct map due GUARDED_BY(lock); /* name -> struct rate_due */
    struct rate_due *first GUARDED_BY(lock), **last GUARDED_BY(lock);
    bool busy GUARDED_BY(lock);     /* a batch is under way */
    bool stopping GUARDED_BY(lock); /* batches are only submitted by rate_share_stop() */
};

struct rate_share *rate_share_new(struct budgets *budgets, bool shared)
{
    struct rate_share *s = NEW(struct rate_share);

    s->shared = shared;
    digest_random_base62(s->node, NODE_CHARS);
    budget_init(&s->budget, &budgets->tenant_level, &budgets->service);
    s->past = rate_past_new();
    atomic_init(&s->nodes, 1);
    s->seen_us = INT64_MIN / 2;
    s->pruned_us = clock_mono_us();
    lock_init(&s->lock);
    map_init(&s->due);
    s->last = &s->first;
    return s;
}

void rate_share_free(struct rate_share *s)
{
    if (s == NULL)
        return;
    lock_unshared(&s->lock);
    for (struct rate_due *due = s->first, *next; due != NULL; due = next) {
        next = due->next;
        rate_due_free(due);
    }
    map_done(&s->due);
    rate_past_free(s->past);
    lock_done(&s->lock);
    free(s);
}

int rate_share_load(struct rate_share *s, struct db *db, struct error *err)
{
    return rate_past_load(s->past, db, err);
}

int64_t rate_share_nodes(const struct rate_share *s)
{
    return atomic_load_explicit(&s->nodes, memory_order_relaxed);
}

static struct rate_moment moment_now(void)
{
    return (struct rate_moment){ .mono_us = clock_mono_us(), .wall_us = clock_wall_us() };
}

/* Saved before this, all of it has left the window. */
static int64_t left_before(struct rate_moment now)
{
    return now.wall_us - (int64_t)(RATE_WINDOW_S + 2) * USEC_PER_SEC;
}

/* A batch, while rows are read. */
struct hearing {
    const struct rate_share *share;
    struct rate_moment now;
    struct arena arena;
    struct map windows; /* name -> struct heard */
};

struct heard {
    struct str texts[NODES_MAX];
    size_t n;
};

static void hear_row(void *ctx, const struct rate_row *row)
{
    struct hearing *h = ctx;
    struct heard *heard = map_get(&h->windows, row->name);

    if (str_eq(row->node, str_of(h->share->node)))
        return;
    if (heard == NULL) {
        heard = ARENA_NEW(&h->arena, struct heard);
        map_put(&h->windows, arena_copy(&h->arena, row->name), heard);
    }
    if (heard->n < COUNT_OF(heard->texts))
        heard->texts[heard->n++] = arena_copy(&h->arena, row->counts);
}

static int hear_others(struct batch *batch, const struct rate_row *rows, struct hearing *h,
                       struct db *db, struct error *err)
{
    const struct rate_reader reader = { hear_row, h };
    static const struct heard none;

    if (store_rates_lock(db, rows, batch->n, left_before(h->now), &reader, err) != 0)
        return -1;
    for (struct rate_due *due = batch->first; due != NULL; due = due->next) {
        const struct heard *heard = map_get(&h->windows, rate_window_name(due->window));

        if (heard == NULL)
            heard = &none;
        rate_hear(due->window, h->now, heard->texts, heard->n);
        rate_due_deny_excess(due, h->now.mono_us);
    }
    return 0;
}

static int batch_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct batch *batch = CONTAINER_OF(job, struct batch, job);
    struct hearing h = { .share = batch->share, .now = moment_now() };
    struct rate_row rows[STEP];
    size_t n = 0;
    int r = 0;

    arena_init(&h.arena);
    map_init(&h.windows);
    for (struct rate_due *due = batch->first; due != NULL; due = due->next)
        rows[n++] = (struct rate_row){ .name = rate_window_name(due->window),
                                       .node = str_of(batch->share->node) };
    assert(n == batch->n && n <= STEP);
    if (batch->share->shared)
        r = hear_others(batch, rows, &h, txn->db, err);
    n = 0;
    for (struct rate_due *due = batch->first; due != NULL && r == 0; due = due->next) {
        struct buf text;

        buf_init(&text, COUNTS_MAX);
        due->told = rate_tell(due->window, h.now, &text);
        rows[n++].counts = buf_take(&text, &h.arena);
    }
    if (r == 0)
        r = store_rates_save(txn->db, rows, n, h.now.wall_us, err);
    map_done(&h.windows);
    arena_done(&h.arena);
    return r;
}

/* As the last of those that are due. */
static void link_due(struct rate_share *s, struct rate_due *due) REQUIRES(s->lock)
{
    due->next = NULL;
    *s->last = due;
    s->last = &due->next;
    map_put(&s->due, rate_window_name(due->window), due);
}

/* Puts those who wait for a window before those who came since. False: it is too late for that. */
static bool wait_again(struct rate_share *s, struct rate_due *due)
{
    struct rate_due *since;

    lock_acquire(&s->lock);
    if (s->stopping) {
        lock_release(&s->lock);
        return false;
    }
    since = map_get(&s->due, rate_window_name(due->window));
    if (since == NULL) {
        link_due(s, due);
    } else {
        rate_due_prepend(since, due);
        rate_due_free(due);
    }
    lock_release(&s->lock);
    return true;
}

/* If the database does not answer in time, those who wait are not answered either, except who asked
 * after `over_us`, and so has time for another batch. If it is away they go on, and this process
 * keeps the limit alone. */
static void finish_due(struct rate_share *s, struct rate_due *due, const struct error *err,
                       int64_t over_us)
{
    const bool late = err != NULL && err->code == ERR_BUSY;

    if (err == NULL)
        rate_told(due->window, due->told);
    rate_due_finish(due, late ? over_us : INT64_MAX, late ? err : NULL);
    if (due->first != NULL && wait_again(s, due))
        return;
    rate_due_finish(due, INT64_MAX, err);
    rate_due_free(due);
}

/* `may_wait`: the writer had it, and its time is that of who asked first. */
static void finish_batch(struct batch *batch, const struct error *err, bool may_wait)
{
    const int64_t over_us = may_wait ? batch->job.asked_us + SOON_US : INT64_MAX;

    while (batch->first != NULL) {
        struct rate_due *due = batch->first;

        batch->first = due->next;
        finish_due(batch->share, due, err, over_us);
    }
    free(batch);
}

static void batch_done(struct writer_job *job, const struct error *err);

/* The next windows that are due; NULL: none. */
static struct batch *take_batch(struct rate_share *s) REQUIRES(s->lock)
{
    int64_t asked_us = 0; /* by the first who waits, perhaps while another batch was stored */
    struct batch *batch;

    if (s->first == NULL)
        return NULL;
    batch = NEW(struct batch);
    batch->share = s;
    batch->first = s->first;
    for (struct rate_due **at = &batch->first; *at != NULL; at = &(*at)->next) {
        for (const struct rate_waiter *w = (*at)->first; w != NULL; w = w->next)
            if (asked_us == 0 || w->asked_us < asked_us)
                asked_us = w->asked_us;
        (void)map_remove(&s->due, rate_window_name((*at)->window));
        if (++batch->n == STEP) {
            s->first = (*at)->next;
            (*at)->next = NULL;
            break;
        }
        s->first = NULL;
    }
    if (s->first == NULL)
        s->last = &s->first;
    /* alone in its transaction where others wait for its locks */
    batch->job = (struct writer_job){ .apply = batch_apply,
                                      .done = batch_done,
                                      .asked_us = asked_us,
                                      .budget = &s->budget,
                                      .events = 1,
                                      .exclusive = s->shared,
                                      .keeps_caches = s->shared,
                                      .unbounded = true,
                                      .dispensable = true };
    return batch;
}

/* Submits the next batch unless one is under way. */
static void go_on(struct rate_share *s, bool was_busy)
{
    struct batch *batch = NULL;
    struct error err = { 0 };

    for (;;) {
        lock_acquire(&s->lock);
        if (was_busy || !s->busy) {
            batch = s->stopping ? NULL : take_batch(s);
            s->busy = batch != NULL;
        }
        lock_release(&s->lock);
        if (batch == NULL || writer_submit(s->writer, &batch->job, &err) == 0)
            return;
        finish_batch(batch, &err, false);
        batch = NULL;
        was_busy = true;
    }
}

static void batch_done(struct writer_job *job, const struct error *err)
{
    struct batch *batch = CONTAINER_OF(job, struct batch, job);
    struct rate_share *s = batch->share;

    finish_batch(batch, err, true);
    go_on(s, true);
}

/* False when it is too late to store anything. */
static bool add_due(struct rate_share *s, struct rate_window *w, int64_t limit,
                    struct rate_waiter *waiter)
{
    struct rate_due *due;

    lock_acquire(&s->lock);
    if (s->stopping) {
        lock_release(&s->lock);
        return false;
    }
    due = map_get(&s->due, rate_window_name(w));
    if (due == NULL) {
        due = rate_due_new(w);
        link_due(s, due);
    }
    due->limit = limit;
    if (waiter != NULL)
        rate_due_add(due, waiter);
    lock_release(&s->lock);
    return true;
}

struct rate_verdict rate_share_take(struct rate_share *s, struct rate_window *w, int64_t limit,
                                    bool *ret_waits)
{
    const int64_t nodes = rate_share_nodes(s), part = limit / (PART * nodes);
    struct rate_verdict v;

    rate_past_meet(s->past, w, moment_now());
    v = rate_take(w, limit, clock_mono_us());
    *ret_waits = v.allowed && nodes > 1 && v.untold > part;
    if (v.allowed && !*ret_waits && v.untold > part / 2 && s->writer != NULL &&
        add_due(s, w, limit, NULL))
        go_on(s, false);
    return v;
}

void rate_share_wait(struct rate_share *s, struct rate_window *w, int64_t limit,
                     struct rate_waiter *waiter)
{
    if (add_due(s, w, limit, waiter))
        go_on(s, false);
    else
        waiter->done(waiter, NULL);
}

static int store_presence(void *ctx, struct db *db, struct error *err)
{
    struct presence *p = ctx;
    const struct rate_moment now = moment_now();
    const struct str node = str_of(p->share->node);

    if (p->prunes && store_rates_prune(db, left_before(now), err) != 0)
        return -1;
    if (p->leaves)
        return store_node_gone(db, node, err);
    if (!p->share->shared)
        return 0;
    return store_node_seen(db, node, now.wall_us, now.wall_us - (int64_t)SEEN_MAX_S * USEC_PER_SEC,
                           &p->nodes, err);
}

static int presence_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    return store_presence(CONTAINER_OF(job, struct presence, job), txn->db, err);
}

int rate_share_start(struct rate_share *s, struct writer *writer, struct error *err)
{
    struct presence presence = { .share = s, .prunes = true };

    s->writer = writer;
    if (writer_run_sync(writer, store_presence, &presence, err) != 0)
        return -1;
    if (presence.nodes > 0)
        atomic_store(&s->nodes, presence.nodes);
    return 0;
}

static void presence_done(struct writer_job *job, const struct error *err)
{
    struct presence *p = CONTAINER_OF(job, struct presence, job);

    if (err == NULL && p->nodes > 0)
        atomic_store_explicit(&p->share->nodes, p->nodes, memory_order_relaxed);
    atomic_store(&p->share->telling, false);
    free(p);
}

static void tell_presence(struct rate_share *s, bool prunes, bool leaves)
{
    struct presence *p = NEW(struct presence);

    p->share = s;
    p->prunes = prunes;
    p->leaves = leaves;
    p->job = (struct writer_job){ .apply = presence_apply,
                                  .done = presence_done,
                                  .budget = &s->budget,
                                  .events = 1,
                                  .exclusive = s->shared,
                                  .keeps_caches = s->shared,
                                  .unbounded = true };
    atomic_store(&s->telling, true);
    if (writer_submit(s->writer, &p->job, NULL) != 0)
        presence_done(&p->job, &(struct error){ .code = ERR_BUSY });
}

void rate_share_tick(struct rate_share *s, int64_t mono_us)
{
    const bool prunes = mono_us - s->pruned_us >= (int64_t)PRUNE_PERIOD_S * USEC_PER_SEC;

    rate_past_forget(s->past, mono_us);
    if (atomic_load(&s->telling))
        return;
    if (prunes || (s->shared && mono_us - s->seen_us >= (int64_t)SEEN_PERIOD_S * USEC_PER_SEC)) {
        s->seen_us = mono_us;
        s->pruned_us = prunes ? mono_us : s->pruned_us;
        tell_presence(s, prunes, false);
    }
}

void rate_share_keep(struct rate_share *s, struct rate_window *w)
{
    int64_t limit;
    const int64_t untold = rate_untold(w, &limit);

    if (untold > 0 && untold >= limit / PART / 2)
        (void)add_due(s, w, limit, NULL);
}

void rate_share_stop(struct rate_share *s)
{
    struct batch *batch;

    if (s->writer == NULL)
        return;
    for (;;) {
        lock_acquire(&s->lock);
        s->stopping = true;
        batch = take_batch(s);
        lock_release(&s->lock);
        if (batch == NULL)
            break;
        if (writer_submit(s->writer, &batch->job, NULL) != 0)
            finish_batch(batch, &(struct error){ .code = ERR_UNAVAILABLE }, false);
    }
    if (s->shared)
        tell_presence(s, false, true);
}
