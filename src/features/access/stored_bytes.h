/* stored_bytes.h - the bytes of a tenant's stored reports, counted in the transactions that store
 * and delete them.
 *
 * What counts: the texts of each event, KPI value, breakdown, LLM usage, note
 * about an alert and version of a document, and STORED_ROW_BYTES for the rest of
 * its row. Indexes, totals, and what else people set do not. Statements that delete rows compute
 * the same number in SQL.
 *
 * A tenant's count is the sum of several rows of tenant_bytes, one for each
 * writer, so that writers do not wait for each other. One more holds a
 * correction, by which a recount found the others to be wrong.
 *
 * Writer thread only, but for stored_bytes_refresh().
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "engine/txn.h"

struct db;
struct registry;
struct stored_bytes;

#define STORED_ROW_BYTES 100

/* In SQL: the bytes of a text column, and the row's own. */
#define STORED_TEXT_SQLITE(column)   " + COALESCE(LENGTH(CAST(" column " AS BLOB)), 0)"
#define STORED_TEXT_POSTGRES(column) " + COALESCE(octet_length(" column "), 0)"
#define STORED_ROW                   "100"

/* A transaction's part. Borrows the registry, which may be NULL. */
struct stored_bytes *stored_bytes_new(struct registry *registry);

/* NULL is fine. */
void stored_bytes_free(struct stored_bytes *s);

/* Rows of this many bytes were stored; negative: deleted. `s` may be NULL, in tests. */
void stored_bytes_add(struct stored_bytes *s, int64_t tenant_id, int64_t bytes);

/* Before the commit: stores what was added. */
int stored_bytes_settle(struct stored_bytes *s, struct db *db, struct error *err) MUST_CHECK;

/* After the commit: adds the bytes to the registry. After a rollback: drops them. */
void stored_bytes_committed(struct stored_bytes *s);
void stored_bytes_forget(struct stored_bytes *s);

/* Updates the registry with the stored bytes, which other processes may have changed: of tenants
 * with a quota, or of all. */
int stored_bytes_refresh(struct registry *registry, struct db *db, bool all,
                         struct error *err) MUST_CHECK;

/* What the writers counted of a tenant, without the correction. */
int tenant_counted(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err) MUST_CHECK;

/* Replaces the correction: since what is there and what the writers counted change together, it is
 * right whenever the two were read in one view, and may be stored at any time, also twice. */
int tenant_correct(struct db *db, int64_t tenant_id, int64_t correction,
                   struct error *err) MUST_CHECK;

/* What is stored of a tenant. */
int tenant_load_bytes(struct db *db, int64_t tenant_id, int64_t *ret, struct error *err) MUST_CHECK;

/* The part of a transaction that is this; NULL: it has none. */
extern const char stored_bytes_part[];

static inline struct stored_bytes *stored_bytes_of(const struct txn *txn)
{
    return txn_part(txn, stored_bytes_part);
}
