/* kpi_totals.h - shared by all reads of KPIs; private to this folder. */
#pragma once
#include "api/route.h"
#include "features/kpis/kpi_reads.h"
#include "features/kpis/kpis.h"
#include "shape/rows.h"
#include "shape/shape.h"

/* The refusal that asks for an agent_name: the list of agents with this key was cut. */
extern const char kpi_too_many_agents[];

/* Totals that are texts, which are read together: a statement for each would be a turn over the
 * network for each row of an answer. */
struct kpi_texts {
    const struct kpi_reader *reader;
    struct rows wanted, places; /* of struct kpi_text, and of struct str *: where each goes */
    bool too_long;
};

struct kpi_texts kpi_texts_of(const struct kpi_reader *reader);

/* The total as JSON text, or STR_NULL. `key` is as stored. A text is there after kpi_texts_read():
 * *ret must not move before. */
void kpi_total_text(struct kpi_texts *texts, const struct kpi_state *state, enum kpi_total total,
                    struct str key, struct str *ret);
int kpi_texts_read(struct kpi_texts *texts, struct error *err) MUST_CHECK;

/* How a KPI that several agents report is totalled. */
struct kpi_together {
    struct str unit, agg; /* null when not declared; unit also when they differ */
    enum kpi_total total;
    bool differs; /* the agents total it in different ways */
};

/* Considers the agents of `series`, which reported it; without any, those that declared it.
 * `undeclared` is the total for an agent that did not declare it. */
struct kpi_together kpi_total_together(const struct list *series, const struct list *declared,
                                       enum kpi_total undeclared);

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
