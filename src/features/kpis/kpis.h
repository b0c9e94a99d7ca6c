/* kpis.h - reading business KPIs: the catalog, totals, trends and breakdowns.
 *
 * Each function takes one unchanging view of the database. Answers are in the
 * arena, and the same bytes whichever store they come from.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/kpis/kpi_state.h"
#include "shape/timerange.h"

struct breakdown_query;
struct db;
struct kpi_breakdown;
struct kpi_catalog;
struct kpi_series_answer;
struct kpi_summary;
struct series_query;
struct summary_query;

/* For whom, when, and into which memory. */
struct kpi_reader {
    struct db *db;
    int64_t tenant_id;
    int64_t now; /* that ranges such as 30d end at */
    struct arena *arena;
};

/* A question that cannot be answered as it was put: ERR_INVALID is returned with it. */
struct kpi_refusal {
    const char *name; /* of the query's member */
    struct str value; /* what it was; STR_NULL: not given */
    const char *sentence;
};

enum { KPI_ROWS_MAX = 10000, BREAKDOWN_ROWS_MAX = 1000 };

/* By agent and key. */
int kpis_catalog(const struct kpi_reader *reader, struct kpi_catalog *ret,
                 struct error *err) MUST_CHECK;

/* The declared KPIs, and those reported in the range without being declared; by agent and key, at
 * most KPI_ROWS_MAX. */
int kpis_summary(const struct kpi_reader *reader, const struct summary_query *query,
                 struct kpi_summary *ret, struct error *err) MUST_CHECK;

int kpis_series(const struct kpi_reader *reader, const struct series_query *query,
                struct kpi_series_answer *ret, struct kpi_refusal *refusal,
                struct error *err) MUST_CHECK;

/* Of the sets of dimensions that a run reported in the range, the smallest that has those asked
 * for counts (of the same size the first by name), so that nothing counts twice. */
int kpis_breakdown(const struct kpi_reader *reader, const struct breakdown_query *query,
                   struct kpi_breakdown *ret, struct kpi_refusal *refusal,
                   struct error *err) MUST_CHECK;

/* One KPI over a range as one number: of an agent, or of all together. */
struct kpi_question {
    struct str key, agent_name; /* null: of all */
    struct time_range range;
};

struct kpi_value_of {
    bool has;         /* there is a number */
    bool is_sum;      /* it is, or would be, a sum */
    int64_t agent_id; /* 0: of all; -1: there is no such agent */
    double value;
};

/* Agents that total it in different ways have none, nor have more than KPI_ROWS_MAX. */
int kpis_value(const struct kpi_reader *reader, const struct kpi_question *question,
               struct kpi_value_of *ret, struct error *err) MUST_CHECK;

/* A number or string as JSON text. */
struct str kpi_value_text(const struct kpi_value *value, struct str string, struct arena *arena);
