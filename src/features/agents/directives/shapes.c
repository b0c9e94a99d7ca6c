/* shapes.c - the shapes of models and command policies, as operators set and see them. */
#include "features/agents/directives/shapes.h"

#include "shape/table.h"

enum { COMMANDS_MAX = 1000 };

static const char *const sources[] = { "agent", "workspace", "platform", NULL };

const char *const policy_mode_names[] = { "allowlist", "denylist", "deny_all", "allow_all", NULL };

/* clang-format off */
SHAPE(model_set, "ModelSet", (.doc = "The LLM model to use.",
      .example = EXAMPLE({"model": "gpt-5-mini"})),
    STR(model, .min = 1, .max = 256, .flags = F_REQUIRED, .doc = "Name of the LLM model, as its provider spells it. To remove the setting, unset it."));

SHAPE(model_setting, "ModelSetting", (.doc = "The LLM model in effect.",
      .example = EXAMPLE({"tenant": "acme", "agent_name": null, "model": "gpt-5-mini", "source": "workspace", "updated_at": "2026-01-10T12:00:00Z"})),
    STR(tenant,      .flags = F_REQUIRED | F_NULL, .doc = "Null: the platform."),
    STR(agent_name,  .flags = F_REQUIRED | F_NULL, .doc = "Null: the whole workspace, or the platform."),
    STR(model,       .flags = F_REQUIRED | F_NULL, .doc = "Name of the model. Null: none is set."),
    STR(source,      .flags = F_REQUIRED | F_NULL, .choices = sources, .doc = "Level that it was set at."),
    TIME(updated_at, .flags = F_REQUIRED | F_NULL, .doc = "When it was last set. Null: never."));

SHAPE(policy_set, "CommandPolicySet", (.doc = "The shell commands that agents may run.",
      .example = EXAMPLE({"mode": "allowlist", "allow": ["git", "ls"]})),
    ENUM(mode,                           .flags = F_REQUIRED, .choices = policy_mode_names, .doc = "allowlist: only commands in allow; denylist: all but those in deny; deny_all: none; allow_all: any."),
    LIST_STR(allow, .max = COMMANDS_MAX, .absent = "[]", .doc = "Commands that may run, with mode allowlist."),
    LIST_STR(deny,  .max = COMMANDS_MAX, .absent = "[]", .doc = "Commands that may not run, with mode denylist."));

SHAPE(policy_setting, "CommandPolicySetting", (.doc = "The command policy in effect.",
      .example = EXAMPLE({"tenant": "acme", "mode": "allowlist", "allow": ["git", "ls"], "source": "workspace", "version": 3, "updated_at": "2026-01-10T12:00:00Z"})),
    STR(tenant,      .flags = F_REQUIRED | F_NULL, .doc = "Null: the platform."),
    STR(agent_name,  .flags = F_REQUIRED | F_NULL, .doc = "Null: the whole workspace, or the platform."),
    STR(mode,        .flags = F_REQUIRED, .choices = policy_mode_names, .doc = "allowlist: only commands in allow; denylist: all but those in deny; deny_all: none; allow_all: any."),
    LIST_STR(allow,  .flags = F_REQUIRED, .doc = "Commands that may run, with mode allowlist."),
    LIST_STR(deny,   .flags = F_REQUIRED, .doc = "Commands that may not run, with mode denylist."),
    STR(source,      .flags = F_REQUIRED, .choices = sources, .doc = "Level that it was set at."),
    INT(version,     .flags = F_REQUIRED, .doc = "Incremented each time it is set; 0: never set."),
    TIME(updated_at, .flags = F_REQUIRED | F_NULL, .doc = "When it was last set. Null: never."));
/* clang-format on */
