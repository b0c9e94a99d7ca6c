/* runs.c - runs as front ends read them. */
#include "service/runs.h"

#include "api/api.h"
#include "api/call.h"
#include "api/handlers.h"
#include "contract/event.h"
#include "contract/queries.h"
#include "service/engine.h"

static int read_narrative(struct api_call *call, struct db *db, struct error *err)
{
    const struct run_path *path = call->params;
    const struct run_key key = { call->tenant, path->run_id };

    return run_read(engine_event_log(call->api->engine), db, &key, call->arena, call->answer, err);
}

void get_run_events(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct run_narrative);
    call_read(call, read_narrative);
}
