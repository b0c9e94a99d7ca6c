/* rate_store.h - SQL of rate windows that processes share, and of the processes that run.
 *
 * A row is what one process let through in one window, as rate_tell() writes
 * it; only that process changes it. Rows of processes that ended count until
 * all of them has left the window.
 */
#pragma once
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct db;

struct rate_row {
    struct str name, node, counts;
};

/* The row is borrowed. */
typedef void rate_row_fn(void *ctx, const struct rate_row *row);

struct rate_reader {
    rate_row_fn *fn;
    void *ctx;
};

/* All rows that were saved after `since`, at the start. */
int store_rates_recent(struct db *db, int64_t since, const struct rate_reader *reader,
                       struct error *err) MUST_CHECK;

/* The rows of some windows that were saved after `since`, ordered by name. The windows are locked
 * until the end of the transaction, also those without a row. Only with PostgreSQL. */
int store_rates_lock(struct db *db, const struct rate_row *of, size_t n, int64_t since,
                     const struct rate_reader *reader, struct error *err) MUST_CHECK;

/* The rows of one process. */
int store_rates_save(struct db *db, const struct rate_row *rows, size_t n, int64_t now,
                     struct error *err) MUST_CHECK;

/* Deletes windows and processes that were not saved since. */
int store_rates_prune(struct db *db, int64_t before, struct error *err) MUST_CHECK;

/* This process runs; *ret is how many have said so since, and not as long after now: the clock may
 * have been set back. */
int store_node_seen(struct db *db, struct str node, int64_t now, int64_t since, int64_t *ret,
                    struct error *err) MUST_CHECK;
int store_node_gone(struct db *db, struct str node, struct error *err) MUST_CHECK;
