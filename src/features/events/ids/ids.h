/* ids.h - an exact index of random ids that costs no random write.
 *
 * A B-tree over random keys dirties a page for every key, and falls behind as
 * it grows. Here the newest ids are in memory, and in the database only as one
 * small row for each transaction; when enough have gathered they are written
 * as one sorted, immutable segment, and segments are merged into larger ones a
 * little with each transaction.
 *
 * Invariants:
 *  1. What is found is a candidate: the caller's `same` compares the real id
 *     before anything is said of it. A hash alone never decides.
 *  2. Every committed id is in `recent` or in exactly one live segment, and so
 *     is it after any crash: the log, the segments and what they index change
 *     in the same transaction.
 *  3. Memory changes only when a transaction has committed. What a transaction
 *     adds is in `pending`, which no other thread sees.
 *  4. A segment's chunks are deleted only in a transaction after the one that
 *     took it out of use; so who holds the lock for reading can read them.
 *
 * Used with SQLite; PostgreSQL has unique indexes instead.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct db;
struct ids;

enum id_kind { ID_EVENT, ID_RUN };

/* A test build makes it small, so that flushing and merging happen all the time. */
#ifndef IDS_FLUSH_AT
#define IDS_FLUSH_AT 131072
#endif

/* Loads what is there. `db` is the writer's connection. With `flush_at` ids in memory they become
 * a segment: IDS_FLUSH_AT, or fewer in tests. */
int ids_new(struct db *db, size_t flush_at, struct ids **ret, struct error *err) MUST_CHECK;

/* NULL is fine. */
void ids_free(struct ids *ids);

uint64_t ids_hash(const struct ids *ids, enum id_kind kind, int64_t tenant_id, struct str id);

/* Is the thing with this number the one that is looked for? */
typedef int ids_same_fn(void *ctx, struct db *db, int64_t number, bool *ret_same,
                        struct error *err);

struct ids_query {
    uint64_t hash;
    ids_same_fn *same;
    void *ctx;
};

/* The committed one's number, or 0. Any thread, with its own connection, and not inside a
 * transaction that began earlier. */
int ids_find(struct ids *ids, struct db *db, const struct ids_query *query, int64_t *ret,
             struct error *err) MUST_CHECK;

/* The rest: the writer's thread, inside its transaction. */

/* Numbers that this transaction added under `hash`: start with *at = 0; 0 at the end. */
int64_t ids_pending(const struct ids *ids, uint64_t hash, size_t *at);

void ids_add(struct ids *ids, uint64_t hash, int64_t number);

/* Before the commit: writes what was added, and does some of the merging that is due. */
int ids_save(struct ids *ids, struct db *db, struct error *err) MUST_CHECK;

/* After it, whichever way it went. */
void ids_committed(struct ids *ids);
void ids_rolled_back(struct ids *ids);
