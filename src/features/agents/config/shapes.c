/* shapes.c - the tables of configuration values and of the security catalog. */
#include "features/agents/config/shapes.h"

#include "shape/problems.h"
#include "shape/table.h"

static const char *const sources[] = { "agent", "workspace", "default", NULL };

const char *const catalog_edit_names[] = { "admin", "member", NULL };
const char *const catalog_see_names[] = { "admin", "member", "nobody", NULL };

/* A value that is refused is not repeated: it may have been meant to be a secret. */
static void check_value(void *value, struct arena *arena, struct problems *problems)
{
    const struct value_set *set = value;
    const struct problem_step step = { .name = STR_LIT("value") };

    (void)arena;
    if (set->value.len > VALUE_MAX_BYTES)
        problems_add_rule(problems, &step, 1, STR_NULL, "A value has at most 65536 bytes");
}

/* clang-format off */
#define MEMBER(m) m

#define OWNER struct value_set
static const struct field value_set_fields[] = {
    { STR(value), .flags = F_REQUIRED, .doc = "As text, whatever its type: 5, true, [1,2]. May refer to secrets: vault:NAME, or ${vault:NAME} inside." },
};
#undef OWNER

#define OWNER struct config_value
static const struct field config_value_fields[] = {
    { STR(key),         .flags = F_REQUIRED },
    { STR(value),       .flags = F_REQUIRED | F_NULL, .doc = "As it was set: references are not resolved." },
    { BOOL(hidden),     .flags = F_REQUIRED, .doc = "There is a value that the caller may not see." },
    { STR(source),      .flags = F_REQUIRED | F_NULL, .choices = sources },
    { BOOL(declared),   .flags = F_REQUIRED, .doc = "The agent has declared the parameter." },
    { STR(value_type),  .flags = F_REQUIRED | F_NULL, .doc = "As declared." },
    { BOOL(required),   .flags = F_REQUIRED },
    { BOOL(secret),     .flags = F_REQUIRED, .doc = "Its value must refer to a secret." },
    { STR(edit),        .flags = F_REQUIRED, .choices = catalog_edit_names, .doc = "Who may set it." },
    { TIME(updated_at), .flags = F_REQUIRED | F_NULL },
    { STR(author),      .flags = F_REQUIRED | F_NULL },
};
#undef OWNER

#define OWNER struct config_values
static const struct field config_values_fields[] = {
    { LIST(values, config_value_shape), .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct catalog_patch
static const struct field catalog_patch_fields[] = {
    { OPT_BOOL(secret), .flags = F_NULL },
    { ENUM(edit),       .flags = F_NULL, .choices = catalog_edit_names },
    { ENUM(see),        .flags = F_NULL, .choices = catalog_see_names },
};
#undef OWNER

#define OWNER struct catalog_parameter
static const struct field catalog_parameter_fields[] = {
    { STR(key),         .flags = F_REQUIRED },
    { BOOL(secret),     .flags = F_REQUIRED, .doc = "Its value must refer to a secret." },
    { STR(edit),        .flags = F_REQUIRED, .choices = catalog_edit_names, .doc = "Who may set it." },
    { STR(see),         .flags = F_REQUIRED, .choices = catalog_see_names, .doc = "Who may see what is set." },
    { TIME(created_at), .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct catalog_list
static const struct field catalog_list_fields[] = {
    { LIST(parameters, catalog_parameter_shape), .flags = F_REQUIRED },
    { STR(next),                                 .flags = F_REQUIRED | F_NULL, .doc = "The after of the next page; null: that was all." },
};
#undef OWNER

#define OWNER struct catalog_query
static const struct field catalog_query_fields[] = {
    { INT(limit), .absent = "200", .least = 1, .most = 1000 },
    { STR(after), .flags = F_NULL, .doc = "The next of the page before." },
};
#undef OWNER

#define OWNER struct parameter_path
static const struct field parameter_path_fields[] = {
    { STR(slug), .flags = F_REQUIRED },
    { STR(key),  .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct agent_value_path
static const struct field agent_value_path_fields[] = {
    { STR(slug),       .flags = F_REQUIRED },
    { STR(agent_name), .flags = F_REQUIRED },
    { STR(key),        .flags = F_REQUIRED },
};
#undef OWNER

#undef MEMBER
/* clang-format on */

const struct shape value_set_shape = {
    SHAPE_OF("ValueSet", struct value_set, value_set_fields),
    .doc = "A configuration value to be set.",
    .rules = check_value,
};

const struct shape config_value_shape = {
    SHAPE_OF("ConfigValue", struct config_value, config_value_fields),
    .doc = "What holds for a parameter.",
};

const struct shape config_values_shape = {
    SHAPE_OF("ConfigValues", struct config_values, config_values_fields),
    .doc = "The values of a workspace, or those that hold for an agent.",
};

const struct shape catalog_patch_shape = {
    SHAPE_OF("CatalogPatch", struct catalog_patch, catalog_patch_fields),
    .doc = "What is to change of a parameter's security; what is left out stays.",
};

const struct shape catalog_parameter_shape = {
    SHAPE_OF("CatalogParameter", struct catalog_parameter, catalog_parameter_fields),
    .doc = "Who may set and see a parameter.",
};

const struct shape catalog_list_shape = {
    SHAPE_OF("CatalogList", struct catalog_list, catalog_list_fields),
    .doc = "The security catalog of a tenant.",
};

const struct shape catalog_query_shape = {
    SHAPE_OF("CatalogQuery", struct catalog_query, catalog_query_fields),
};

const struct shape parameter_path_shape = {
    SHAPE_OF("ParameterPath", struct parameter_path, parameter_path_fields),
};

const struct shape agent_value_path_shape = {
    SHAPE_OF("AgentValuePath", struct agent_value_path, agent_value_path_fields),
};
