/* ids.h - an exact index of random ids without random writes.
 *
 * A B-tree over random keys dirties a page per key, and gets slower as it
 * grows. Here the newest ids are in memory, and in the database only as one
 * small row per transaction; at a certain number they are written as one
 * sorted, immutable segment, and each transaction does a small part of merging
 * segments into larger ones.
 *
 * Invariants:
 *  1. A match of hashes is only a candidate: the caller's `same` compares the
 *     real id.
 *  2. Every committed id is in `recent` or in exactly one live segment, also
 *     after a crash: the log, the segments and the indexed rows change in the
 *     same transaction.
 *  3. `recent` and `live` change only after a commit. Until then, the ids that
 *     a transaction adds are in `pending`, which no other thread sees.
 *  4. A segment's chunks are deleted only in a later transaction than the one
 *     that replaced it; so a thread with the read lock can still read them.
 *
 * Used with SQLite; PostgreSQL has unique indexes instead.
 */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct db;
struct ids;

enum id_kind { ID_EVENT, ID_RUN };

/* A test build makes it small, so that flushes and merges are frequent. */
#ifndef IDS_FLUSH_AT
#define IDS_FLUSH_AT 131072
#endif

/* Loads the index. `db` is the writer's connection. `flush_at` ids in memory are written as a
 * segment: IDS_FLUSH_AT, or fewer in tests. */
int ids_new(struct db *db, size_t flush_at, struct ids **ret, struct error *err) MUST_CHECK;

/* NULL is fine. */
void ids_free(struct ids *ids);

uint64_t ids_hash(const struct ids *ids, enum id_kind kind, int64_t tenant_id, struct str id);

/* Does the row with this number have the id being searched? */
typedef int ids_same_fn(void *ctx, struct db *db, int64_t number, bool *ret_same,
                        struct error *err);

struct ids_query {
    uint64_t hash;
    ids_same_fn *same;
    void *ctx;
};

/* The number of a committed id, or 0. Any thread, with its own connection, and not inside a
 * transaction that started earlier. */
int ids_find(struct ids *ids, struct db *db, const struct ids_query *query, int64_t *ret,
             struct error *err) MUST_CHECK;

/* The rest: the writer's thread, inside its transaction. */

/* The numbers that this transaction added with this hash: start with *at = 0; 0 at the end. */
int64_t ids_pending(const struct ids *ids, uint64_t hash, size_t *at);

void ids_add(struct ids *ids, uint64_t hash, int64_t number);

/* Before the commit: writes the added ids, and does part of the pending merges. */
int ids_save(struct ids *ids, struct db *db, struct error *err) MUST_CHECK;

/* After the commit or the rollback. */
void ids_committed(struct ids *ids);
void ids_rolled_back(struct ids *ids);
