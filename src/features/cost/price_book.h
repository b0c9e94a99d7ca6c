/* price_book.h - all prices in memory: which one holds for a model at a moment.
 *
 * A book never changes once it is made. Whoever gets one holds it until
 * price_book_release().
 *
 * Thread-safe.
 */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "features/cost/prices_store.h"

struct db;
struct price_book;

/* The prices of one model by the moment they hold from, the earliest first. */
struct price_history {
    const struct price_row *rows;
    size_t n;
};

/* Reads all prices. The caller holds *ret. */
int price_book_load(struct db *db, struct price_book **ret, struct error *err) MUST_CHECK;

void price_book_hold(struct price_book *book);

/* NULL is fine. */
void price_book_release(struct price_book *book);

/* The number of store_prices_number() that it was loaded at. */
int64_t price_book_number(const struct price_book *book);

/* All rows, by model and moment. */
struct price_history price_book_all(const struct price_book *book);

/* The model of exactly this name, and the model that has this alias; n is 0: there is none. */
struct price_history price_book_exact(const struct price_book *book, struct str model);
struct price_history price_book_alias(const struct price_book *book, struct str alias);

/* The prices for usage reported under `name`: those of the model of that name, or with that alias;
 * else the same for the name without provider prefixes ("openai/gpt-4o"), then without a date at
 * its end ("-2024-08-06", "-20241022", also after "@"), with and without prefixes. Nothing looser.
 * n is 0: there is none. */
struct price_history price_book_find(const struct price_book *book, struct str name);

/* The one in force: the last that holds from `at` or earlier. NULL when the first begins later. */
const struct price_row *price_in_force(const struct price_history *history, int64_t at);
