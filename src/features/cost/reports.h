/* reports.h - reports of LLM usage: as agents send them, on their way into the store, and as rows:
 * tokens only, cost is computed when it is read.
 *
 * The writer applies a report in one transaction, together with other requests.
 */
#pragma once
#include "api/route.h"
#include "base/err.h"
#include "features/agents/admit.h"
#include "features/agents/report.h"
#include "features/cost/llm_totals.h"
#include "shape/shape.h"

struct db_query;

struct llm_usage {
    struct str agent_name, agent_version, client_id, run_id;
    int64_t timestamp;
    struct str model;
    int64_t input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, calls;
    struct str workflow_run_id; /* null */
    struct opt_bool input_includes_cache;
};

struct llm_verdict {
    struct str status; /* accepted, rejected */
    struct str run_id, model;
    bool replaced;             /* an earlier report */
    struct str reason, detail; /* null (left out) unless rejected */
};

extern const struct shape llm_usage_shape, llm_verdict_shape;

struct llm_report {
    struct report report;
    const struct llm_usage *body;
    bool replaced; /* another report */
};

/* Fills in the job of a report that has begun, for the caller to submit. */
void llm_report_prepare(struct llm_report *llm);

/* Stores the usage. Where there is one with the same identity, the two are added: for what is known
 * to be reported once. */
int llm_usage_add(struct db *db, const struct report_key *place, const struct llm_usage *usage,
                  struct llm_totals *totals, struct error *err) MUST_CHECK;

struct llm_agent {
    int64_t tenant_id, agent_id;
};

/* The newest report of an agent. */
struct llm_last {
    struct str model; /* STR_NULL: there is none */
    int64_t at;       /* TIME_NULL */
};

/* Of the day of `until` and the 31 before. The model is in the arena. */
int llm_usage_last(struct db *db, const struct llm_agent *of, int64_t until, struct arena *arena,
                   struct llm_last *ret, struct error *err) MUST_CHECK;

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

extern const struct route llm_report_routes[];
