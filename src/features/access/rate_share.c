/* rate_share.c - the job that stores counts each second and reads those of other nodes, and its
 * SQL. */
#include "features/access/rate.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/budget.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "db/db.h"
#include "db/lists.h"
#include "engine/txn.h"
#include "engine/writer.h"

enum {
    UNSAVED_PARTS =
        20,      /* all nodes together allow at most 1/20 of the limit before they store it */
    STEP = 4096, /* windows in a transaction, of which there is one a second */
    NODE_CHARS = 16,
    AHEAD_S = 5,       /* how much the clocks of nodes may differ */
    SEEN_PERIOD_S = 2, /* how often a node stores a heartbeat */
    SEEN_MAX_S = 10,   /* a node without a heartbeat for longer does not count */
    PRUNE_PERIOD_S = 60,
};

/* A window to store. */
struct due {
    struct rate_window *window; /* held */
    int64_t n;                  /* how many were stored */
};

/* One transaction. */
struct exchange {
    struct writer_job job;
    struct rate_share *share;
    bool seen, leaves, prunes;
    int64_t nodes;
    size_t n;
    struct due due[STEP];
};

struct rate_share {
    bool shared;
    struct writer *writer; /* NULL: not started */
    char node[NODE_CHARS + 1];
    struct budget budget; /* its jobs take turns with those of tenants */
    struct arena arena;
    struct map past; /* name -> struct rate_others, before the start; constant after the load */
    struct rate_moment past_read;
    _Atomic int64_t nodes;
    atomic_bool busy;           /* an exchange is under way */
    int64_t seen_us, pruned_us; /* monotonic; only the tick's */

    struct lock lock;
    struct due *due GUARDED_BY(lock);
    size_t n_due GUARDED_BY(lock), due_room GUARDED_BY(lock);
};

/* clang-format off */
DB_QUERY(select_recent,
    "SELECT name, at, CAST(SUM(n) AS BIGINT) FROM rate_windows WHERE at >= $1 AND at < $2"
    " GROUP BY name, at");
static const struct db_query select_others = {
    .postgres = "SELECT name, node, at, n FROM rate_windows WHERE name = ANY ($1::text[])"
                " AND node <> $2 AND at >= $3 AND at < $4 ORDER BY name, node",
};
#define ADD "INSERT INTO rate_windows (name, node, at, n) "
#define ADDED " ON CONFLICT (name, node, at) DO UPDATE SET n = rate_windows.n + excluded.n"
static const struct db_query add_count = {
    .sqlite = ADD "VALUES ($1, $2, $3, $4)" ADDED,
};
static const struct db_query add_counts = {
    .postgres = ADD "SELECT name, $3, CAST($4 AS BIGINT), n"
                " FROM unnest($1::text[], $2::bigint[]) AS x(name, n) ORDER BY name" ADDED,
};
DB_QUERY(prune_windows, "DELETE FROM rate_windows WHERE at < $1 OR at > $2");
DB_QUERY(prune_nodes, "DELETE FROM nodes WHERE seen_at < $1");
DB_QUERY(save_node,
    "INSERT INTO nodes (node, seen_at) VALUES ($1, $2)"
    " ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at");
DB_QUERY(delete_node, "DELETE FROM nodes WHERE node = $1");
/* a time far in the future was stored before the clock was set back */
DB_QUERY(count_nodes, "SELECT COUNT(*) FROM nodes WHERE seen_at > $1 AND seen_at < $2");
/* clang-format on */

struct rate_share *rate_share_new(struct budgets *budgets, bool shared)
{
    struct rate_share *s = NEW(struct rate_share);

    s->shared = shared;
    digest_random_base62(s->node, NODE_CHARS);
    budget_init(&s->budget, &budgets->tenant_level, &budgets->service);
    arena_init(&s->arena);
    map_init(&s->past);
    atomic_init(&s->nodes, 1);
    s->seen_us = INT64_MIN / 2;
    s->pruned_us = clock_mono_us();
    lock_init(&s->lock);
    return s;
}

