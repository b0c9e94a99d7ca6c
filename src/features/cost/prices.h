/* prices.h - the platform's price list: cached in memory, changed by operators.
 *
 * The database holds a number that grows with each change of prices; every
 * read compares it with that of the cached book, so that no cost is ever
 * computed from an outdated list, whichever process changed it.
 *
 * Thread-safe.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/cost/price_shapes.h"

struct db;
struct price_book;
struct prices;

struct prices *prices_new(void);

/* NULL is fine. */
void prices_free(struct prices *p);

/* The list as this connection sees it. The caller gets a reference: price_book_release(). */
int prices_book(struct prices *p, struct db *db, struct price_book **ret,
                struct error *err) MUST_CHECK;

/* All answers are in the arena. With a model in the query: the prices that apply to its usage. */
int prices_list(struct prices *p, struct db *db, const struct prices_query *query,
                struct arena *arena, struct listing *ret, struct error *err) MUST_CHECK;

/* Inside a writer's transaction. Replaces a price with the same model and valid_from. ERR_CONFLICT:
 * an alias belongs to another model, or the list is full. */
int prices_set(struct db *db, const struct price_create *create, struct arena *arena,
               struct price *ret, struct error *err) MUST_CHECK;

/* ERR_NOT_FOUND. */
int prices_remove(struct db *db, int64_t price_id, struct arena *arena, struct price *ret,
                  struct error *err) MUST_CHECK;

/* An entry equal to the price in effect changes nothing. A new price is valid from the entry's
 * valid_from, or the import's. Without either it has no start if its model is new or has further
 * entries in the file, and otherwise starts now. */
int prices_import(struct db *db, const struct price_import *import, struct arena *arena,
                  struct price_imported *ret, struct error *err) MUST_CHECK;

struct engine;

/* The engine's. Any thread. */
struct prices *cost_prices(const struct engine *e);
