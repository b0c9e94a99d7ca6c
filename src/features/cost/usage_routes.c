/* usage_routes.c - LLM usage and its cost, as front ends read it. */
#include "features/cost/usage.h"

#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "features/access/shapes.h"
#include "features/cost/prices.h"
#include "features/cost/routes.h"
#include "features/cost/usage_shapes.h"

static int read_usage(struct api_call *call, struct db *db, struct error *err)
{
    const struct usage_query *query = call->query;
    struct usage_request request = { .tenant = call->tenant,
                                     .prices = cost_prices(call->api->engine),
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

/* clang-format off */
const struct route usage_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/llm/usage", READ, 200), .read = read_usage, .also = ALSO_CONFLICT, .params = &tenant_path_shape, .query = &usage_query_shape, .answer = &usage_answer_shape, .tagged = true,
      .id = "get_llm_usage", .summary = "Get LLM usage and cost",
      .description = "Tokens and cost, grouped by `group_by`: `model`, `agent`, `run`, `day` or a comma-separated list of them. Tokens of models without a price are counted; their cost is unknown and the model is listed in `unpriced`." },
    { 0 },
};
/* clang-format on */
