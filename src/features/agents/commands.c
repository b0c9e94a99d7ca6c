/* commands.c - agents on the command line; `agent list` and `agent show` are the fleet's. */
#include "features/agents/routes.h"

#include <string.h>

#include "cli/request.h"
#include "features/agents/schedules/shapes.h"
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

#define SCHEDULE "/api/v1/tenants/{tenant}/agents/{name}/schedule"
#define WINDOWS  "/api/v1/tenants/{tenant}/maintenance"
#define SCHEDULE_LINE                                                                              \
    "agent '{agent_name}' is expected {schedule*{paused?at no time: its schedule is paused|"       \
    "{cron?at {cron} ({time_zone})|every {interval_seconds} s}, grace {grace_seconds} s}}"

/* clang-format off */
const struct command schedule_commands[] = {
    { "agent", "schedule", .args = { AGENT_ARG },
      .options = OPTIONS(TENANT_OPTION,
                         { "every", OPTION_NUMBER, "SECONDS", .field = "interval_seconds", .help = "expect a report each time this many seconds have passed" },
                         { "cron", OPTION_TEXT, "EXPRESSION", .help = "or at these times: minute, hour, day of the month, month, day of the week" },
                         { "time-zone", OPTION_TEXT, "ZONE", .needs = "cron", .help = "time zone of the cron expression, such as Europe/Berlin; without it UTC" },
                         { "grace", OPTION_NUMBER, "SECONDS", .field = "grace_seconds", .help = "how long it may be late; without it half of the time between two reports" },
                         { "paused", OPTION_FLAG, .help = "expect nothing until the schedule is set again" }),
      .help = "set when an agent is expected to report",
      .examples = "muster agent schedule collector --tenant acme --every 3600\n"
                  "muster agent schedule collector --tenant acme --cron '0 8 * * mon-fri' --time-zone Europe/Berlin",
      .method = METHOD_PUT, .path = SCHEDULE, .body = &schedule_set_shape, .needs_change = true,
      .answer = &schedule_state_shape, .line = SCHEDULE_LINE },
    { "agent", "unschedule", .args = { AGENT_ARG }, .options = OPTIONS(TENANT_OPTION),
      .help = "expect an agent as it declares again",
      .examples = "muster agent unschedule collector --tenant acme",
      .method = METHOD_DELETE, .path = SCHEDULE,
      .answer = &schedule_state_shape, .line = SCHEDULE_LINE },
    { "maintenance", "list", .options = OPTIONS(TENANT_OPTION),
      .help = "list a tenant's maintenance windows",
      .examples = "muster maintenance list --tenant acme",
      .method = METHOD_GET, .path = WINDOWS, .answer = &window_list_shape, .list = "windows",
      .columns = COLUMNS({ "ID", .cell = "{window_id}" }, { "NOW", .cell = "{active?yes|no}" },
                         { "WHEN", .cell = "{start?{weekdays*{} }{start} for {minutes} min, {time_zone}|{from} to {until}}" },
                         { "AGENT", .cell = "{agent_name?{agent_name}|all}" }, { "NOTE", .cell = "{note}" }) },
    { "maintenance", "add",
      .options = OPTIONS(TENANT_OPTION,
                         { "agent", OPTION_NAME, .field = "agent_name", .help = "only for this agent; without it all of the tenant" },
                         { "from", OPTION_TIME, .help = "once: when it begins" },
                         { "until", OPTION_TIME, .help = "once: when it ends" },
                         { "weekdays", OPTION_TEXT, "DAY,...", .help = "each week: days on which it begins, such as sat,sun" },
                         { "start", OPTION_TEXT, "HH:MM", .needs = "weekdays", .help = "each week: time of day at which it begins" },
                         { "minutes", OPTION_NUMBER, .needs = "weekdays", .help = "each week: how long it lasts" },
                         { "time-zone", OPTION_TEXT, "ZONE", .needs = "weekdays", .help = "time zone of the days and the time; without it UTC" },
                         { "note", OPTION_TEXT, .help = "what it is for" }),
      .help = "plan a time in which no agent falls silent",
      .examples = "muster maintenance add --tenant acme --from 2026-01-16T20:00:00Z --until 2026-01-16T23:00:00Z\n"
                  "muster maintenance add --tenant acme --weekdays sun --start 02:00 --minutes 120 --time-zone Europe/Berlin",
      .method = METHOD_POST, .path = WINDOWS, .body = &window_create_shape,
      .answer = &maintenance_window_shape, .line = "maintenance window '{window_id}' created" },
    { "maintenance", "delete", .args = { { "id", OPTION_NAME, "ID", .help = "id of the window, as `maintenance list` shows it" } }, .options = OPTIONS(TENANT_OPTION),
      .help = "delete a maintenance window; one that is going on ends now",
      .examples = "muster maintenance delete mwn_0TZbT2mvAoUxE4qsbdVKo --tenant acme",
      .method = METHOD_DELETE, .path = WINDOWS "/{id}",
      .answer = &window_list_shape, .line = "maintenance window '{id}' deleted" },
    { 0 },
};
/* clang-format on */

