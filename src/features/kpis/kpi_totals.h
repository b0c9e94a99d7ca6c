/* kpi_totals.h - what reads of KPIs have in common; private to this folder. */
#pragma once
#include "features/kpis/kpi_reads_store.h"
#include "features/kpis/kpis.h"
#include "shape/shape.h"

/* Why agent_name is asked for: what was declared or reported under one key was cut. */
extern const char kpi_too_many_agents[];

/* The total as JSON text; STR_NULL when there is none. `key` is the one stored. */
int kpi_total_text(const struct kpi_reader *reader, const struct kpi_state *state,
                   enum kpi_total total, struct str key, struct str *ret,
                   struct error *err) MUST_CHECK;

/* How the KPI of several agents is totalled together. */
struct kpi_together {
    struct str unit, agg; /* null when not declared, or units differ */
    enum kpi_total total;
    bool differs; /* the agents do not agree */
};

/* `agents` are the numbers of those that report it; without any, of those that declared it.
 * `undeclared` is the total of an agent that declared nothing. */
struct kpi_together kpi_total_together(const struct list *series, const struct list *declared,
                                       enum kpi_total undeclared);

int kpi_refuse(struct kpi_refusal *refusal, const char *name, struct str value,
               const char *sentence, struct error *err);

/* The number of the agent asked for: 0 when none is, -1 when there is none of that name. */
int kpi_find_agent(const struct kpi_reader *reader, struct str agent_name, int64_t *ret,
                   struct error *err) MUST_CHECK;
