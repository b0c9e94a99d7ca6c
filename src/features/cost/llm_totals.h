/* llm_totals.h - sums of LLM usage by hour and day, agent and model.
 *
 * The changes of one transaction are collected and stored at its end, in the
 * same order by all writers, which could deadlock in PostgreSQL otherwise. A
 * report with a number beyond LLM_LARGE is counted but not added, so that no
 * sum overflows 64 bits: such a sum is not used, its reports are read instead.
 *
 * One thread at a time.
 */
#pragma once
#include "base/err.h"
#include "engine/txn.h"
#include "features/cost/money.h"
#include "shape/shape.h"

struct db;
struct llm_totals;

#define LLM_LARGE (INT64_C(1) << 36)

enum llm_width { LLM_HOUR, LLM_DAY };

#define LLM_HOUR_US INT64_C(3600000000)
#define LLM_DAY_US  (24 * LLM_HOUR_US)

/* The counts of one report, or their sum. */
struct llm_counts {
    int64_t input, output, cache_read, cache_write, calls;
    struct opt_int fresh; /* input that was not cached; not there: see llm_fresh() */
};

/* The input tokens of a report that a price with `input_includes_cache` charges as input: those
 * that it says were not cached, else input without cached tokens. With more cached tokens than
 * input, the input does not include them: all of it is fresh. */
wide_int llm_fresh(const struct llm_counts *counts);

/* The tenant, agent, time and model of a report. */
struct llm_usage_key {
    int64_t tenant_id, agent_id, timestamp;
    struct str model;
};

struct llm_totals *llm_totals_new(void);

/* NULL is fine. */
void llm_totals_free(struct llm_totals *t);

/* `sign` is 1 for a new report, -1 for one that is replaced. Copies the model. */
void llm_totals_add(struct llm_totals *t, const struct llm_usage_key *place,
                    const struct llm_counts *counts, int64_t sign);

/* Inside the transaction, before its commit. */
int llm_totals_save(struct llm_totals *t, struct db *db, struct error *err) MUST_CHECK;

/* After its commit or rollback. */
void llm_totals_clear(struct llm_totals *t);

/* The start of the hour or day. */
int64_t llm_totals_start(enum llm_width width, int64_t timestamp);

/* The part of a transaction that is this; NULL: it has none. */
extern const char llm_totals_part[];

static inline struct llm_totals *llm_totals_of(const struct txn *txn)
{
    return txn_part(txn, llm_totals_part);
}
