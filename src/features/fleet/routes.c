/* routes.c - agents and workflows as front ends read them. */
#include "features/agents/shapes.h"
#include "features/fleet/fleet.h"

#include "api/api.h"
#include "api/call.h"
#include "api/handlers.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "features/agents/agents.h"
#include "features/fleet/shapes.h"
#include "features/fleet/workflows.h"

static struct fleet_view view_of(const struct api_call *call)
{
    return (struct fleet_view){ .tenant = call->tenant,
                                .last_seen = engine_last_seen(call->api->engine),
                                .directives = agents_directives(call->api->engine),
                                .now_us = clock_wall_us() };
}

static int read_agents(struct api_call *call, struct db *db, struct error *err)
{
    const struct fleet_view view = view_of(call);

    return fleet_list(db, &view, call->query, call->arena, call->answer, err);
}

void get_agents(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct agent_list);
    call_read(call, read_agents);
}

static int read_agent(struct api_call *call, struct db *db, struct error *err)
{
    const struct agent_path *path = call->params;
    const struct fleet_view view = view_of(call);

    return fleet_agent(db, &view, path->agent_name, call->arena, call->answer, err);
}

void get_agent(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct agent_detail);
    call_read(call, read_agent);
}

static int read_workflow(struct api_call *call, struct db *db, struct error *err)
{
    const struct workflow_path *path = call->params;

    return workflow_read(db, call->tenant, path->workflow_run_id, call->arena, call->answer, err);
}

void get_workflow(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct workflow);
    call_read(call, read_workflow);
}
