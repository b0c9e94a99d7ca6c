/* prices.h - the platform's price list, cached in memory.
 *
 * All prices are a book, which finds the price of a model in effect at a time. A
 * book is immutable and reference-counted. The database holds a number that
 * grows with each change of prices; every read compares it with that of the
 * cached book, so that no cost is ever computed from an outdated list,
 * whichever process changed it.
 *
 * Thread-safe.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/cost/price_shapes.h"

struct db;
struct engine;
struct price_book;
struct prices;

struct prices *prices_new(void);

/* NULL is fine. */
void prices_free(struct prices *p);

/* The list as this connection sees it. The caller gets a reference: price_book_release(). */
int prices_book(struct prices *p, struct db *db, struct price_book **ret,
                struct error *err) MUST_CHECK;

/* The engine's. Any thread. */
struct prices *cost_prices(const struct engine *e);

/* Adds share/prices.json as the program was built with it, dated and marked as built in, if the
 * database is new; once, whichever process is the first to ask. In a transaction of its own. */
int built_in_prices_add(struct db *db, struct error *err) MUST_CHECK;

struct price_row {
    int64_t price_id;
    struct str model, provider;
    struct price_amounts amounts;
    bool input_includes_cache;
    int64_t valid_from;  /* TIME_NULL: always */
    struct list aliases; /* of struct str */
    int64_t updated_at;
    int64_t built_in_as_of; /* date of the built-in list it comes from; TIME_NULL: a person's */
};

/* The prices of one model by valid_from, the earliest first. */
struct price_history {
    const struct price_row *rows;
    size_t n;
};

/* Reads all prices. The caller gets a reference. */
int price_book_load(struct db *db, struct price_book **ret, struct error *err) MUST_CHECK;

/* NULL is fine. */
void price_book_release(struct price_book *book);

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

/* What follows is private to this folder. */

/* The change number of the price list: each change increments it. */
int prices_number(struct db *db, int64_t *ret, struct error *err) MUST_CHECK;

/* All prices, unordered: a list of struct price_row; in the arena. */
int prices_list(struct db *db, struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

/* True for one caller of all processes, and only on a database that was new when the built-in list
 * came; inside its transaction. */
int prices_claim_built_in(struct db *db, bool *ret, struct error *err) MUST_CHECK;

/* Adds the price, or replaces that of the same model and start; sets its price_id. */
int prices_put(struct db *db, struct price_row *row, struct error *err) MUST_CHECK;

/* Deletes the price and returns it. ERR_NOT_FOUND. */
int prices_delete(struct db *db, int64_t price_id, struct arena *arena, struct price_row *ret,
                  struct error *err) MUST_CHECK;
