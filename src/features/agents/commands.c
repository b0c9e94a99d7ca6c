/* commands.c - agents on the command line; `agent list` and `agent show` are the fleet's. */
#include "features/agents/routes.h"

#include "features/agents/shapes.h"

#define AGENT     "/api/v1/tenants/{tenant}/agents/{name}"
#define AGENT_ARG { "name", OPTION_NAME, "NAME", .help = "name of the agent" }

/* clang-format off */
const struct command agent_commands[] = {
    { "agent", "enable", .args = { AGENT_ARG }, .options = OPTIONS(TENANT_OPTION),
      .help = "accept an agent's reports again",
      .examples = "muster agent enable collector --tenant acme",
      .method = METHOD_PATCH, .path = AGENT, .body_text = "{\"enabled\":true}",
      .line = "agent '{name}' enabled" },
    { "agent", "disable", .args = { AGENT_ARG }, .options = OPTIONS(TENANT_OPTION),
      .help = "reject an agent's reports",
      .examples = "muster agent disable collector --tenant acme",
      .method = METHOD_PATCH, .path = AGENT, .body_text = "{\"enabled\":false}",
      .line = "agent '{name}' disabled" },
    { "agent", "delete", .args = { AGENT_ARG }, .options = OPTIONS(TENANT_OPTION),
      .help = "delete an agent and revoke its keys; its reports are kept",
      .examples = "muster agent delete collector --tenant acme",
      .method = METHOD_DELETE, .path = AGENT, .answer = &agent_deleted_shape,
      .line = "agent '{name}' deleted, keys revoked: {keys_revoked}" },
    { 0 },
};
/* clang-format on */
