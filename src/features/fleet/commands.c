/* commands.c - the list of agents on the command line. */
#include "features/fleet/commands.h"

#include "features/fleet/shapes.h"

/* clang-format off */
const struct command fleet_commands[] = {
    { "agent", "list", .options = OPTIONS(TENANT_OPTION),
      .help = "list a tenant's agents with their state",
      .examples = "muster agent list --tenant acme",
      .method = METHOD_GET, .path = "/api/v1/tenants/{tenant}/agents?limit=1000",
      .next = "cursor", .json_pages = true,
      .answer = &agent_list_shape, .list = "agents",
      .line = "{state:-14} {last_seen_at~:-10} {agent_name}" },
    { 0 },
};
/* clang-format on */
