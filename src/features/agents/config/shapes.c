/* shapes.c - the shapes of configuration values and of the security catalog. */
#include "features/agents/config/shapes.h"

#include "shape/problems.h"
#include "shape/table.h"

static const char *const sources[] = { "agent", "workspace", "default", NULL };

const char *const catalog_edit_names[] = { "admin", "member", NULL };
const char *const catalog_see_names[] = { "admin", "member", "nobody", NULL };

/* The problem does not echo the value, which may be a secret. */
static void check_value(void *value, struct arena *arena, struct problems *problems)
{
    const struct value_set *set = value;
    const struct problem_step step = { .name = STR_LIT("value") };

    (void)arena;
    if (set->value.len > VALUE_MAX_BYTES)
        problems_add_rule(problems, &step, 1, STR_NULL, "Should have at most 65536 bytes");
}

/* clang-format off */
SHAPE(value_set, "ValueSet", (.doc = "A configuration value to set.", .rules = check_value,
      .example = EXAMPLE({"value": "billing@example.com"})),
    STR(value, .flags = F_REQUIRED, .doc = "Text, whatever the type: 5, true, [1,2]. May refer to secrets, as vault:NAME or with ${vault:NAME} inside."));

SHAPE(config_value, "ConfigValue", (.doc = "A parameter and its value in effect.",
      .example = EXAMPLE({"key": "mailbox", "value": "billing@example.com", "source": "agent", "declared": true, "value_type": "string", "required": true, "updated_at": "2026-01-10T12:00:00Z", "author": "person:ada@example.com"})),
    STR(key,         .flags = F_REQUIRED, .doc = "Name of the parameter."),
    STR(value,       .flags = F_REQUIRED | F_NULL, .doc = "As set, with references unresolved."),
    BOOL(hidden,     .flags = F_REQUIRED, .doc = "There is a value, but the caller may not see it."),
    STR(source,      .flags = F_REQUIRED | F_NULL, .choices = sources, .doc = "Level that the value comes from. Null: no value is set."),
    BOOL(declared,   .flags = F_REQUIRED, .doc = "Whether the agent declares the parameter."),
    STR(value_type,  .flags = F_REQUIRED | F_NULL, .doc = "As the agent declares it."),
    BOOL(required,   .flags = F_REQUIRED, .doc = "Whether the agent cannot work without a value."),
    BOOL(secret,     .flags = F_REQUIRED, .doc = "The value must refer to a secret."),
    STR(edit,        .flags = F_REQUIRED, .choices = catalog_edit_names, .doc = "Who may set it."),
    TIME(updated_at, .flags = F_REQUIRED | F_NULL, .doc = "When the value was last set. Null: never."),
    STR(author,      .flags = F_REQUIRED | F_NULL, .doc = "Who set the value: operator, person:<e-mail>, the same with token:<token_id> after it, or key:<key_id>. Null: it was not set."));

LIST_SHAPE(config_values, "ConfigValues", (.doc = "The values of a workspace, or those in effect for an agent."),
    ITEMS("values", config_value_shape, .flags = F_REQUIRED, .doc = "The values, by key."));

SHAPE(catalog_patch, "CatalogPatch", (.doc = "Changes to a parameter's security. Omitted fields keep their values.",
      .example = EXAMPLE({"secret": true, "see": "nobody"})),
    OPT_BOOL(secret, .flags = F_NULL, .doc = "Whether the value must refer to a secret."),
    ENUM(edit,       .flags = F_NULL, .choices = catalog_edit_names, .doc = "Who may set it."),
    ENUM(see,        .flags = F_NULL, .choices = catalog_see_names, .doc = "Who may see the value."));

SHAPE(catalog_parameter, "CatalogParameter", (.doc = "Who may set and see a parameter.",
      .example = EXAMPLE({"key": "mailbox"})),
    STR(key,         .flags = F_REQUIRED, .doc = "Name of the parameter."),
    BOOL(secret,     .flags = F_REQUIRED, .doc = "The value must refer to a secret."),
    STR(edit,        .flags = F_REQUIRED, .choices = catalog_edit_names, .doc = "Who may set it."),
    STR(see,         .flags = F_REQUIRED, .choices = catalog_see_names, .doc = "Who may see the value."),
    TIME(created_at, .flags = F_REQUIRED, .doc = "When the parameter was first declared or set."));

LIST_SHAPE(catalog_list, "CatalogList", (.doc = "The security catalog of a tenant."),
    ITEMS("parameters", catalog_parameter_shape, .flags = F_REQUIRED, .doc = "The parameters, by key."),
    STR(next,                                 .flags = F_REQUIRED | F_NULL, .doc = "Value of after for the next page. Null: last page."));

SHAPE(catalog_query, "CatalogQuery", (),
    INT(limit, .absent = "200", .least = 1, .most = 1000, .doc = "How many items a page has at most."),
    STR(after, .flags = F_NULL, .doc = "The next of the previous page."));

SHAPE(parameter_path, "ParameterPath", (.example = EXAMPLE({"slug": "acme", "key": "mailbox"})),
    STR(slug, .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    STR(key,  .flags = F_REQUIRED, .doc = "Name of the parameter."));

SHAPE(agent_value_path, "AgentValuePath", (.example = EXAMPLE({"slug": "acme", "agent_name": "invoice-reader", "key": "mailbox"})),
    STR(slug,       .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    STR(agent_name, .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    STR(key,        .flags = F_REQUIRED, .doc = "Name of the parameter."));
/* clang-format on */
