/* cost.h - tokens times prices, exact until it is shown.
 *
 * Sums are of 128 bits and stay at their ends instead of leaving them; a cost
 * is in attodollars.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "features/cost/money.h"

struct llm_counts;
struct price_row;
struct usage_sums;

/* Tokens of one kind of price: a report, or a sum of reports. */
struct cost_tokens {
    wide_int input, output, cache_read, cache_write, calls;
    wide_int fresh; /* of the input, what was not cached, if the input holds that */
};

/* What was used, and what of it has a price. */
struct cost_sum {
    struct cost_tokens tokens;
    wide_int cost;
    bool priced, unpriced; /* some of it is */
};

/* Of one report. When it has more cached tokens than input, its input does not hold them. */
struct cost_tokens cost_tokens_of(const struct llm_counts *counts);

/* Where the price says that input includes cached tokens, those are not paid for as input too. A
 * cache price that is missing is the input's. */
wide_int cost_of(const struct price_row *price, const struct cost_tokens *tokens);

/* `price` NULL: there is none. */
void cost_add(struct cost_sum *sum, const struct cost_tokens *tokens,
              const struct price_row *price);

/* As it is answered, the cost rounded to picodollars; the text is in the arena. No KPI. */
void cost_fill_answer(const struct cost_sum *sum, struct arena *arena, struct usage_sums *ret);
