/* size.h - how large the store is. */
#pragma once
#include "base/err.h"

struct db;

/* Bytes of the whole database, all tenants together. */
int store_size(struct db *db, int64_t *ret, struct error *err) MUST_CHECK;