#define CATALOG "/api/v1/tenants/{tenant}/catalog"
#define KEY_ARG { "key", OPTION_NAME, "KEY", .help = "key of the parameter" }
#define VALUE_AGENT_OPTION                                                                         \
    { "agent", OPTION_NAME, .help = "agent whose value it is; without it the workspace's" }

#define VALUES "/api/v1/tenants/{tenant}{agent?/agents/{agent}}/values"
#define VALUE_LINE                                                                                 \
    "{key}  {hidden?(hidden)|{value?{value}|(no value)}}"                                          \
    "{source?  [{source}]|{required?  required}}"
#define PARAMETER_LINE "{key}  {secret?secret|not secret}  edit {edit}  see {see}"

/* clang-format off */
const struct command config_commands[] = {
    { "value", "set", .args = { KEY_ARG, { "value", OPTION_TEXT, "VALUE", .help = "its value; vault:NAME refers to a secret" } },
      .options = OPTIONS(TENANT_OPTION, VALUE_AGENT_OPTION),
      .help = "set a configuration value of a workspace or an agent",
      .examples = "muster value set crm.url https://crm.example.com --tenant acme\n"
                  "muster value set crm.token vault:CRM_TOKEN --tenant acme --agent collector",
      .method = METHOD_PUT, .path = VALUES "/{key}", .body = &value_set_shape,
      .answer = &config_value_shape, .line = VALUE_LINE },
    { "value", "list", .options = OPTIONS(TENANT_OPTION, VALUE_AGENT_OPTION),
      .help = "list a workspace's values, or the values in effect for an agent",
      .examples = "muster value list --tenant acme --agent collector",
      .method = METHOD_GET, .path = VALUES,
      .answer = &config_values_shape, .list = "values",
      .columns = COLUMNS({ "KEY", .cell = "{key}" }, { "VALUE", .cell = "{hidden?(hidden)|{value}}" }, { "SOURCE", .cell = "{source}" },
                         { "REQUIRED", .cell = "{required?yes|no}" }) },
    { "value", "delete", .args = { KEY_ARG }, .options = OPTIONS(TENANT_OPTION, VALUE_AGENT_OPTION),
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

/* The format of --format, else of the file's extension. */
static int read_format(const char *given, const char *path)
{
    static const struct {
        const char *word;
        enum document_format format;
    } words[] = {
        { ".md", DOCUMENT_MARKDOWN }, { ".markdown", DOCUMENT_MARKDOWN },
        { ".json", DOCUMENT_JSON },   { ".yaml", DOCUMENT_YAML },
        { ".yml", DOCUMENT_YAML },    { "markdown", DOCUMENT_MARKDOWN },
        { "json", DOCUMENT_JSON },    { "yaml", DOCUMENT_YAML },
    };
    const char *word = given != NULL ? given : strrchr(path, '.');

    for (size_t i = 0; word != NULL && i < COUNT_OF(words); i++)
        if (strcmp(word, words[i].word) == 0)
            return (int)words[i].format;
    return DOCUMENT_TEXT;
}

static int document_set_bind(struct invocation *in, struct str *ret, struct error *err)
{
    const char *path = command_value(in, "file");
    struct document_set set = { .format = read_format(command_value(in, "format"), path) };

    if (request_file(in, path, DOCUMENT_MAX_BYTES, &set.document, err) != 0)
        return -1;
    if (utf8_valid_len(set.document) < set.document.len ||
        memchr(set.document.data, '\0', set.document.len) != NULL)
        return err_set(err, ERR_FORBIDDEN, "'%s' is not UTF-8 text", path);
    *ret = request_body(in, &document_set_shape, &set);
    return 0;
}

#define DOCUMENT "/api/v1/tenants/{tenant}/agents/{agent}/document"
#define DOCUMENT_AGENT_OPTION                                                                      \
    { "agent", OPTION_NAME, .required = true, .help = "agent that the document belongs to" }
#define VERSION_ARG(name_, value_, help_) { name_, OPTION_NUMBER, value_, .help = help_ }

/* clang-format off */
const struct command document_commands[] = {
    { "document", "set", .args = { { "file", OPTION_FILE, "FILE", .help = "text in UTF-8" } },
      .options = OPTIONS(TENANT_OPTION, DOCUMENT_AGENT_OPTION,
                         { "format", OPTION_WORD, "text|markdown|json|yaml", .help = "without it the ending of the file's name decides" }),
      .help = "set an agent's configuration document",
      .examples = "muster document set collector.yaml --tenant acme --agent collector",
      .method = METHOD_PUT, .path = DOCUMENT, .bind = document_set_bind,
      .answer = &document_shape, .line = "version {version} ({format}, {document#} bytes)" },
    { "document", "show",
      .options = OPTIONS(TENANT_OPTION, DOCUMENT_AGENT_OPTION, { "version", OPTION_NUMBER, .help = "an older version" }),
      .help = "print an agent's document",
      .examples = "muster document show --tenant acme --agent collector --version 3",
      .method = METHOD_GET, .path = DOCUMENT "{version?/versions/{version}}",
      .answer = &document_shape, .raw = "document" },
    { "document", "history", .options = OPTIONS(TENANT_OPTION, DOCUMENT_AGENT_OPTION),
      .help = "list the versions of an agent's document",
      .examples = "muster document history --tenant acme --agent collector",
      .method = METHOD_GET, .path = DOCUMENT "/versions?limit=1000", .next = "before",
      .answer = &document_history_shape, .list = "versions",
      .columns = COLUMNS({ "VERSION", .cell = "{version}" }, { "SET", .cell = "{updated_at}" }, { "FORMAT", .cell = "{format}" },
                         { "BYTES", .cell = "{bytes}" }, { "AUTHOR", .cell = "{author}" }) },
    { "document", "diff", .args = { VERSION_ARG("from", "FROM", "older version"), VERSION_ARG("to", "TO", "newer version") },
      .options = OPTIONS(TENANT_OPTION, DOCUMENT_AGENT_OPTION),
      .help = "show the changes between two versions",
      .examples = "muster document diff 2 3 --tenant acme --agent collector",
      .method = METHOD_GET, .path = DOCUMENT "/diff",
      .answer = &document_diff_shape, .raw = "diff" },
    { "document", "restore", .args = { VERSION_ARG("version", "VERSION", "version to restore") },
      .options = OPTIONS(TENANT_OPTION, DOCUMENT_AGENT_OPTION),
      .help = "make an old version the newest again",
      .examples = "muster document restore 2 --tenant acme --agent collector",
      .method = METHOD_POST, .path = DOCUMENT "/versions/{version}/restore",
      .answer = &document_shape, .line = "version {version} ({format}, {document#} bytes)" },
    { 0 },
};
/* clang-format on */
