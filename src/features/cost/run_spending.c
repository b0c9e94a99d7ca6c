/* run_spending.c - what the runs of a list spent: their reports, at the prices of their time. */
#include "features/cost/usage.h"

#include "base/buf.h"
#include "base/map.h"
#include "features/access/registry.h"
#include "features/cost/cost.h"
#include "features/cost/prices.h"
#include "features/cost/report_store.h"
#include "features/events/runs.h"

/* Reports are grouped by run: with the next run, the sum of the previous one is complete. */
struct summing {
    const struct run_spending *of;
    struct map runs; /* from run ids to struct run_spent */
    struct price_book *book;
    struct buf run_id;       /* of the run being read */
    struct run_spent *spent; /* of it; NULL: it is settled */
    struct cost_sum sum;
};

static struct opt_int some(wide_int value)
{
    return (struct opt_int){ true, money_to_int(value) };
}

static void settle(struct summing *s)
{
    const struct cost_tokens *t = &s->sum.tokens;
    struct usage_sums answer;

    if (s->spent == NULL)
        return;
    cost_fill_answer(&s->sum, s->of->arena, &answer);
    s->spent->tokens =
        some(money_add(money_add(t->input, t->output), money_add(t->cache_read, t->cache_write)));
    s->spent->cost_text = answer.cost;
    if (!str_is_null(answer.cost))
        s->spent->cost = some(money_divide(s->sum.cost, MONEY_ATTO_PER_PICO));
    s->spent = NULL;
}

static void on_report(void *ctx, const struct llm_row *row)
{
    struct summing *s = ctx;
    struct price_history history;
    struct cost_tokens tokens;

    if (!str_eq(buf_str(&s->run_id), row->run_id)) {
        settle(s);
        buf_clear(&s->run_id);
        buf_add(&s->run_id, row->run_id);
        s->spent = map_get(&s->runs, row->run_id);
        s->sum = (struct cost_sum){ 0 };
    }
    if (s->spent == NULL)
        return;
    history = price_book_find(s->book, row->model);
    tokens = cost_tokens_of(&row->counts);
    cost_add(&s->sum, &tokens, price_in_force(&history, row->start));
}

/* In the form that the store takes. */
static struct list ids_of(struct summing *s)
{
    struct str *ids = ARENA_ARRAY(s->of->arena, struct str, s->of->n);

    for (size_t i = 0; i < s->of->n; i++) {
        ids[i] = s->of->runs[i].run_id;
        (void)map_put(&s->runs, ids[i], s->of->runs[i].spent);
    }
    return (struct list){ ids, s->of->n };
}

int cost_of_runs(const struct engine *e, struct db *db, struct run_spending *of, struct error *err)
{
    struct summing s = { .of = of };
    struct list ids;
    int status;

    if (prices_book(cost_prices(e), db, &s.book, err) != 0)
        return -1;
    map_init(&s.runs);
    buf_init(&s.run_id, KIB(1));
    ids = ids_of(&s);
    status = llm_usage_read_of_runs(db, of->tenant->id, &ids, on_report, &s, err);
    if (status == 0)
        settle(&s);
    buf_done(&s.run_id);
    map_done(&s.runs);
    price_book_release(s.book);
    return status;
}
