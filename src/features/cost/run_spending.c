/* run_spending.c - what the runs of a list spent: their reports, at the prices of their time. */
#include "features/cost/run_spending.h"

#include "base/buf.h"
#include "features/access/registry.h"
#include "features/cost/cost.h"
#include "features/cost/price_book.h"
#include "features/cost/prices.h"
#include "features/cost/report_store.h"
#include "features/cost/usage_shapes.h"
#include "features/events/run_spending.h"

/* Reports are grouped by run: with the next run, the sum of the previous one is complete. */
struct summing {
    struct run_spending *of;
    struct price_book *book;
    struct buf run_id;       /* of the run being read */
    struct run_spent *spent; /* of it; NULL: it was not asked for */
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
        s->spent = map_get(&s->of->runs, row->run_id);
        s->sum = (struct cost_sum){ 0 };
    }
    if (s->spent == NULL)
        return;
    history = price_book_find(s->book, row->model);
    tokens = cost_tokens_of(&row->counts);
    cost_add(&s->sum, &tokens, price_in_force(&history, row->start));
}

int cost_of_runs(const struct engine *e, struct db *db, struct run_spending *of, struct error *err)
{
    const struct llm_filter filter = { of->tenant->id, of->since, of->until, 0, STR_NULL };
    struct summing s = { .of = of };
    int status;

    if (prices_book(cost_prices(e), db, &s.book, err) != 0)
        return -1;
    buf_init(&s.run_id, KIB(1));
    status = store_llm_usage_by_run(db, &filter, on_report, &s, err);
    if (status == 0)
        settle(&s);
    buf_done(&s.run_id);
    price_book_release(s.book);
    return status;
}
