/* counted_runs.h - an agent's newest runs by status and version.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "shape/shape.h"

struct agent_detail;

enum { COUNTED_RUNS = 1000 };

/* Fills in versions and counts from the newest COUNTED_RUNS + 1 runs (struct recent_run), the
 * newest first; strings are in the arena. Leaves those that are counted. */
void count_runs(struct list *runs, struct arena *arena, struct agent_detail *ret);
