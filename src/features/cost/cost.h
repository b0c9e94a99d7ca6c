/* cost.h - tokens times prices, exact until the answer is written.
 *
 * Sums have 128 bits and saturate instead of overflowing; a cost is in
 * attodollars.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/cost/money.h"

struct db;
struct engine;
struct llm_counts;
struct price_book;
struct price_row;
struct run_spending;

/* The tokens of a report, or of reports with the same price. */
struct cost_tokens {
    wide_int input, output, cache_read, cache_write, calls;
    wide_int fresh; /* input tokens that were not cached */
};

/* Tokens and the cost of those that have a price. */
struct cost_sum {
    struct cost_tokens tokens;
    wide_int cost;
    bool priced, unpriced; /* some tokens have a price, some have none */
};

/* Of one report. */
struct cost_tokens cost_tokens_of(const struct llm_counts *counts);

/* `price` NULL: unpriced. */
void cost_add(struct cost_sum *sum, const struct cost_tokens *tokens,
              const struct price_row *price);

/* The cost of one report of `model` at `at`, rounded to picodollars, into `text`: STR_NULL and NULL
 * without a price, else the price is the book's. */
const struct price_row *cost_of_report(const struct price_book *book, struct str model, int64_t at,
                                       const struct llm_counts *counts, char text[MONEY_TEXT_MAX],
                                       struct str *ret_cost);

/* Sums saturate at 64 bits. */
struct usage_sums {
    int64_t input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, calls;
    struct str cost;          /* USD as a decimal; null: no token has a price */
    bool partial;             /* some tokens have no price */
    struct str kpi_value;     /* JSON number; null (left out): not requested, or no value */
    struct str cost_per_unit; /* null (left out) */
};

/* Fills in the tokens and the cost, rounded to picodollars, but no KPI; the text is in the arena.
 */
void cost_fill_answer(const struct cost_sum *sum, struct arena *arena, struct usage_sums *ret);

/* A run_spending_fn (features/events/runs.h). It takes as long as reading the reports of
 * these runs. */
int cost_of_runs(const struct engine *e, struct db *db, struct run_spending *of,
                 struct error *err) MUST_CHECK;
