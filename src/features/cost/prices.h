/* prices.h - the platform's price list, cached in memory.
 *
 * The database holds a number that grows with each change of prices; every
 * read compares it with that of the cached book, so that no cost is ever
 * computed from an outdated list, whichever process changed it.
 *
 * Thread-safe.
 */
#pragma once
#include "base/err.h"

struct db;
struct price_book;
struct prices;

struct prices *prices_new(void);

/* NULL is fine. */
void prices_free(struct prices *p);

/* The list as this connection sees it. The caller gets a reference: price_book_release(). */
int prices_book(struct prices *p, struct db *db, struct price_book **ret,
                struct error *err) MUST_CHECK;

struct engine;

/* The engine's. Any thread. */
struct prices *cost_prices(const struct engine *e);

/* Adds share/prices.json as the program was built with it, dated and marked as built in, if the
 * database is new; once, whichever process is the first to ask. In a transaction of its own. */
int built_in_prices_add(struct db *db, struct error *err) MUST_CHECK;
