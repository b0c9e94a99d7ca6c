/* workflows.h - the runs of a workflow, and whether each step gets its required inputs. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct db;
struct tenant_entry;
struct workflow;

/* Its earliest 1,000 runs, in the arena, and a link from each to the next: every required input of
 * the later one's agent must be an output of the agent of some earlier run, with the same type or
 * `any` on either side. ERR_NOT_FOUND. */
int workflow_read(struct db *db, const struct tenant_entry *tenant, struct str workflow_run_id,
                  struct arena *arena, struct workflow *ret, struct error *err) MUST_CHECK;
