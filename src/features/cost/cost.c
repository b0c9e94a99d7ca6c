/* cost.c - tokens times prices. */
#include "features/cost/cost.h"

#include "features/cost/llm_totals.h"
#include "features/cost/prices.h"
#include "features/cost/usage.h"

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
