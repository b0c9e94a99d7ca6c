/* kpis.h - reads totals of business KPIs.
 *
 * Each function reads one snapshot of the database. Answers are in the arena,
 * and identical for SQLite and PostgreSQL.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/kpis/kpi_state.h"
#include "shape/timerange.h"

struct api_call;
struct db;
struct kpi_summary;
struct summary_query;

/* The arguments of every read. */
struct kpi_reader {
    struct db *db;
    int64_t tenant_id;
    int64_t now; /* the end of ranges such as 30d */
    struct arena *arena;
    struct api_call *call; /* whose query may be refused; NULL: there is nothing to refuse */
};

enum { KPI_ROWS_MAX = 10000, BREAKDOWN_ROWS_MAX = 1000, RUN_KPIS_MAX = 1000 };

/* The declared KPIs, and those reported in the range but not declared; ordered by agent and key, at
 * most KPI_ROWS_MAX. */
int kpis_summary(const struct kpi_reader *reader, const struct summary_query *query,
                 struct kpi_summary *ret, struct error *err) MUST_CHECK;

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
