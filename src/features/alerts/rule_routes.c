/* rule_routes.c - the alert rules of a tenant. */
#include "api/call.h"
#include "engine/txn.h"
#include "features/access/shapes.h"
#include "features/alerts/routes.h"
#include "features/alerts/rule_shapes.h"
#include "features/alerts/rules.h"

static int show_rules(struct api_call *call, struct db *db, struct error *err)
{
    return alert_rules_show(db, call->tenant_id, call->arena, call->answer, err);
}

static int set_rules(struct api_call *call, struct db *db, struct error *err)
{
    const struct alert_rules *rules = call->body;

    call->audit_detail =
        arena_printf(call->arena,
                     "{\"run_failed\":%s,\"run_stuck\":%s,\"kpis\":%zu,\"budgets\":%zu,"
                     "\"failure_rates\":%zu,\"durations\":%zu}",
                     rules->run_failed ? "true" : "false", rules->run_stuck ? "true" : "false",
                     rules->kpis.n, rules->budgets.n, rules->failure_rates.n, rules->durations.n);
    if (alert_rules_set(db, call->tenant_id, rules, call->change.write.txn->notes, call->arena,
                        err) != 0)
        return -1;
    return show_rules(call, db, err);
}

/* clang-format off */
const struct route rule_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/rules", MEMBER, 200), .read = show_rules, .params = &tenant_path_shape, .answer = &alert_rules_shape,
      .id = "get_alert_rules", .summary = "Get a workspace's alert rules",
      .description = "Which alerts are raised beside those for silent agents." },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/rules", ADMIN, 200), .change = set_rules, .params = &tenant_path_shape, .body = &alert_rules_shape, .answer = &alert_rules_shape, .audit = "rules.set",
      .id = "set_alert_rules", .summary = "Replace a workspace's alert rules",
      .description = "Members that are left out get their defaults. Alerts of a rule that is removed are closed without a message." },
    { 0 },
};
/* clang-format on */
