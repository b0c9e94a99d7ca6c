/* report.c - what the channels on which agents report have in common. */
#include "features/agents/report.h"

#include "api/call.h"
#include "base/clock.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "http/exchange.h"

static void reply_cap(struct api_call *call)
{
    const struct tenant_entry *tenant = call->key->tenant;

    call_reply_error(call, 403, "Agent cap reached: the plan of tenant '%.*s' allows %lld agents",
                     STR_ARG(tenant->slug), (long long)atomic_load(&tenant->max_agents));
}

bool report_words(struct api_call *call, enum verdict verdict, struct str agent_name,
                  struct report_words *ret)
{
    *ret = (struct report_words){ .status = STR_LIT("accepted") };
    switch (verdict) {
    case VERDICT_AGENT_CAP:
        reply_cap(call);
        return false;
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
    return true;
}

static void stored(struct report_request *request, const struct error *err)
{
    struct report_call *report = CONTAINER_OF(request, struct report_call, request);

    call_resume(report->call, err, report->end);
}

struct report_call *report_begin(struct api_call *call, struct str client_id, struct str agent_name,
                                 call_end_fn *end)
{
    struct report_call *report;

    if (!auth_may_report(call, client_id.len == 0 ? STR_NULL : client_id, agent_name))
        return NULL;
    report = ARENA_NEW(call->arena, struct report_call);
    report->call = call;
    report->end = end;
    report->request.done = stored;
    call->answer = report;
    report->request.tenant = call->key->tenant;
    report->request.arena = call->arena;
    report->request.bytes = call->exchange->request.body.len;
    report->request.received_at = clock_wall_us();
    return report;
}
