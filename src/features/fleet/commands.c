/* commands.c - `agent list` and `agent show`; the other commands of agents are in agents/. */
#include "features/fleet/routes.h"

#include "features/fleet/shapes.h"

/* What `agent show` prints. */
#define AGENT_LINES                                                                                \
    "name           {agent_name}\n"                                                                \
    "state          {state}\n"                                                                     \
    "version        {agent_version?{agent_version}|unknown}\n"                                     \
    "description    {description?{description}|none}\n"                                            \
    "interval       {interval_seconds?{interval_seconds} s|none declared}\n"                       \
    "schedule       {schedule*{cron?{cron} ({time_zone})|every {interval_seconds} s}"              \
    ", grace {grace_seconds} s, {source}{paused?, paused}}\n"                                      \
    "first seen     {first_seen_at}\n"                                                             \
    "last seen      {last_seen_at?{last_seen_at} ({last_seen_at~})|never}\n"                       \
    "model          {model*{model?{model}|not set}}{last_model?, used {last_model} "               \
    "({last_model_at~})}\n"                                                                        \
    "next expected  {next_expected_at?{next_expected_at}|unknown}\n"                               \
    "maintenance    {maintenance_until?until {maintenance_until}|not now}\n"                       \
    "alerts         {muted_until?muted until {muted_until}|not muted}\n"                           \
    "open runs      {open_runs}"

/* clang-format off */
const struct command fleet_commands[] = {
    { "agent", "list", .options = OPTIONS(TENANT_OPTION),
      .help = "list a tenant's agents with their state",
      .examples = "muster agent list --tenant acme",
      .method = METHOD_GET, .path = "/api/v1/tenants/{tenant}/agents?limit=1000",
      .next = "cursor", .json_pages = true,
      .answer = &agent_list_shape, .list = "agents",
      .columns = COLUMNS({ "STATE", .cell = "{state}" }, { "LAST SEEN", .cell = "{last_seen_at~}" }, { "NAME", .cell = "{agent_name}" }) },
    { "agent", "show", .args = { { "name", OPTION_NAME, "NAME", .help = "name of the agent" } },
      .options = OPTIONS(TENANT_OPTION),
      .help = "show an agent and its state; --json has its runs in numbers too",
      .examples = "muster agent show collector --tenant acme",
      .method = METHOD_GET, .path = "/api/v1/tenants/{tenant}/agents/{name}",
      .answer = &agent_detail_shape,
      .line = AGENT_LINES },
    { 0 },
};
/* clang-format on */
