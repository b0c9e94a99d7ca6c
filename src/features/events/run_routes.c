/* run_routes.c - runs as front ends read them. */
#include "features/events/runs.h"

#include "api/api.h"
#include "api/call.h"
#include "api/handlers.h"
#include "engine/engine.h"
#include "features/access/registry.h"
#include "features/events/runs_store.h"
#include "features/events/shapes.h"

enum { SHORT_PAGE = 100 }; /* runs */

static int read_narrative(struct api_call *call, struct db *db, struct error *err)
{
    const struct run_path *path = call->params;
    const struct run_key key = { call->tenant, path->run_id };

    return run_read(engine_event_log(call->api->engine), db, &key, call->arena, call->answer, err);
}

void get_run_events(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct run_narrative);
    call_read_inline(call, read_narrative);
}

static int read_list(struct api_call *call, struct db *db, struct error *err)
{
    return run_list_read(db, call->tenant, call->query, call->arena, call->answer, err);
}

/* Not if it looks at more runs than it lists, or at what belongs to them. */
static bool is_short(const struct runs_query *query)
{
    const bool filters = query->status >= 0 ||
                         (!str_is_null(query->agent_name) && !str_is_null(query->workflow_run_id));

    return !filters && !query->include_steps && query->limit <= SHORT_PAGE;
}

void get_runs(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct run_list);
    if (is_short(call->query))
        call_read_inline(call, read_list);
    else
        call_read(call, read_list);
}

enum { REBUILD_STEP = 500 }; /* runs in one transaction: others wait meanwhile */

static int rebuild_runs(struct api_call *call, struct db *db, struct error *err)
{
    const struct rebuild_query *query = call->query;
    struct runs_rebuild *answer = call->answer;
    struct runs_rebuilt step;

    if (store_runs_rebuild(db, call->tenant->id, query->after, REBUILD_STEP, &step, err) != 0)
        return -1;
    *answer = (struct runs_rebuild){ step.runs,
                                     step.changed,
                                     { step.last_run_no != 0, step.last_run_no } };
    return 0;
}

void post_runs_rebuild(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct runs_rebuild);
    call_change(call, rebuild_runs);
}
