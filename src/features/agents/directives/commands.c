/* commands.c - the model and the command policy of agents, on the command line. */
#include "features/agents/directives/shapes.h"
#include "features/agents/routes.h"

/* The target: an agent, a workspace or the platform. */
#define PLACE "/api/v1/{tenant?tenants/{tenant}{agent?/agents/{agent}}|platform}"

#define TARGET_OPTIONS                                                                             \
    OPTIONS({ "tenant", OPTION_TENANT, .help = "for this tenant; without it the platform" },       \
            { "agent", OPTION_NAME, .needs = "tenant", .help = "for this agent of the tenant" })

#define MODEL_LINE "{model?{model} (set for the {source})|no model is set}"
#define POLICY_LINE                                                                                \
    "{mode} ({version?set for the {source}, version {version}|no policy is set})"                  \
    "{allow*\nallow {}}{deny*\ndeny  {}}"

/* clang-format off */
const struct command directive_commands[] = {
    { "model", "set", .args = { { "model", OPTION_TEXT, "MODEL", .help = "name of the model" } }, .options = TARGET_OPTIONS,
      .help = "set the LLM model that agents must use",
      .examples = "muster model set claude-sonnet-4\n"
                  "muster model set gpt-4o-mini --tenant acme --agent collector",
      .method = METHOD_PUT, .path = PLACE "/model", .body = &model_set_shape,
      .answer = &model_setting_shape, .line = MODEL_LINE },
    { "model", "delete", .options = TARGET_OPTIONS,
      .help = "use the model of the workspace or the platform again",
      .examples = "muster model delete --tenant acme --agent collector",
      .method = METHOD_DELETE, .path = PLACE "/model",
      .answer = &model_setting_shape, .line = MODEL_LINE },
    { "model", "show", .options = TARGET_OPTIONS,
      .help = "show the model in effect",
      .examples = "muster model show --tenant acme",
      .method = METHOD_GET, .path = PLACE "/model",
      .answer = &model_setting_shape, .line = MODEL_LINE },
    { "policy", "set", .args = { { "file", OPTION_BODY, "FILE.json", .help = "{\"mode\":...,\"allow\":[...],\"deny\":[...]}" } }, .options = TARGET_OPTIONS,
      .help = "set the commands that agents may run",
      .examples = "muster policy set policy.json --tenant acme",
      .method = METHOD_PUT, .path = PLACE "/command-policy",
      .answer = &policy_setting_shape, .line = POLICY_LINE },
    { "policy", "delete", .options = TARGET_OPTIONS,
      .help = "use the policy of the workspace or the platform again",
      .examples = "muster policy delete --tenant acme --agent collector",
      .method = METHOD_DELETE, .path = PLACE "/command-policy",
      .answer = &policy_setting_shape, .line = POLICY_LINE },
    { "policy", "show", .options = TARGET_OPTIONS,
      .help = "show the policy in effect",
      .examples = "muster policy show --tenant acme --agent collector",
      .method = METHOD_GET, .path = PLACE "/command-policy",
      .answer = &policy_setting_shape, .line = POLICY_LINE },
    { 0 },
};
/* clang-format on */
