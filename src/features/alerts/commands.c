/* commands.c - what a tenant is alerted of, on the command line. */
#include <math.h>
#include <stdio.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "features/alerts/rule_shapes.h"

static void say_kpi(const struct kpi_rule *rule)
{
    (void)printf("kpi        %.*s over %.*s", STR_ARG(rule->key), STR_ARG(rule->range));
    if (!str_is_null(rule->agent_name))
        (void)printf(" of agent '%.*s'", STR_ARG(rule->agent_name));
    if (!isnan(rule->below))
        (void)printf(", below %.15g", rule->below);
    if (!isnan(rule->above))
        (void)printf(", above %.15g", rule->above);
    (void)printf("\n");
}

/* Sends the request and says, for people, what holds then. */
static int do_rules(struct invocation *in, struct client_request *request)
{
    const struct budget_rule *budgets;
    const struct kpi_rule *kpis;
    struct client_reply reply;
    struct alert_rules rules;
    struct error err = { 0 };

    if (ask_tenant_path(in, command_flag(in, "tenant"), "/rules", &request->path, &err) != 0 ||
        ask_send(in, request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &alert_rules_shape, &in->arena, &rules, &err) != 0)
        return command_fail(&err);
    (void)printf("run_failed %s\nrun_stuck  %s\n", rules.run_failed ? "on" : "off",
                 rules.run_stuck ? "on" : "off");
    kpis = rules.kpis.items;
    for (size_t i = 0; i < rules.kpis.n; i++)
        say_kpi(&kpis[i]);
    budgets = rules.budgets.items;
    for (size_t i = 0; i < rules.budgets.n; i++)
        (void)printf("budget     %.*s USD a %s\n", STR_ARG(budgets[i].amount),
                     budget_period_names[budgets[i].per]);
    return EXIT_DONE;
}

int run_rule_show(struct invocation *in)
{
    return do_rules(in, &(struct client_request){ .method = METHOD_GET });
}

int run_rule_set(struct invocation *in)
{
    struct client_request request = { .method = METHOD_PUT };
    struct error err = { 0 };

    if (ask_file(in, in->names[0], MIB(1), &request.body, &err) != 0)
        return command_fail(&err);
    return do_rules(in, &request);
}
