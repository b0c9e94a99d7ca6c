/* kpi_totals.h - shared by all reads of KPIs; private to this folder. */
#pragma once
#include "features/kpis/kpi_reads_store.h"
#include "features/kpis/kpis.h"
#include "shape/shape.h"

/* The refusal that asks for an agent_name: the list of agents with this key was cut. */
extern const char kpi_too_many_agents[];

/* The total as JSON text, or STR_NULL. `key` is as stored. */
int kpi_total_text(const struct kpi_reader *reader, const struct kpi_state *state,
                   enum kpi_total total, struct str key, struct str *ret,
                   struct error *err) MUST_CHECK;

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
