/* usage_kpi.h - a KPI next to the cost, and the cost per unit of it.
 *
 * Only a KPI totalled as a sum can be counted in units: agents that declared it
 * with another agg are left out, those that did not declare it are included.
 *
 * One thread at a time.
 */
#pragma once
#include "base/map.h"
#include "features/cost/cost.h"
#include "features/cost/usage.h"
#include "features/kpis/kpi_state.h"

struct usage_kpi {
    struct arena *arena;
    bool by_agent, by_day;
    struct list series; /* of struct kpi_series, by series_no */
    struct map parts;   /* agent and day -> struct kpi_state */
    struct kpi_state total;
};

/* `agent_id` 0: all agents. Call usage_kpi_done() afterwards, also after a failure. */
int usage_kpi_read(struct usage_kpi *kpi, struct db *db, const struct usage_request *request,
                   int64_t agent_id, struct arena *arena, struct error *err) MUST_CHECK;

void usage_kpi_done(struct usage_kpi *kpi);

/* Adds the value and the cost per unit, if there is one. */
void usage_kpi_fill_total(const struct usage_kpi *kpi, const struct cost_sum *sum,
                          struct usage_sums *ret);
void usage_kpi_fill_part(const struct usage_kpi *kpi, int64_t agent_id, int64_t day,
                         const struct cost_sum *sum, struct usage_sums *ret);
