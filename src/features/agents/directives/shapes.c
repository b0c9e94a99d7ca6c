/* shapes.c - the tables of what agents are told, as operators set and see it. */
#include "features/agents/directives/shapes.h"

#include "shape/rule.h"
#include "shape/table.h"

enum { COMMANDS_MAX = 1000 };

static const char *const sources[] = { "agent", "workspace", "platform", NULL };

const char *const policy_mode_names[] = { "allowlist", "denylist", "deny_all", "allow_all", NULL };

static void check_model(void *value, struct arena *arena, struct problems *problems)
{
    const struct model_set *set = value;

    if (set->model.len == 0)
        rule_refuse_text(problems, arena, "model", set->model,
                         "A model has a name; to have none, unset it");
}

/* clang-format off */
#define MEMBER(m) m

#define OWNER struct model_set
static const struct field model_set_fields[] = {
    { STR(model), .max = 256, .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct model_setting
static const struct field model_setting_fields[] = {
    { STR(tenant),      .flags = F_REQUIRED | F_NULL, .doc = "Null: the platform." },
    { STR(agent_name),  .flags = F_REQUIRED | F_NULL, .doc = "Null: the whole workspace, or the platform." },
    { STR(model),       .flags = F_REQUIRED | F_NULL },
    { STR(source),      .flags = F_REQUIRED | F_NULL, .choices = sources, .doc = "What it was set for." },
    { TIME(updated_at), .flags = F_REQUIRED | F_NULL },
};
#undef OWNER

#define OWNER struct policy_set
static const struct field policy_set_fields[] = {
    { ENUM(mode),                           .flags = F_REQUIRED, .choices = policy_mode_names },
    { LIST_STR(allow), .max = COMMANDS_MAX, .absent = "[]" },
    { LIST_STR(deny),  .max = COMMANDS_MAX, .absent = "[]" },
};
#undef OWNER

#define OWNER struct policy_setting
static const struct field policy_setting_fields[] = {
    { STR(tenant),      .flags = F_REQUIRED | F_NULL, .doc = "Null: the platform." },
    { STR(agent_name),  .flags = F_REQUIRED | F_NULL, .doc = "Null: the whole workspace, or the platform." },
    { STR(mode),        .flags = F_REQUIRED, .choices = policy_mode_names },
    { LIST_STR(allow),  .flags = F_REQUIRED },
    { LIST_STR(deny),   .flags = F_REQUIRED },
    { STR(source),      .flags = F_REQUIRED, .choices = sources, .doc = "What it was set for." },
    { INT(version),     .flags = F_REQUIRED, .doc = "Grows each time it is set; 0: it never was." },
    { TIME(updated_at), .flags = F_REQUIRED | F_NULL },
};
#undef OWNER

#undef MEMBER
/* clang-format on */

const struct shape model_set_shape = {
    SHAPE_OF("ModelSet", struct model_set, model_set_fields),
    .doc = "The LLM model to be used.",
    .rules = check_model,
};

const struct shape model_setting_shape = {
    SHAPE_OF("ModelSetting", struct model_setting, model_setting_fields),
    .doc = "The LLM model that holds here.",
};

const struct shape policy_set_shape = {
    SHAPE_OF("CommandPolicySet", struct policy_set, policy_set_fields),
    .doc = "The shell commands that agents may run.",
};

const struct shape policy_setting_shape = {
    SHAPE_OF("CommandPolicySetting", struct policy_setting, policy_setting_fields),
    .doc = "The command policy that holds here.",
};
