/* event_batch.h - the events of one transaction: collected, then stored in bulk before its commit.
 *
 * The writer's thread only.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "engine/txn.h"

enum verdict;
struct event_batch;
struct event_item;
struct event_log;

/* Borrows the log. */
struct event_batch *event_batch_new(struct event_log *log);

/* NULL is fine. */
void event_batch_free(struct event_batch *batch);

/* event_batch_prepare() sets *verdict to VERDICT_DUPLICATE for a duplicate, and to
 * VERDICT_OVER_QUOTA for what has no room. */
void event_batch_add(struct event_batch *batch, const struct event_item *item,
                     enum verdict *verdict);

/* The events collected so far; once prepared, with their results. */
const struct event_item *event_batch_items(const struct event_batch *batch, size_t *ret_n);

/* Is any of them watched by alerts? */
bool event_batch_is_watched(const struct event_batch *batch);

/* The steps of a transaction, as in engine/txn.h. */
int event_batch_prepare(struct txn *txn, struct error *err);
int event_batch_settle(struct txn *txn, struct error *err);
void event_batch_committed(struct txn *txn);
void event_batch_rolled_back(struct txn *txn);
void event_batch_changed(struct txn *txn);

/* The part of a transaction that is this; NULL: it has none. */
extern const char event_batch_part[];

static inline struct event_batch *event_batch_of(const struct txn *txn)
{
    return txn_part(txn, event_batch_part);
}
