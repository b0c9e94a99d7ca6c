/* txn_parts.h - a transaction with the parts that reports need, for tests without an engine. */
#pragma once
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/access/stored_bytes.h"
#include "features/agents/admit.h"
#include "features/cost/llm_totals.h"
#include "features/events/event_batch.h"
#include "features/kpis/rollups.h"

static inline struct txn txn_parts_new(struct db *db, struct event_log *log,
                                       struct agent_cache *cache)
{
    return (struct txn){ .db = db,
                         .bytes = stored_bytes_new(NULL),
                         .admit = admit_new(cache),
                         .events = event_batch_new(log),
                         .rollups = rollups_new(),
                         .totals = llm_totals_new() };
}

static inline void txn_parts_done(struct txn *txn)
{
    stored_bytes_free(txn->bytes);
    admit_free(txn->admit);
    event_batch_free(txn->events);
    rollups_free(txn->rollups);
    llm_totals_free(txn->totals);
}

static inline int txn_parts_announced(struct txn *txn, struct error *err)
{
    return admit_expected(txn, err);
}

static inline int txn_parts_prepare(struct txn *txn, struct error *err)
{
    if (event_batch_prepare(txn, err) != 0 || stored_bytes_settle(txn->bytes, txn->db, err) != 0 ||
        event_batch_settle(txn, err) != 0 || rollups_settle(txn->rollups, txn->db, err) != 0)
        return -1;
    return llm_totals_save(txn->totals, txn->db, err);
}

static inline void txn_parts_committed(struct txn *txn)
{
    event_batch_committed(txn);
    admit_committed(txn);
    stored_bytes_committed(txn->bytes);
    rollups_forget(txn->rollups);
    llm_totals_clear(txn->totals);
}

static inline void txn_parts_rolled_back(struct txn *txn)
{
    event_batch_rolled_back(txn);
    stored_bytes_forget(txn->bytes);
    admit_rolled_back(txn);
    rollups_forget(txn->rollups);
    llm_totals_clear(txn->totals);
}

static inline void txn_parts_changed(struct txn *txn)
{
    event_batch_changed(txn);
}

static const struct writer_hooks txn_parts_hooks = {
    .announced = txn_parts_announced,
    .prepare = txn_parts_prepare,
    .committed = txn_parts_committed,
    .rolled_back = txn_parts_rolled_back,
    .changed = txn_parts_changed,
};
