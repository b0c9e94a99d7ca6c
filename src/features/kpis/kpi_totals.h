/* kpi_totals.h - shared by all reads of KPIs; private to this folder. */
#pragma once
#include "api/route.h"
#include "features/kpis/kpi_reads.h"
#include "features/kpis/kpis.h"
#include "shape/rows.h"
#include "shape/shape.h"

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

/* The id of the agent: 0 when agent_name is null, -1 when there is no agent of that name. */
int kpi_find_agent(const struct kpi_reader *reader, struct str agent_name, int64_t *ret,
                   struct error *err) MUST_CHECK;

/* The reads of the routes, each of one snapshot of the database. */

/* Ordered by agent and key. */
call_work_fn kpis_catalog;

/* As kpis_summary() of kpis.h. */
call_work_fn kpis_read_summary;

call_work_fn kpis_series;

/* Of the sets of dimensions that a run reported in the range, only the smallest that contains all
 * requested ones counts (of the same size the first by name), so that nothing counts twice. */
call_work_fn kpis_breakdown;

/* The values of one KPI of one agent, newest first. */
call_work_fn kpis_reports;
