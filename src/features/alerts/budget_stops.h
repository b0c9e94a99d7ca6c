/* budget_stops.h - the hard budgets that are exceeded, in memory: an agent that asks for its model
 * is told to stop instead.
 *
 * A hard budget is in force while its alert is open and its period is not over. So a restart does
 * not lift it, and removing, pausing or raising the budget does, within seconds. The service is not
 * between agents and models: it can only answer what they ask, which they do before every run. So
 * nothing stops in the middle of its work, and reports are stored as ever.
 *
 * Loaded by budget_stops_watch every two seconds. Thread-safe.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"

struct agent_model;
struct budget_stops;

struct budget_stops *budget_stops_new(void);

/* NULL is fine. */
void budget_stops_free(struct budget_stops *s);

/* A directives_stop_fn; `stops` is a struct budget_stops. */
struct str budget_stops_find(void *stops, int64_t tenant_id, const struct agent_model *model,
                             struct arena *arena);
