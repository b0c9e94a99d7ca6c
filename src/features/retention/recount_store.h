/* recount_store.h - adds up what the rows of a tenant's reports take. */
#pragma once
#include "base/err.h"

struct db;

/* By how much what the writers counted (access/stored_bytes.h) is less than what the rows take. In
 * one view of the database, outside a transaction. */
int store_recount(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err) MUST_CHECK;
