/* workflow_links.h - which run of a workflow follows which, and whether it gets its inputs. */
#pragma once
#include "base/err.h"
#include "shape/shape.h"

struct db;

/* Where the declarations of agents are read. */
struct workflow_source {
    struct db *db;
    int64_t tenant_id;
    struct arena *arena;
};

/* The links between runs (of struct workflow_run, by start) as struct workflow_link, in the order
 * of the runs that they lead to. *ret_cut: those to the latest runs are left out; of a run, all are
 * listed or none.
 *
 * A run follows the runs whose agents output what its own agent requires: for each input the latest
 * that had ended when it began, rather one that no run of the same agent took yet. A run that gets
 * nothing that way follows those that ended before it began and after which no other of them began:
 * runs that overlap are parallel. */
int workflow_link_runs(const struct workflow_source *source, const struct list *runs,
                       struct list *ret, bool *ret_cut, struct error *err) MUST_CHECK;
