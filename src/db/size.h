/* size.h - how large the store is. */
#pragma once
#include <stdint.h>

#include "base/err.h"

struct db;

/* Bytes of the whole database, all tenants together. */
int store_size(struct db *db, int64_t *ret, struct error *err) MUST_CHECK;

/* Bytes of the write-ahead log's file; 0 with PostgreSQL. */
int64_t db_log_bytes(const char *url);
