/* built_in_prices.h - the price list that a new database starts with: share/prices.json as the
 * program was built with it.
 */
#pragma once
#include "base/err.h"

struct db;

/* Adds the list, dated and marked as built in, if the database is new; once, whichever process is
 * the first to ask. In a transaction of its own. */
int built_in_prices_add(struct db *db, struct error *err) MUST_CHECK;
