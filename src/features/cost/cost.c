/* cost.c - tokens times prices; what the runs of a list spent: their reports, at the prices of
 * their time. */
#include "features/cost/cost.h"

#include "base/buf.h"
#include "base/map.h"
#include "features/access/registry.h"
#include "features/cost/prices.h"
#include "features/cost/reports.h"
#include "features/events/runs.h"

struct cost_tokens cost_tokens_of(const struct llm_counts *counts)
{
    return (struct cost_tokens){
        .input = counts->input,
        .output = counts->output,
        .cache_read = counts->cache_read,
        .cache_write = counts->cache_write,
        .calls = counts->calls,
        .fresh = llm_fresh(counts),
    };
}

/* If the price says that input includes cached tokens, these are not charged as input as well. A
 * missing cache price is the input price. */
static wide_int cost_of(const struct price_row *price, const struct cost_tokens *tokens)
{
    const struct price_amounts *a = &price->amounts;
    wide_int input = price->input_includes_cache ? tokens->fresh : tokens->input;
    int64_t cache_read = a->cache_read.has ? a->cache_read.value : a->input;
    int64_t cache_write = a->cache_write.has ? a->cache_write.value : a->input;
    wide_int cost = money_multiply(input, a->input);

    cost = money_add(cost, money_multiply(tokens->output, a->output));
    cost = money_add(cost, money_multiply(tokens->cache_read, cache_read));
    return money_add(cost, money_multiply(tokens->cache_write, cache_write));
}

void cost_add(struct cost_sum *sum, const struct cost_tokens *tokens, const struct price_row *price)
{
    struct cost_tokens *t = &sum->tokens;

    t->input = money_add(t->input, tokens->input);
    t->output = money_add(t->output, tokens->output);
    t->cache_read = money_add(t->cache_read, tokens->cache_read);
    t->cache_write = money_add(t->cache_write, tokens->cache_write);
    t->calls = money_add(t->calls, tokens->calls);
    if (price == NULL) {
        sum->unpriced = true;
        return;
    }
    sum->priced = true;
    sum->cost = money_add(sum->cost, cost_of(price, tokens));
}

const struct price_row *cost_of_report(const struct price_book *book, struct str model, int64_t at,
                                       const struct llm_counts *counts, char text[MONEY_TEXT_MAX],
                                       struct str *ret_cost)
{
    const struct price_history history = price_book_find(book, model);
    const struct price_row *price = price_in_force(&history, at);
    const struct cost_tokens tokens = cost_tokens_of(counts);

    *ret_cost = STR_NULL;
    if (price != NULL)
        *ret_cost = money_format(money_divide(cost_of(price, &tokens), MONEY_ATTO_PER_PICO), text);
    return price;
}

void cost_fill_answer(const struct cost_sum *sum, struct arena *arena, struct usage_sums *ret)
{
    char text[MONEY_TEXT_MAX];

    *ret = (struct usage_sums){
        .input_tokens = money_to_int(sum->tokens.input),
        .output_tokens = money_to_int(sum->tokens.output),
        .cache_read_tokens = money_to_int(sum->tokens.cache_read),
        .cache_write_tokens = money_to_int(sum->tokens.cache_write),
        .calls = money_to_int(sum->tokens.calls),
        .partial = sum->priced && sum->unpriced,
    };
    if (sum->priced || !sum->unpriced) /* no tokens cost 0 */
        ret->cost =
            arena_copy(arena, money_format(money_divide(sum->cost, MONEY_ATTO_PER_PICO), text));
}

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

static void settle_run(struct summing *s)
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

static void spending_on_report(void *ctx, const struct llm_row *row)
{
    struct summing *s = ctx;
    struct price_history history;
    struct cost_tokens tokens;

    if (!str_eq(buf_str(&s->run_id), row->run_id)) {
        settle_run(s);
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
    status = llm_usage_read_of_runs(db, of->tenant->id, &ids, spending_on_report, &s, err);
    if (status == 0)
        settle_run(&s);
    buf_done(&s.run_id);
    map_done(&s.runs);
    price_book_release(s.book);
    return status;
}
