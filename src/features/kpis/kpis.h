/* kpis.h - reads business KPIs: the catalog, totals, series and breakdowns.
 *
 * Each function reads one snapshot of the database. Answers are in the arena,
 * and identical for SQLite and PostgreSQL.
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
struct kpi_reports;
struct kpi_reports_query;
struct kpi_series_answer;
struct kpi_summary;
struct series_query;
struct summary_query;

/* The arguments of every read. */
struct kpi_reader {
    struct db *db;
    int64_t tenant_id;
    int64_t now; /* the end of ranges such as 30d */
    struct arena *arena;
};

/* Why a query cannot be answered; set when ERR_INVALID is returned. */
struct kpi_refusal {
    const char *name; /* of the query parameter */
    struct str value; /* STR_NULL: not set */
    const char *sentence;
};

enum { KPI_ROWS_MAX = 10000, BREAKDOWN_ROWS_MAX = 1000, RUN_KPIS_MAX = 1000 };

/* Ordered by agent and key. */
int kpis_catalog(const struct kpi_reader *reader, struct kpi_catalog *ret,
                 struct error *err) MUST_CHECK;

/* The declared KPIs, and those reported in the range but not declared; ordered by agent and key, at
 * most KPI_ROWS_MAX. */
int kpis_summary(const struct kpi_reader *reader, const struct summary_query *query,
                 struct kpi_summary *ret, struct error *err) MUST_CHECK;

int kpis_series(const struct kpi_reader *reader, const struct series_query *query,
                struct kpi_series_answer *ret, struct kpi_refusal *refusal,
                struct error *err) MUST_CHECK;

/* Of the sets of dimensions that a run reported in the range, only the smallest that contains all
 * requested ones counts (of the same size the first by name), so that nothing counts twice. */
int kpis_breakdown(const struct kpi_reader *reader, const struct breakdown_query *query,
                   struct kpi_breakdown *ret, struct kpi_refusal *refusal,
                   struct error *err) MUST_CHECK;

/* The values of one KPI of one agent, newest first. */
int kpis_reports(const struct kpi_reader *reader, const struct kpi_reports_query *query,
                 struct kpi_reports *ret, struct kpi_refusal *refusal,
                 struct error *err) MUST_CHECK;

/* One KPI over a range as one number: of one agent, or of all. */
struct kpi_question {
    struct str key, agent_name; /* agent_name null: all agents */
    struct time_range range;
};

struct kpi_value_of {
    bool has;         /* `value` is set */
    bool is_sum;      /* it is, or would be, a sum */
    int64_t agent_id; /* 0: all agents; -1: unknown agent */
    double value;
};

/* No value if agents total it in different ways, or there are more than KPI_ROWS_MAX of them. */
int kpis_value(const struct kpi_reader *reader, const struct kpi_question *question,
               struct kpi_value_of *ret, struct error *err) MUST_CHECK;

/* A number or string as JSON text. */
struct str kpi_value_text(const struct kpi_value *value, struct str string, struct arena *arena);
