/* txn_parts.h - a transaction with the parts that reports need, for tests without an engine. */
#pragma once
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/access/stored_bytes.h"
#include "features/agents/admit.h"
#include "features/cost/llm_totals.h"
#include "features/events/ingest.h"
#include "features/kpis/rollups.h"

static inline struct txn txn_parts_new(struct db *db, struct event_log *log,
                                       struct agent_cache *cache)
{
    struct txn txn = { .db = db };

    txn_set_part(&txn, stored_bytes_part, stored_bytes_new(NULL));
    txn_set_part(&txn, admit_part, admit_new(cache));
    txn_set_part(&txn, event_batch_part, event_batch_new(log));
    txn_set_part(&txn, rollups_part, rollups_new());
    txn_set_part(&txn, llm_totals_part, llm_totals_new());
    return txn;
}

static inline void txn_parts_done(struct txn *txn)
{
    stored_bytes_free(stored_bytes_of(txn));
    admit_free(admit_of(txn));
    event_batch_free(event_batch_of(txn));
    rollups_free(rollups_of(txn));
    llm_totals_free(llm_totals_of(txn));
}

static inline int txn_parts_announced(struct txn *txn, struct error *err)
{
    return admit_expected(txn, err);
}

static inline int txn_parts_prepare(struct txn *txn, struct error *err)
{
    if (event_batch_prepare(txn, err) != 0 ||
        stored_bytes_settle(stored_bytes_of(txn), txn->db, err) != 0 ||
        event_batch_settle(txn, err) != 0 || rollups_settle(rollups_of(txn), txn->db, err) != 0)
        return -1;
    return llm_totals_save(llm_totals_of(txn), txn->db, err);
}

static inline void txn_parts_committed(struct txn *txn)
{
    event_batch_committed(txn);
    admit_committed(txn);
    stored_bytes_committed(stored_bytes_of(txn));
    rollups_forget(rollups_of(txn));
    llm_totals_clear(llm_totals_of(txn));
}

static inline void txn_parts_rolled_back(struct txn *txn)
{
    event_batch_rolled_back(txn);
    stored_bytes_forget(stored_bytes_of(txn));
    admit_rolled_back(txn);
    rollups_forget(rollups_of(txn));
    llm_totals_clear(llm_totals_of(txn));
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
