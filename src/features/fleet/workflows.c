/* workflows.c - reads the runs of a workflow, and checks inputs against earlier outputs. */
#include "features/fleet/routes.h"

#include "api/call.h"
#include "db/db.h"
#include "features/access/registry.h"
#include "features/events/shapes.h"
#include "features/fleet/shapes.h"
#include "features/fleet/workflow_links.h"
#include "features/fleet/workflows_store.h"

/* One failed run makes the workflow failed, even while others are running. */
static void summarize(const struct list *list, struct arena *arena, struct workflow *ret)
{
    struct run_summary *runs = ARENA_ARRAY(arena, struct run_summary, list->n);
    const struct workflow_run *rows = list->items;
    enum run_status status = RUN_COMPLETED;
    bool open = false;

    ret->ended_at = TIME_NULL;
    for (size_t i = 0; i < list->n; i++) {
        runs[i].run_id = rows[i].run_id;
        runs[i].agent_name = rows[i].run.agent_name;
        run_state_summary(&rows[i].run.state, &runs[i]);
        open |= runs[i].ended_at == TIME_NULL;
        if (str_eq_c(runs[i].status, run_status_names[RUN_FAILED]))
            status = RUN_FAILED;
        if (runs[i].ended_at > ret->ended_at)
            ret->ended_at = runs[i].ended_at;
    }
    if (open) {
        status = status == RUN_FAILED ? RUN_FAILED : RUN_IN_PROGRESS;
        ret->ended_at = TIME_NULL;
    }
    ret->status = str_of(run_status_names[status]);
    ret->started_at = runs[0].started_at;
    ret->runs = (struct list){ runs, list->n };
}

static struct workflow_listed *to_listed(const struct list *found, struct arena *arena)
{
    const struct workflow_found *all = found->items;
    struct workflow_listed *listed = ARENA_ARRAY(arena, struct workflow_listed, found->n + 1);

    for (size_t i = 0; i < found->n; i++)
        listed[i].workflow_run_id = all[i].workflow_run_id;
    return listed;
}

/* Sums up the agents of one workflow, in the order of their first runs. */
static int complete(struct db *db, int64_t tenant_id, struct workflow_listed *one,
                    struct arena *arena, struct error *err)
{
    struct str *names;
    const struct workflow_agent *agents;
    struct list found;
    int64_t open = 0;

    if (store_workflow_agents(db, tenant_id, one->workflow_run_id, arena, &found, err) != 0)
        return -1;
    agents = found.items;
    names = ARENA_ARRAY(arena, struct str, WORKFLOW_AGENTS_MAX);
    one->started_at = INT64_MAX;
    one->ended_at = TIME_NULL;
    for (size_t i = 0; i < found.n; i++) {
        if (i < WORKFLOW_AGENTS_MAX)
            names[i] = agents[i].agent_name;
        one->runs += agents[i].runs;
        one->failed += agents[i].failed;
        open += agents[i].open;
        if (agents[i].first_at < one->started_at)
            one->started_at = agents[i].first_at;
        if (agents[i].last_at > one->ended_at)
            one->ended_at = agents[i].last_at;
    }
    one->agents =
        (struct list){ names, found.n < WORKFLOW_AGENTS_MAX ? found.n : WORKFLOW_AGENTS_MAX };
    if (open > 0)
        one->ended_at = TIME_NULL;
    one->truncated = one->runs == WORKFLOW_RUNS_MAX;
    one->status = str_of(run_status_names[one->failed > 0 ? RUN_FAILED
                                          : open > 0      ? RUN_IN_PROGRESS
                                                          : RUN_COMPLETED]);
    if (one->truncated)
        return store_workflow_start(db, tenant_id, one->workflow_run_id, &one->started_at, err);
    return 0;
}

/* Makes the status of a workflow whose first runs are listed that of its newest runs, too. */
static int cover_newest(const struct workflow_source *source, struct workflow *ret,
                        struct error *err)
{
    struct workflow_listed newest = { .workflow_run_id = ret->workflow_run_id };
    const char *failed = run_status_names[RUN_FAILED];
    bool open;

    if (complete(source->db, source->tenant_id, &newest, source->arena, err) != 0)
        return -1;
    open = ret->ended_at == TIME_NULL || newest.ended_at == TIME_NULL;
    if (open)
        ret->ended_at = TIME_NULL;
    else if (newest.ended_at > ret->ended_at)
        ret->ended_at = newest.ended_at;
    if (str_eq_c(newest.status, failed))
        ret->status = newest.status;
    else if (!str_eq_c(ret->status, failed))
        ret->status = str_of(run_status_names[open ? RUN_IN_PROGRESS : RUN_COMPLETED]);
    return 0;
}

static int load_workflow(struct api_call *call, struct db *db, struct error *err)
{
    const struct workflow_source source = { db, call->tenant_id, call->arena };
    const struct workflow_path *path = call->params;
    struct workflow *ret = call->answer;
    struct workflow_runs found;

    if (store_workflow_runs(db, call->tenant_id, path->workflow_run_id, call->arena, &found, err) !=
        0)
        return -1;
    if (found.runs.n == 0)
        return err_set(err, ERR_NOT_FOUND, "There is no workflow '%.*s' in tenant '%.*s'",
                       STR_ARG(path->workflow_run_id), STR_ARG(call->tenant->slug));
    *ret = (struct workflow){ .workflow_run_id = path->workflow_run_id };
    summarize(&found.runs, call->arena, ret);
    if (found.more && cover_newest(&source, ret, err) != 0)
        return -1;
    ret->truncated = found.more;
    return workflow_link_runs(&source, &found.runs, &ret->links, &ret->links_truncated, err);
}

int workflow_read(struct api_call *call, struct db *db, struct error *err)
{
    if (db_begin(db, err) != 0)
        return -1;
    return db_end_read(db, load_workflow(call, db, err));
}

static int load_list(struct api_call *call, struct db *db, struct error *err)
{
    const struct workflows_query *query = call->query;
    const struct workflow_span span = { call->tenant_id, query->range.since, query->range.until,
                                        query->limit };
    struct workflow_list *ret = call->answer;
    struct workflows_found found;
    struct workflow_listed *listed;

    if (store_workflows(db, &span, call->arena, &found, err) != 0)
        return -1;
    listed = to_listed(&found.workflows, call->arena);
    for (size_t i = 0; i < found.workflows.n; i++)
        if (complete(db, call->tenant_id, &listed[i], call->arena, err) != 0)
            return -1;
    *ret =
        (struct workflow_list){ { listed, found.workflows.n }, found.more, found.examined_since };
    return 0;
}

int workflow_list_read(struct api_call *call, struct db *db, struct error *err)
{
    if (db_begin(db, err) != 0)
        return -1;
    return db_end_read(db, load_list(call, db, err));
}
