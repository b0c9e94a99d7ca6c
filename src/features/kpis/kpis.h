/* kpis.h - reads totals of business KPIs.
 *
 * Each function reads one snapshot of the database. Answers are in the arena,
 * and identical for SQLite and PostgreSQL.
 */
#pragma once
#include "api/route.h"
#include "base/arena.h"
#include "base/err.h"
#include "features/kpis/kpi_reads.h"
#include "shape/rows.h"

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

enum { KPI_ROWS_MAX = 10000, BREAKDOWN_ROWS_MAX = 1000 };

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

/* What follows is private to this folder. */

/* The refusal that asks for an agent_name: the list of agents with this key was cut. */
extern const char kpi_too_many_agents[];

/* The total as JSON text, or STR_NULL. `key` is as stored. A total that is a text is added to
 * `texts`, of struct kpi_text, since a statement for each would be a turn over the network for each
 * row of an answer: it is there after kpi_reads_texts(), and *ret must not move before. */
void kpi_total_text(struct rows *texts, const struct kpi_state *state, enum kpi_total total,
                    struct str key, struct str *ret);

/* How a KPI that several agents report is totalled. */
struct kpi_together {
    struct str unit, agg; /* null when not declared; unit also when they differ */
    enum kpi_total total;
    bool differs; /* the agents total it in different ways */
    bool cut;     /* there are too many of them */
    size_t n;     /* of `agents` */
};

/* Considers `agents` (of struct kpi_series), or with NULL those that reported the source's key;
 * without any, those that declared it. `undeclared` is the total for an agent that did not declare
 * it. */
int kpi_together_of(const struct kpi_reader *reader, const struct kpi_source *source,
                    const struct list *agents, enum kpi_total undeclared, struct kpi_together *ret,
                    struct error *err) MUST_CHECK;

/* The reader of a route. */
struct kpi_reader kpi_reader_of(struct api_call *call, struct db *db);

/* What only reading shows to be wrong with the query is refused as its shape would. */
int kpi_refuse(const struct kpi_reader *reader, const char *name, struct str value,
               const char *sentence, struct error *err);

/* The reads of the routes, each of one snapshot of the database. */

/* Ordered by agent and key. */
call_work_fn kpis_catalog;

/* As kpis_summary(). */
call_work_fn kpis_read_summary;

call_work_fn kpis_series;

/* Of the sets of dimensions that a run reported in the range, only the smallest that contains all
 * requested ones counts (of the same size the first by name), so that nothing counts twice. */
call_work_fn kpis_breakdown;

/* The values of one KPI of one agent, newest first. */
call_work_fn kpis_reports;
