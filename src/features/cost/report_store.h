/* report_store.h - LLM usage as rows: tokens only, cost is computed when read. */
#pragma once
#include "base/err.h"
#include "features/agents/report_key.h"
#include "features/cost/llm_totals.h"

struct db;
struct llm_usage;

/* Stores the usage, or replaces the one of the same (tenant, agent, run, model, timestamp). The
 * same numbers again change nothing. What it changes in the sums is gathered in `totals`. */
int store_llm_put(struct db *db, const struct report_key *place, const struct llm_usage *usage,
                  struct llm_totals *totals, struct error *err) MUST_CHECK;

/* Usage to be read: from `since` on, before `until`. */
struct llm_filter {
    int64_t tenant_id;
    int64_t since, until; /* for sums: of their starts */
    int64_t agent_id;     /* 0: of all agents */
    struct str run_id;    /* STR_NULL: of all runs; sums have none */
};

/* A report, or a sum of them; strings are borrowed until the next. */
struct llm_row {
    int64_t agent_id;
    struct str model;
    struct str run_id; /* of a report */
    struct llm_counts counts;
    int64_t start; /* of a report: its timestamp; so are the next two */
    int64_t first_at, last_at;
    int64_t n_large, fresh; /* of a sum */
};

/* Must not use the db. */
typedef void llm_row_fn(void *ctx, const struct llm_row *row);

/* Sums of hours or days, in no order. */
int store_llm_totals(struct db *db, const struct llm_filter *filter, enum llm_width width,
                     llm_row_fn *on_row, void *ctx, struct error *err) MUST_CHECK;

/* Reports, in no order; and so that those of one run follow each other. */
int store_llm_usage(struct db *db, const struct llm_filter *filter, llm_row_fn *on_row, void *ctx,
                    struct error *err) MUST_CHECK;
int store_llm_usage_by_run(struct db *db, const struct llm_filter *filter, llm_row_fn *on_row,
                           void *ctx, struct error *err) MUST_CHECK;
