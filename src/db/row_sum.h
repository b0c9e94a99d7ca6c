/* row_sum.h - a checksum of what a row says, stored in its column `checksum`.
 *
 * A database notices a damaged page, not a bit that changed inside a row. What
 * agents reported carries a sum: it is written with the row, verified by every
 * read and by `muster check`. A row without one (NULL) was stored before sums
 * existed and is taken as it is.
 *
 * Thread-safe.
 */
#pragma once
#include "db/db.h"

/* The columns that a sum covers, in this order everywhere: in the values to write, in queries that
 * are verified, where `checksum` follows them, and in `all`. */
struct row_sum {
    const char *table;
    const char *types; /* a letter for each column: i, r or t (integer, real, text) */
    const char *const
        *key;            /* names of the first columns, which say which row it is; ends in NULL */
    struct db_query all; /* every row: these columns, checksum, and whether it must have one */
};

enum { ROW_SUM_COLUMNS_MAX = 32 };

/* The value of `checksum` for these values, one for each column. */
struct db_value row_sum_of(const struct row_sum *sum, const struct db_value *values);

/* Are the columns of the row, the first of them `first`, what was stored? */
bool row_sum_is_right(const struct row_sum *sum, const struct db_row *row, unsigned first);

/* The same; a damaged row is counted and logged. */
bool row_sum_check(const struct row_sum *sum, const struct db_row *row, unsigned first);

/* Which row this is, in at most `size` printable characters: "tenant_id 1, run_no 7, …". Damaged
 * texts may hold anything. */
void row_sum_name(const struct row_sum *sum, const struct db_row *row, unsigned first, char *ret,
                  size_t size);

/* As db_get_text(), without counting as output (db_set_deadline()). */
struct str db_peek_text(const struct db_row *row, unsigned column);

/* Called for each damaged row of a table. False: stop. */
typedef bool row_sum_fn(void *ctx, const struct row_sum *sum, const char *name);

/* Reads the whole table. */
int row_sum_verify(struct db *db, const struct row_sum *sum, row_sum_fn *on_damaged, void *ctx,
                   struct error *err) MUST_CHECK;

/* From now on rows that do not match their checksums are left out of what this connection reads,
 * instead of ERR_DAMAGED; they are counted and logged as always. db_skipped() is how many so
 * far. */
void db_set_skip_damaged(struct db *db);
int64_t db_skipped(const struct db *db);

/* For code that found a damaged row itself: is it to be left out? Counts it. */
bool db_skips_damaged(struct db *db);
