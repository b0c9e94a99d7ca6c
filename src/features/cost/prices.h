/* prices.h - the platform's price list: kept in memory as it is read, changed by operators.
 *
 * The database carries a number that grows with each change of prices; every
 * read compares it with that of the book in memory, so that nobody ever
 * reckons with an old list, whichever process changed it.
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

/* The list as this connection sees it. The caller holds *ret: price_book_release(). */
int prices_book(struct prices *p, struct db *db, struct price_book **ret,
                struct error *err) MUST_CHECK;

/* The rest reads and answers, in the arena. With a model: the prices of its usage. */
int prices_list(struct prices *p, struct db *db, const struct prices_query *query,
                struct arena *arena, struct price_list *ret, struct error *err) MUST_CHECK;

/* Inside a writer's transaction. A price of the same model and moment is replaced. ERR_CONFLICT:
 * an alias names another model, or the list is full. */
int prices_set(struct db *db, const struct price_create *create, struct arena *arena,
               struct price *ret, struct error *err) MUST_CHECK;

/* ERR_NOT_FOUND. */
int prices_remove(struct db *db, int64_t price_id, struct arena *arena, struct price *ret,
                  struct error *err) MUST_CHECK;

/* What is there already and the same changes nothing. A model that is new gets its price since
 * ever, or from the entry's or the import's valid_from; a price that differs from the one in force
 * holds from there, or from now. An entry without valid_from beside others of its model is the one
 * since ever. */
int prices_import(struct db *db, const struct price_import *import, struct arena *arena,
                  struct price_imported *ret, struct error *err) MUST_CHECK;

struct engine;

/* The engine's. Any thread. */
struct prices *cost_prices(const struct engine *e);
