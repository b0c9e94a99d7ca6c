/* commands.c - a tenant's alert rules on the command line. */
#include "features/alerts/alerts.h"

#include "features/alerts/shapes.h"

#define RULES "/api/v1/tenants/{tenant}/rules"
#define RULES_LINE                                                                                 \
    "run_failed {run_failed?on|off}\nrun_stuck  {run_stuck?on|off}"                                \
    "{kpis*\nkpi        {key} over {range}{agent_name? of agent '{agent_name}'}"                   \
    "{below?, below {below}}{above?, above {above}}{paused? (paused)}}"                            \
    "{budgets*\nbudget     {amount} USD per {per}{agent_name? of agent '{agent_name}'}"            \
    "{model? with model '{model}'}{hard?, hard}{paused? (paused)}}"                                \
    "{failure_rates*\nfailures   above {percent} % of {runs} runs"                                 \
    "{agent_name? of agent '{agent_name}'}{paused? (paused)}}"                                     \
    "{durations*\nduration   p{percentile} of {runs} runs"                                         \
    "{agent_name? of agent '{agent_name}'} above {seconds} s{paused? (paused)}}"                   \
    "{reminder_hours?\nreminder   after {reminder_hours} h}"

/* clang-format off */
const struct command alert_commands[] = {
    { "rule", "show", .options = OPTIONS(TENANT_OPTION),
      .help = "show a tenant's alert rules",
      .examples = "muster rule show --tenant acme",
      .method = METHOD_GET, .path = RULES, .answer = &alert_rules_shape, .line = RULES_LINE },
    { "rule", "set", .args = { { "file", OPTION_BODY, "FILE.json", .help = "{\"run_failed\": ..., \"run_stuck\": ..., \"kpis\": [...], ...}, as `muster rule show --json` prints it" } },
      .options = OPTIONS(TENANT_OPTION),
      .help = "replace a tenant's alert rules",
      .examples = "muster rule set rules.json --tenant acme",
      .method = METHOD_PUT, .path = RULES, .answer = &alert_rules_shape, .line = RULES_LINE },
    { 0 },
};
/* clang-format on */
