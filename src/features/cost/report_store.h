/* report_store.h - LLM usage as rows: tokens only, cost is computed when read. */
#pragma once
#include "base/err.h"
#include "features/agents/admit.h"
#include "features/cost/llm_totals.h"

struct db_query;
struct list;
struct llm_usage;

/* Stores the usage, or replaces the one with the same (tenant, agent, run, model, timestamp).
 * Storing the same numbers again changes nothing. Changes of the sums are collected in `totals`.
 * `*ret_replaced`: another report was. */
int llm_usage_put(struct db *db, const struct report_key *place, const struct llm_usage *usage,
                  struct llm_totals *totals, bool *ret_replaced, struct error *err) MUST_CHECK;

/* The usage to read: since <= timestamp < until. */
struct llm_filter {
    int64_t tenant_id;
    int64_t since, until; /* for sums: of their start */
    int64_t agent_id;     /* 0: all agents */
    struct str run_id;    /* STR_NULL: all runs; ignored for sums */
};

/* A report, or a sum of reports; strings are valid during the call only. */
struct llm_row {
    int64_t agent_id;
    struct str model;
    struct str run_id, version; /* of a report */
    struct llm_counts counts;
    int64_t start; /* the next three: of a report all its timestamp */
    int64_t first_at, last_at;
    int64_t n_large, fresh; /* of a sum */
};

/* Must not use the db. */
typedef void llm_row_fn(void *ctx, const struct llm_row *row);

/* Sums of hours or days, in no order. */
int llm_usage_sums(struct db *db, const struct llm_filter *filter, enum llm_width width,
                   llm_row_fn *on_row, void *ctx, struct error *err) MUST_CHECK;

/* Reports, in no order or grouped by run. */
int llm_usage_read(struct db *db, const struct llm_filter *filter, bool by_run, llm_row_fn *on_row,
                   void *ctx, struct error *err) MUST_CHECK;

extern const struct db_query llm_usage_of_runs; /* exported for tests */

/* The reports of these runs (struct str), grouped by run; reads no others. */
int llm_usage_read_of_runs(struct db *db, int64_t tenant_id, const struct list *run_ids,
                           llm_row_fn *on_row, void *ctx, struct error *err) MUST_CHECK;
