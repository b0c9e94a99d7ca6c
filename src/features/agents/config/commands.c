/* commands.c - configuration values and the parameter catalog on the command line. */
#include "features/agents/config/shapes.h"
#include "features/agents/routes.h"

#define CATALOG "/api/v1/tenants/{tenant}/catalog"
#define KEY_ARG { "key", OPTION_NAME, "KEY", .help = "key of the parameter" }
#define AGENT_OPTION                                                                               \
    { "agent", OPTION_NAME, .help = "agent whose value it is; without it the workspace's" }

#define VALUES "/api/v1/tenants/{tenant}{agent?/agents/{agent}}/values"
#define VALUE_LINE                                                                                 \
    "{key}  {hidden?(hidden)|{value?{value}|(no value)}}"                                          \
    "{source?  [{source}]|{required?  required}}"
#define PARAMETER_LINE "{key}  {secret?secret|not secret}  edit {edit}  see {see}"

/* clang-format off */
const struct command config_commands[] = {
    { "value", "set", .args = { KEY_ARG, { "value", OPTION_TEXT, "VALUE", .help = "its value; vault:NAME refers to a secret" } },
      .options = OPTIONS(TENANT_OPTION, AGENT_OPTION),
      .help = "set a configuration value of a workspace or an agent",
      .examples = "muster value set crm.url https://crm.example.com --tenant acme\n"
                  "muster value set crm.token vault:CRM_TOKEN --tenant acme --agent collector",
      .method = METHOD_PUT, .path = VALUES "/{key}", .body = &value_set_shape,
      .answer = &config_value_shape, .line = VALUE_LINE },
    { "value", "list", .options = OPTIONS(TENANT_OPTION, AGENT_OPTION),
      .help = "list a workspace's values, or the values in effect for an agent",
      .examples = "muster value list --tenant acme --agent collector",
      .method = METHOD_GET, .path = VALUES,
      .answer = &config_values_shape, .list = "values",
      .columns = COLUMNS({ "KEY", .cell = "{key}" }, { "VALUE", .cell = "{hidden?(hidden)|{value}}" }, { "SOURCE", .cell = "{source}" },
                         { "REQUIRED", .cell = "{required?yes|no}" }) },
    { "value", "delete", .args = { KEY_ARG }, .options = OPTIONS(TENANT_OPTION, AGENT_OPTION),
      .help = "delete a configuration value",
      .examples = "muster value delete crm.url --tenant acme",
      .method = METHOD_DELETE, .path = VALUES "/{key}",
      .answer = &config_value_shape, .line = VALUE_LINE },
    { "catalog", "list", .options = OPTIONS(TENANT_OPTION),
      .help = "list the parameters and who may set and see them",
      .examples = "muster catalog list --tenant acme",
      .method = METHOD_GET, .path = CATALOG "?limit=1000", .next = "after",
      .answer = &catalog_list_shape, .list = "parameters",
      .columns = COLUMNS({ "KEY", .cell = "{key}" }, { "SECRET", .cell = "{secret?yes|no}" }, { "EDIT", .cell = "{edit}" }, { "SEE", .cell = "{see}" }) },
    { "catalog", "set", .args = { KEY_ARG },
      .options = OPTIONS(TENANT_OPTION,
                         { "secret", OPTION_WORD, "yes|no", .help = "yes: its value must refer to a secret" },
                         { "edit", OPTION_WORD, "admin|member", .help = "lowest role that may set it" },
                         { "see", OPTION_WORD, "admin|member|nobody", .help = "lowest role that may see its value" }),
      .help = "change who may set and see a parameter",
      .examples = "muster catalog set crm.token --tenant acme --secret yes --see nobody",
      .method = METHOD_PATCH, .path = CATALOG "/{key}", .body = &catalog_patch_shape,
      .answer = &catalog_parameter_shape, .line = PARAMETER_LINE },
    { 0 },
};
/* clang-format on */
