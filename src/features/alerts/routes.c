/* routes.c - alerts as users read them, and muting of agents. */
#include "features/alerts/alerts.h"

#include "api/call.h"
#include "features/access/shapes.h"
#include "features/agents/shapes.h"
#include "features/alerts/routes.h"
#include "features/alerts/shapes.h"

static int list_alerts(struct api_call *call, struct db *db, struct error *err)
{
    return alerts_list(db, call->tenant, call->query, call->arena, call->answer, err);
}

/* Without a body (DELETE) it unmutes. */
static int mute_agent(struct api_call *call, struct db *db, struct error *err)
{
    const struct agent_path *path = call->params;
    const struct mute_set *set = call->body;
    struct mute_state *answer = call->answer;

    call->audit_target = path->agent_name;
    *answer = (struct mute_state){ path->agent_name, set == NULL ? TIME_NULL : set->until };
    return alerts_mute(db, call->tenant_id, answer, err);
}

/* clang-format off */
const struct route alert_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/alerts", READ, 200), .read = list_alerts, .params = &tenant_path_shape, .query = &alerts_query_shape, .answer = &alert_list_shape, .tagged = true,
      .id = "list_alerts", .summary = "List alerts, newest first",
      .description = "Silent agents, failed and stuck runs, KPIs beyond a threshold and exceeded budgets. Pass `next` as `cursor` to read on; only a null `next` is the end." },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/agents/{agent_name}/mute", MEMBER, 200), .change = mute_agent, .topic = CHANGE_NOTHING, .params = &agent_path_shape, .body = &mute_set_shape, .answer = &mute_state_shape, .audit = "agent.mute",
      .id = "mute_agent", .summary = "Mute an agent's alerts",
      .description = "Until `until`, alerts of the agent are listed but not sent to webhooks. One that is still open then is sent." },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/agents/{agent_name}/mute", MEMBER, 200), .change = mute_agent, .topic = CHANGE_NOTHING, .params = &agent_path_shape, .answer = &mute_state_shape, .audit = "agent.unmute",
      .id = "unmute_agent", .summary = "Unmute an agent's alerts",
      .description = "Open alerts that were muted are sent to webhooks." },
    { 0 },
};
/* clang-format on */
