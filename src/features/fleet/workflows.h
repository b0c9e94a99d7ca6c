/* workflows.h - workflows: a list, and the runs of one with whether each gets its inputs. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct db;
struct tenant_entry;
struct workflow;
struct workflow_list;
struct workflows_query;

/* Its earliest 1,000 runs (its status is that of the newest 1,000, too), in the arena, and the
 * links between them (workflow_links.h): every required input of a run's agent must be an output of
 * the agent of a run that had ended before it began, with the same type or `any` on either side.
 * ERR_NOT_FOUND. */
int workflow_read(struct db *db, const struct tenant_entry *tenant, struct str workflow_run_id,
                  struct arena *arena, struct workflow *ret, struct error *err) MUST_CHECK;

/* The workflows of the newest 10,000 runs of the query's range, the latest first, in the arena.
 * Each is summed up over its newest 1,000 runs, also those outside the range. */
int workflow_list_read(struct db *db, const struct tenant_entry *tenant,
                       const struct workflows_query *query, struct arena *arena,
                       struct workflow_list *ret, struct error *err) MUST_CHECK;
