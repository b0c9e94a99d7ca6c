/* run_ranking.c - runs in the order of what they spent on models. */
#include "features/events/ranking/run_ranking.h"

#include <stdlib.h>

#include "base/clock.h"
#include "features/access/registry.h"
#include "features/events/run_list_store.h"
#include "features/events/run_spending.h"

/* Agents' clocks differ, and some report after the end. */
static const int64_t before_us = 60LL * USEC_PER_SEC, after_us = 3600LL * USEC_PER_SEC;

bool run_order_is_spending(int order)
{
    return order == ORDER_TOKENS || order == ORDER_COST;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* From the first start to the last event of all that are added. */
static void add_run(struct run_spending *of, struct str run_id, const struct run_times *times,
                    struct run_spent *spent)
{
    of->since = earlier(of->since, times->start_at);
    of->until = later(of->until, times->last_at);
    (void)map_put(&of->runs, run_id, spent);
}

static int sum_up(struct db *db, const struct run_ranking *ranking, struct run_spending *of,
                  struct error *err)
{
    if (of->runs.n == 0)
        return 0;
    of->since = of->since < INT64_MIN + before_us ? INT64_MIN : of->since - before_us;
    of->until = of->until > INT64_MAX - after_us ? INT64_MAX : of->until + after_us;
    return events_spending(ranking->engine, db, of, err);
}

static struct run_spending nothing_yet(const struct run_ranking *ranking, struct arena *arena)
{
    struct run_spending of = {
        .tenant = ranking->tenant, .since = INT64_MAX, .until = INT64_MIN, .arena = arena
    };

    map_init(&of.runs);
    return of;
}

/* What is sorted by; the sign turns the order round. */
static struct opt_int key_of(const struct run_candidate *run, const struct run_filter *filter)
{
    const struct run_spent *spent = &run->spent;
    const struct opt_int value = filter->order == ORDER_TOKENS ? spent->tokens : spent->cost;

    return (struct opt_int){ value.has, filter->ascending ? -value.value : value.value };
}

static int by_key(const void *a, const void *b)
{
    const struct run_candidate *x = a, *y = b;

    if (x->key.has != y->key.has)
        return x->key.has ? -1 : 1;
    if (x->key.value != y->key.value)
        return x->key.value > y->key.value ? -1 : 1;
    if (x->times.start_at != y->times.start_at)
        return x->times.start_at > y->times.start_at ? -1 : 1;
    return -str_cmp(x->run_id, y->run_id);
}

int run_ranking_read(struct db *db, const struct run_ranking *ranking, struct arena *arena,
                     struct run_page *ret, struct error *err)
{
    struct run_spending of = nothing_yet(ranking, arena);
    const struct run_filter *filter = ranking->filter;
    struct run_candidates found;
    int status;

    if (store_run_candidates(db, ranking->tenant->id, filter, arena, &found, err) != 0)
        return -1;
    for (size_t i = 0; i < found.n; i++)
        add_run(&of, found.runs[i].run_id, &found.runs[i].times, &found.runs[i].spent);
    status = sum_up(db, ranking, &of, err);
    map_done(&of.runs);
    if (status != 0)
        return -1;
    for (size_t i = 0; i < found.n; i++)
        found.runs[i].key = key_of(&found.runs[i], filter);
    if (found.n > 0)
        qsort(found.runs, found.n, sizeof(*found.runs), by_key);
    return store_run_load(db, &found, filter->limit, arena, ret, err);
}

int run_ranking_fill(struct db *db, const struct run_ranking *ranking, struct arena *arena,
                     struct run_page *page, struct error *err)
{
    struct run_spending of = nothing_yet(ranking, arena);
    struct run_found *runs = page->runs.items;
    int status;

    for (size_t i = 0; i < page->runs.n; i++) {
        const struct run_state *state = &runs[i].run.state;
        const struct run_times times = { run_state_start(state), state->last_at };

        add_run(&of, runs[i].run_id, &times, &runs[i].spent);
    }
    status = sum_up(db, ranking, &of, err);
    map_done(&of.runs);
    return status;
}
