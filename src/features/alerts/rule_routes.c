/* rule_routes.c - what a tenant wants to be alerted of. */
#include "api/call.h"
#include "api/handlers.h"
#include "engine/txn.h"
#include "features/access/registry.h"
#include "features/alerts/rules.h"

static int show(struct api_call *call, struct db *db, struct error *err)
{
    return alert_rules_show(db, call->tenant->id, call->arena, call->answer, err);
}

void get_rules(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct alert_rules);
    call_read(call, show);
}

static int set(struct api_call *call, struct db *db, struct error *err)
{
    const struct alert_rules *rules = call->body;

    call->audit_detail = arena_printf(
        call->arena, "{\"run_failed\":%s,\"run_stuck\":%s,\"kpis\":%zu,\"budgets\":%zu}",
        rules->run_failed ? "true" : "false", rules->run_stuck ? "true" : "false", rules->kpis.n,
        rules->budgets.n);
    if (alert_rules_set(db, call->tenant->id, rules, call->change.write.txn->notes, call->arena,
                        err) != 0)
        return -1;
    return show(call, db, err);
}

void set_rules(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct alert_rules);
    call_change(call, set);
}