void rate_share_free(struct rate_share *s)
{
    if (s == NULL)
        return;
    lock_unshared(&s->lock);
    for (size_t i = 0; i < s->n_due; i++)
        rate_window_free(s->due[i].window);
    free(s->due);
    map_done(&s->past);
    arena_done(&s->arena);
    lock_done(&s->lock);
    free(s);
}

int64_t rate_share_nodes(const struct rate_share *s)
{
    return atomic_load_explicit(&s->nodes, memory_order_relaxed);
}

static struct rate_moment moment_now(void)
{
    return (struct rate_moment){ .mono_us = clock_mono_us(), .wall_us = clock_wall_us() };
}

/* Later seconds are ignored: they were counted before the clock was set back. */
static int64_t end_second(int64_t first)
{
    return first + RATE_WINDOW_S + AHEAD_S;
}

/* Adds `n` requests, `second` seconds after the first second, to the window with this name.
 */
static struct rate_others *add_others(struct map *all, struct arena *arena, struct str name,
                                      int64_t second, int64_t n)
{
    struct rate_others *others = map_get(all, name);

    if (others == NULL) {
        others = ARENA_NEW(arena, struct rate_others);
        map_put(all, arena_copy(arena, name), others);
    }
    others->counts[second < RATE_SECONDS ? second : RATE_SECONDS - 1] += n;
    return others;
}

static bool read_past(void *ctx, const struct db_row *row)
{
    struct rate_share *s = ctx;
    const int64_t first = rate_first_second(s->past_read.wall_us);

    (void)add_others(&s->past, &s->arena, db_get_text(row, 0), db_get_int(row, 1) - first,
                     db_get_int(row, 2));
    return true;
}

int rate_share_load(struct rate_share *s, struct db *db, struct error *err)
{
    int64_t first;

    s->past_read = moment_now();
    first = rate_first_second(s->past_read.wall_us);
    return db_exec(db, &select_recent, DB_ARGS(db_int(first), db_int(end_second(first))), read_past,
                   s, err);
}

static int add_many(struct exchange *x, int64_t second, struct db *db, struct error *err)
{
    struct db_value arrays[2];
    ARENA_SCOPED(arena);
    PG_ARRAYS_SCOPED(columns, COUNT_OF(arrays), &arena);

    for (size_t i = 0; i < x->n; i++)
        if (x->due[i].n > 0)
            pg_arrays_add(&columns,
                          (struct db_value[]){ db_text(rate_window_name(x->due[i].window)),
                                               db_int(x->due[i].n) });
    if (columns.n_rows == 0)
        return 0;
    pg_arrays_args(&columns, arrays);
    return db_run(db, &add_counts,
                  DB_ARGS(arrays[0], arrays[1], db_text(str_of(x->share->node)), db_int(second)),
                  err);
}

static int add_each(struct exchange *x, int64_t second, struct db *db, struct error *err)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->due[i].n > 0 &&
            db_run(db, &add_count,
                   DB_ARGS(db_text(rate_window_name(x->due[i].window)),
                           db_text(str_of(x->share->node)), db_int(second), db_int(x->due[i].n)),
                   err) != 0)
            return -1;
    return 0;
}

/* What the other nodes let through, while the rows are read: ordered by window and node. */
struct reading {
    struct str node; /* this one */
    int64_t first;
    struct arena arena;
    struct map others; /* name -> struct rate_others */
    struct rate_others *last;
    struct str last_node;
};

static bool read_other(void *ctx, const struct db_row *row)
{
    struct reading *r = ctx;
    const struct str node = db_get_text(row, 1);
    struct rate_others *others = add_others(&r->others, &r->arena, db_get_text(row, 0),
                                            db_get_int(row, 2) - r->first, db_get_int(row, 3));

    if (others != r->last || !str_eq(node, r->last_node)) {
        others->nodes++;
        others->rank += str_cmp(node, r->node) < 0 ? 1 : 0;
        r->last = others;
        r->last_node = arena_copy(&r->arena, node);
    }
    return true;
}

