/* usage_routes.c - LLM usage and its cost, as front ends read it. */
#include "features/cost/usage.h"

#include "api/api.h"
#include "api/call.h"
#include "api/handlers.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "features/cost/usage_shapes.h"

static int read_usage(struct api_call *call, struct db *db, struct error *err)
{
    const struct usage_query *query = call->query;
    struct usage_request request = { .tenant = call->tenant,
                                     .prices = engine_prices(call->api->engine),
                                     .agent_name = query->agent_name,
                                     .run_id = query->run_id,
                                     .kpi = query->kpi };
    const char *sentence = timerange_parse(query->time_range, clock_wall_us(), &request.range);

    if (sentence == NULL)
        sentence = timerange_parse_groups(query->group_by, &request.groups);
    if (sentence != NULL) /* the query's rules have read both */
        return err_set(err, ERR_INTERNAL, "%s", sentence);
    return usage_read(db, &request, call->arena, call->answer, err);
}

void get_usage(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct usage_answer);
    call_read(call, read_usage);
}
