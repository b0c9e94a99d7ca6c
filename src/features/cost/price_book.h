/* price_book.h - all prices in memory: finds the price of a model in effect at a time.
 *
 * A book is immutable and reference-counted: release a reference with
 * price_book_release().
 *
 * Thread-safe.
 */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "features/cost/prices_store.h"

struct price_book;

/* The prices of one model by valid_from, the earliest first. */
struct price_history {
    const struct price_row *rows;
    size_t n;
};

/* Reads all prices. The caller gets a reference. */
int price_book_load(struct db *db, struct price_book **ret, struct error *err) MUST_CHECK;

void price_book_hold(struct price_book *book);

/* NULL is fine. */
void price_book_release(struct price_book *book);

/* Is it what would be loaded now from this connection, whose store_prices_number() is `number`? */
bool price_book_holds(const struct price_book *book, const struct db *db, int64_t number);

/* All rows, by model and valid_from. */
struct price_history price_book_all(const struct price_book *book);

/* The model of exactly this name, and the model with this alias; n is 0 when not found. */
struct price_history price_book_exact(const struct price_book *book, struct str model);
struct price_history price_book_alias(const struct price_book *book, struct str alias);

/* The prices for usage reported under `name`: those of the model of that name, or with that alias;
 * otherwise the same without provider prefixes ("openai/gpt-4o"), then without a variant at the end
 * ("[1m]"), then also without a date there ("-2024-08-06", "-20241022", "@20241022"), with and
 * without prefixes. No other matches. n is 0 when not found. */
struct price_history price_book_find(const struct price_book *book, struct str name);

/* Has the model no price but the built-in one, which gives way to any that a person states? */
bool price_is_built_in(const struct price_history *history);

/* The price in effect at `at`, or NULL when the first one starts later. */
const struct price_row *price_in_force(const struct price_history *history, int64_t at);