static int read_others(struct exchange *x, struct rate_moment now, struct reading *reading,
                       struct db *db, struct error *err)
{
    static const struct rate_others none;
    struct db_value array;
    PG_ARRAYS_SCOPED(names, 1, &reading->arena);

    for (size_t i = 0; i < x->n; i++) {
        const struct db_value name = db_text(rate_window_name(x->due[i].window));

        pg_arrays_add(&names, &name);
    }
    pg_arrays_args(&names, &array);
    if (db_exec(db, &select_others,
                DB_ARGS(array, db_text(reading->node), db_int(reading->first),
                        db_int(end_second(reading->first))),
                read_other, reading, err) != 0)
        return -1;
    for (size_t i = 0; i < x->n; i++) {
        struct rate_others *others = map_get(&reading->others, rate_window_name(x->due[i].window));

        if (others != NULL && rate_share_nodes(x->share) == 1)
            others->nodes = 0; /* they have ended */
        rate_set_others(x->due[i].window, now, others == NULL ? &none : others);
    }
    return 0;
}

static int apply_windows(struct exchange *x, struct rate_moment now, struct db *db,
                         struct error *err)
{
    const int64_t second = now.wall_us / USEC_PER_SEC;
    struct reading reading = { .node = str_of(x->share->node),
                               .first = rate_first_second(now.wall_us) };
    int r;

    if (!x->share->shared)
        return add_each(x, second, db, err);
    if (add_many(x, second, db, err) != 0)
        return -1;
    arena_init(&reading.arena);
    map_init(&reading.others);
    r = read_others(x, now, &reading, db, err);
    map_done(&reading.others);
    arena_done(&reading.arena);
    return r;
}

static int see_nodes(struct exchange *x, int64_t now, struct db *db, struct error *err)
{
    const int64_t max_us = SEEN_MAX_S * (int64_t)USEC_PER_SEC;

    if (db_run(db, &save_node, DB_ARGS(db_text(str_of(x->share->node)), db_int(now)), err) != 0)
        return -1;
    return db_exec(db, &count_nodes, DB_ARGS(db_int(now - max_us), db_int(now + max_us)),
                   db_read_int, &x->nodes, err);
}

static int exchange_run(void *ctx, struct db *db, struct error *err)
{
    struct exchange *x = ctx;
    const struct rate_moment now = moment_now();
    const int64_t first = rate_first_second(now.wall_us);

    if (x->n > 0 && apply_windows(x, now, db, err) != 0)
        return -1;
    if (x->prunes &&
        (db_run(db, &prune_windows, DB_ARGS(db_int(first), db_int(end_second(first))), err) != 0 ||
         db_run(db, &prune_nodes, DB_ARGS(db_int(first * USEC_PER_SEC)), err) != 0))
        return -1;
    if (x->leaves)
        return db_run(db, &delete_node, DB_ARGS(db_text(str_of(x->share->node))), err);
    return x->seen ? see_nodes(x, now.wall_us, db, err) : 0;
}

static int exchange_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    return exchange_run(CONTAINER_OF(job, struct exchange, job), txn->db, err);
}

/* The writer's thread, or the caller's. */
static void exchange_done(struct writer_job *job, const struct error *err)
{
    struct exchange *x = CONTAINER_OF(job, struct exchange, job);

    for (size_t i = 0; i < x->n; i++) {
        if (err == NULL)
            rate_saved(x->due[i].window, x->due[i].n);
        rate_window_free(x->due[i].window);
    }
    if (err == NULL && x->nodes > 0)
        atomic_store_explicit(&x->share->nodes, x->nodes, memory_order_relaxed);
    atomic_store(&x->share->busy, false);
    free(x);
}

