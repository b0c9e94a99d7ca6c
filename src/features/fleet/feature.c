/* feature.c - agents and workflows as front ends read them: routes and commands. */
#include "engine/feature.h"

#include "cli/command.h"
#include "features/access/shapes.h"
#include "features/agents/shapes.h"
#include "features/features.h"
#include "features/fleet/reads.h"
#include "features/fleet/shapes.h"

/* clang-format off */
static const struct route fleet_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/agents", READ, 200), .read = fleet_list, .params = &tenant_path_shape, .query = &agents_query_shape, .answer = &agent_list_shape, .tagged = true,
      .id = "list_agents", .summary = "List agents and their state",
      .description = "Sorted by name; with `order=trouble` by state, with `agent` by name and with `last_seen` by time, these three with counts. `state` is `up`, `late` or `silent` by its schedule; `unscheduled` if it reports without one or it is paused, `never_reported` if it was only registered, or `disabled`. By name, pass `next` as `cursor` to read on; in the other orders, use `offset`." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/agents/{agent_name}", READ, 200), .read = fleet_agent, .params = &agent_path_shape, .answer = &agent_detail_shape, .tagged = true,
      .id = "get_agent", .summary = "Get an agent",
      .description = "Its state, what it declared, counts and versions of its newest 1,000 runs, and the model and command policy in effect." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/workflows", READ, 200), .read = workflow_list_read, .params = &tenant_path_shape, .query = &workflows_query_shape, .answer = &workflow_list_shape, .tagged = true,
      .id = "list_workflows", .summary = "List workflows, the latest first",
      .description = "Those of the newest 10,000 runs of the range, each with its agents and the numbers of its runs." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/workflows/{workflow_run_id}", READ, 200), .read = workflow_read, .params = &workflow_path_shape, .answer = &workflow_shape, .tagged = true,
      .id = "get_workflow", .summary = "Get the runs of a workflow",
      .description = "Runs by start, at most 1,000, and links that make them a graph: from the runs whose agents output what a run requires, else from those that ended before it began. Each says whether the required inputs are there." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/dashboard/totals", READ, 200), .read = run_totals_read, .params = &tenant_path_shape, .query = &run_totals_query_shape, .answer = &run_totals_shape, .tagged = true,
      .id = "get_run_totals", .summary = "Count runs and failures over time",
      .description = "By the hour for at most two days, else by the day; and the most frequent error types." },
    { 0 },
};
/* clang-format on */

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
static const struct command fleet_commands[] = {
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

const struct feature fleet_feature = {
    .name = "fleet",
    .about = "Agents and workflows as front ends read them.",
    .routes = { fleet_routes },
    .commands = { fleet_commands },
};
