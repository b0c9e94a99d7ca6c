/* run_ranking.c - runs in the order of what they spent on models. */
#include "features/events/ranking/run_ranking.h"

#include <stdlib.h>

#include "features/access/registry.h"
#include "features/events/run_list_store.h"
#include "features/events/run_spending.h"

bool run_order_is_spending(int order)
{
    return order == ORDER_TOKENS || order == ORDER_COST;
}

static int sum_up(struct db *db, const struct run_ranking *ranking, const struct spending_run *runs,
                  size_t n, struct arena *arena, struct error *err)
{
    struct run_spending of = { ranking->tenant, runs, n, arena };

    return n == 0 ? 0 : events_spending(ranking->engine, db, &of, err);
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
    if (x->start_at != y->start_at)
        return x->start_at > y->start_at ? -1 : 1;
    return -str_cmp(x->run_id, y->run_id);
}

int run_ranking_read(struct db *db, const struct run_ranking *ranking, struct arena *arena,
                     struct run_page *ret, struct error *err)
{
    const struct run_filter *filter = ranking->filter;
    struct run_candidates found;
    struct spending_run *runs;

    if (store_run_candidates(db, ranking->tenant->id, filter, arena, &found, err) != 0)
        return -1;
    runs = ARENA_ARRAY(arena, struct spending_run, found.n);
    for (size_t i = 0; i < found.n; i++)
        runs[i] = (struct spending_run){ found.runs[i].run_id, &found.runs[i].spent };
    if (sum_up(db, ranking, runs, found.n, arena, err) != 0)
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
    struct run_found *found = page->runs.items;
    struct spending_run *runs = ARENA_ARRAY(arena, struct spending_run, page->runs.n);

    for (size_t i = 0; i < page->runs.n; i++)
        runs[i] = (struct spending_run){ found[i].run_id, &found[i].spent };
    return sum_up(db, ranking, runs, page->runs.n, arena, err);
}
