/* report.c - what the routes on which agents report have in common. */
#include "features/agents/report.h"

#include "api/call.h"
#include "base/clock.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "http/exchange.h"

int report_words(struct api_call *call, enum verdict verdict, struct str agent_name,
                 struct report_words *ret, struct error *err)
{
    const struct tenant_entry *tenant = call->key->tenant;

    *ret = (struct report_words){ .status = STR_LIT("accepted") };
    switch (verdict) {
    case VERDICT_AGENT_CAP:
        return call_refuse(call, err, 403,
                           "Agent cap reached: the plan of tenant '%.*s' allows %lld agents",
                           STR_ARG(tenant->slug), (long long)atomic_load(&tenant->max_agents));
    case VERDICT_AGENT_DISABLED:
        ret->status = STR_LIT("rejected");
        ret->reason = STR_LIT("agent_disabled");
        ret->detail = arena_printf(call->arena, "Agent '%.*s' is disabled", STR_ARG(agent_name));
        break;
    case VERDICT_DUPLICATE:
        ret->status = STR_LIT("duplicate");
        break;
    case VERDICT_ACCEPTED:
        break;
    }
    return 0;
}

int report_begin(struct api_call *call, struct str client_id, struct str agent_name,
                 struct report_request **ret, struct error *err)
{
    struct report_request *request;

    if (auth_may_report(call, client_id.len == 0 ? STR_NULL : client_id, agent_name, err) != 0)
        return -1;
    request = ARENA_NEW(call->arena, struct report_request);
    request->tenant = call->key->tenant;
    request->arena = call->arena;
    request->bytes = call->exchange->request.body.len;
    request->received_at = clock_wall_us();
    call->own = request;
    *ret = request;
    return 0;
}
