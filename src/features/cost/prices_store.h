/* prices_store.h - SQL of prices, which all tenants share. */
#pragma once
#include "features/cost/prices.h"

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