/* The windows that have been due for longest. */
static struct exchange *exchange_new(struct rate_share *s)
{
    struct exchange *x = NEW(struct exchange);

    x->share = s;
    lock_acquire(&s->lock);
    x->n = s->n_due < STEP ? s->n_due : STEP;
    s->n_due -= x->n;
    if (x->n > 0) {
        memcpy(x->due, s->due, x->n * sizeof(*s->due));
        memmove(s->due, s->due + x->n, s->n_due * sizeof(*s->due));
    }
    lock_release(&s->lock);
    /* now and not when they are stored: if that fails, the next request makes them due again */
    for (size_t i = 0; i < x->n; i++)
        x->due[i].n = rate_begin_saving(x->due[i].window);
    return x;
}

/* Alone in its transaction: its tables are not logged, so that its commit waits for no disk. */
static void exchange_submit(struct exchange *x)
{
    x->job = (struct writer_job){ .apply = exchange_apply,
                                  .done = exchange_done,
                                  .budget = &x->share->budget,
                                  .events = 1,
                                  .exclusive = x->share->shared,
                                  .keeps_caches = x->share->shared,
                                  .unbounded = true };
    if (writer_submit(x->share->writer, &x->job, NULL) != 0)
        exchange_done(&x->job, &(struct error){ .code = ERR_BUSY });
}

int rate_share_start(struct rate_share *s, struct writer *writer, struct error *err)
{
    struct exchange *x = NEW(struct exchange);
    int r;

    x->share = s;
    x->seen = s->shared;
    x->prunes = true;
    s->writer = writer;
    r = writer_run_and_wait(writer, exchange_run, x, err);
    if (r == 0 && x->nodes > 0)
        atomic_store(&s->nodes, x->nodes);
    free(x);
    return r;
}

static void add_due(struct rate_share *s, struct rate_window *w)
{
    lock_acquire(&s->lock);
    s->due = mem_grow(s->due, s->n_due, &s->due_room, sizeof(*s->due));
    s->due[s->n_due++] = (struct due){ .window = rate_window_hold(w) };
    lock_release(&s->lock);
}

struct rate_verdict rate_share_take(struct rate_share *s, struct rate_window *w, int64_t limit)
{
    const int64_t now_us = clock_mono_us(), part = limit / (UNSAVED_PARTS * rate_share_nodes(s));
    struct rate_verdict v;

    if (s->past.n > 0 && rate_is_new(w)) {
        const struct rate_others *past = map_get(&s->past, rate_window_name(w));

        if (past != NULL)
            rate_set_others(w, s->past_read, past);
    }
    v = rate_take(w, limit, now_us);
    if (((s->shared && v.contended) || v.unsaved > part) && s->writer != NULL && rate_mark_due(w))
        add_due(s, w);
    return v;
}

void rate_share_tick(struct rate_share *s, int64_t mono_us)
{
    const bool prunes = mono_us - s->pruned_us >= PRUNE_PERIOD_S * (int64_t)USEC_PER_SEC;
    const bool seen = s->shared && mono_us - s->seen_us >= SEEN_PERIOD_S * (int64_t)USEC_PER_SEC;
    struct exchange *x;

    if (atomic_load(&s->busy))
        return;
    x = exchange_new(s);
    if (x->n == 0 && !prunes && !seen) {
        free(x);
        return;
    }
    x->prunes = prunes;
    x->seen = seen;
    s->pruned_us = prunes ? mono_us : s->pruned_us;
    s->seen_us = seen ? mono_us : s->seen_us;
    atomic_store(&s->busy, true);
    exchange_submit(x);
}

void rate_share_stop(struct rate_share *s)
{
    bool all = s->writer == NULL;

    while (!all) {
        struct exchange *x = exchange_new(s);

        all = x->n < STEP;
        x->leaves = all && s->shared;
        if (x->n > 0 || x->leaves)
            exchange_submit(x);
        else
            free(x);
    }
}
