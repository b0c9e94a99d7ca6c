/* shapes.c - the shapes of agents: registration, what they pull, administration. */
#include "features/agents/shapes.h"

#include <assert.h>

#include "base/map.h"
#include "shape/problems.h"
#include "shape/table.h"

static const char *const registered_states[] = { "registered", "updated", NULL };
static const char *const sources[] = { "agent", "workspace", "platform", NULL };
static const char *const heartbeat_states[] = { "ok", NULL };

enum { COMMANDS_MAX = 1000 };

const char *const policy_mode_names[] = { "allowlist", "denylist", "deny_all", "allow_all", NULL };

const char *const document_format_names[] = { "text", "markdown", "json", "yaml", NULL };

static const char *document_rule(struct str *document, struct arena *arena)
{
    (void)arena;
    return document->len > DOCUMENT_MAX_BYTES ? "Should have at most 1048576 bytes" : NULL;
}

static const char *const value_sources[] = { "agent", "workspace", "default", NULL };

const char *const catalog_edit_names[] = { "admin", "member", NULL };
const char *const catalog_see_names[] = { "admin", "member", "nobody", NULL };

/* The problem does not echo the value, which may be a secret. */
static void check_value(void *value, struct arena *arena, struct problems *problems)
{
    const struct value_set *set = value;
    const struct path_step step = { .name = STR_LIT("value") };

    (void)arena;
    if (set->value.len > VALUE_MAX_BYTES)
        problems_add_rule(problems, &step, 1, STR_NULL, "Should have at most 65536 bytes");
}

/* KPIs, inputs, outputs or parameters of an agent: the writer stores a registration at once. */
enum { DECLARED_MAX = 1000 };

/* One value_error per element of `list` that repeats an earlier key. The key is the first member of
 * every element of `size` bytes. A map keeps this linear for large bodies; the sentence gives an
 * index because a key may be very long. */
static void refuse_repeated_keys(const char *member, const struct list *list, size_t size,
                                 struct arena *arena, struct problems *problems)
{
    const char *items = list->items;
    struct map seen;

    map_init(&seen);
    for (size_t i = 0; i < list->n; i++) {
        struct str *key = (void *)((char *)list->items + i * size);
        const char *first = map_get(&seen, *key);
        struct path_step path[] = { { .name = str_of(member) }, { .index = i } };

        if (first == NULL) {
            (void)map_put(&seen, *key, key);
        } else {
            struct str sentence = arena_printf(arena, "Should not repeat the key of element %zu",
                                               (size_t)(first - items) / size);

            problems_add_rule(problems, path, COUNT_OF(path), STR_NULL, sentence.data);
            if (problems->n >= PROBLEMS_MAX)
                break;
        }
    }
    map_done(&seen);
}

static_assert(offsetof(struct business_kpi_decl, key) == 0, "refuse_repeated_keys reads it there");
static_assert(offsetof(struct config_param_decl, key) == 0, "refuse_repeated_keys reads it there");

static void check_config_schema(void *value, struct arena *arena, struct problems *problems)
{
    const struct config_schema_decl *decl = value;

    refuse_repeated_keys("params", &decl->params, sizeof(struct config_param_decl), arena,
                         problems);
}

static void check_register(void *value, struct arena *arena, struct problems *problems)
{
    const struct agent_register *r = value;

    refuse_repeated_keys("business_kpis", &r->business_kpis, sizeof(struct business_kpi_decl),
                         arena, problems);
}

/* clang-format off */
SHAPE(business_kpi_decl, "BusinessKPIDecl", (.doc = "A business KPI that the agent reports.",
      .example = EXAMPLE({"key": "invoices", "label": "Invoices read", "unit": "count", "agg": "sum"})),
    STR(key,   .flags = F_REQUIRED, .doc = "Key under which the KPI is reported."),
    STR(label, .absent = "\"\"",      .doc = "Display name."),
    STR(unit,  .absent = "\"count\"", .doc = "count, money:<ISO currency code>, percent or duration (seconds)."),
    STR(agg,   .absent = "\"sum\"",   .doc = "Aggregation over a period: sum, last, avg or max."));

SHAPE(io_field, "IOField", (.doc = "One field of an agent's input or output.",
      .example = EXAMPLE({"key": "invoice_pdf", "type": "file", "required": true})),
    STR(key,       .flags = F_REQUIRED, .doc = "Name of the field."),
    STR(type,      .absent = "\"any\"", .doc = "Type of its values, in words of the agent; any: not stated."),
    BOOL(required, .absent = "true", .doc = "Applies to inputs only."));

SHAPE(config_param_decl, "ConfigParamDecl", (.doc = "One configuration parameter.",
      .example = EXAMPLE({"key": "mailbox", "label": "Mailbox", "value_type": "string", "required": true, "help": "Address that invoices are sent to", "default": "", "opciones": [], "restart_required": false})),
    STR(key,                         .flags = F_REQUIRED, .doc = "Name of the parameter."),
    STR(label,                       .absent = "\"\"", .doc = "Display name."),
    STR(value_type,                  .absent = "\"string\"", .doc = "string, integer, number, boolean, json or list."),
    BOOL(required,                   .absent = "false", .doc = "Whether the agent cannot work without a value."),
    STR(help,                        .absent = "\"\"", .doc = "What the parameter does, for the person who sets it."),
    STR_AS("default", default_value, .absent = "\"\"", .doc = "Empty: no default."),
    LIST_STR(opciones,               .absent = "[]", .doc = "Allowed choices."),
    BOOL(restart_required,           .absent = "false", .doc = "Whether a new value only takes effect after a restart of the agent."));

SHAPE(config_schema_decl, "ConfigSchemaDecl", (.doc = "The configuration that an agent needs.", .rules = check_config_schema,
      .example = EXAMPLE({"version": 1})),
    INT(version,                          .absent = "1", .doc = "Version of the schema, counted by the agent."),
    LIST(params, config_param_decl_shape, .max = DECLARED_MAX, .absent = "[]", .doc = "The parameters."));

SHAPE(agent_register, "AgentRegister", (.doc = "An agent's description of itself.", .rules = check_register,
      .example = EXAMPLE({"agent_name": "invoice-reader", "agent_version": "1.4.0", "description": "Reads invoices from the mailbox", "telemetry_doc": "One run per mailbox and hour", "interval_seconds": 3600})),
    STR(agent_name,                    .min = 1, .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    STR(agent_version,                           .absent = "\"\"", .doc = "Version of the agent, as it reports it."),
    STR(description,                             .absent = "\"\"", .doc = "What the agent does, for people."),
    STR(telemetry_doc,                           .absent = "\"\"", .doc = "Free text on what the agent reports."),
    LIST(business_kpis, business_kpi_decl_shape, .max = DECLARED_MAX, .absent = "[]", .doc = "Business KPIs that the agent reports."),
    OPT_INT(interval_seconds,                    .flags = F_NULL, .doc = "Expected run cadence; used for the silent-agent alert."),
    LIST(inputs, io_field_shape,                 .max = DECLARED_MAX, .absent = "[]", .doc = "Input contract."),
    LIST(outputs, io_field_shape,                .max = DECLARED_MAX, .absent = "[]", .doc = "Output contract."),
    NESTED(config_schema, struct config_schema_decl, config_schema_decl_shape, .flags = F_NULL,
      .doc = "Configuration the agent needs."));

SHAPE(agent_registered, "AgentRegistered", (.doc = "The registration as stored.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "agent_version": "1.4.0", "kpis": 1, "params": 1})),
    STR(status,        .flags = F_REQUIRED, .choices = registered_states, .doc = "registered: the agent is new; updated: it was known."),
    STR(agent_name,    .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    STR(agent_version, .flags = F_REQUIRED, .doc = "Version of the agent, as it reports it."),
    INT(kpis,          .flags = F_REQUIRED, .doc = "Number of declared KPIs."),
    INT(params,        .flags = F_REQUIRED, .doc = "Number of declared parameters."),
    LIST_STR(warnings, .flags = F_REQUIRED, .doc = "Values that were stored but are not in the vocabulary."));

SHAPE(agent_model, "AgentModel", (.doc = "The LLM model the agent must use.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "model": "gpt-5-mini", "source": "workspace"})),
    STR(agent_name, .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    STR(model,      .flags = F_REQUIRED | F_NULL, .doc = "Name of the model. Null: none is set."),
    STR(source,     .flags = F_REQUIRED | F_NULL, .choices = sources, .doc = "Level that it was set at. Null: nowhere."));

SHAPE(command_policy, "CommandPolicy", (.doc = "The shell commands the agent may run.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "mode": "allowlist", "allow": ["git", "ls"], "source": "workspace", "version": 3, "updated_at": "2026-01-10T12:00:00Z"})),
    STR(agent_name,  .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    STR(mode,        .flags = F_REQUIRED, .choices = policy_mode_names, .doc = "allowlist: only commands in allow; denylist: all but those in deny; deny_all: none; allow_all: any."),
    LIST_STR(allow,  .flags = F_REQUIRED, .doc = "Commands that may run, with mode allowlist."),
    LIST_STR(deny,   .flags = F_REQUIRED, .doc = "Commands that may not run, with mode denylist."),
    STR(source,      .flags = F_REQUIRED, .choices = sources, .doc = "Level that it was set at."),
    INT(version,     .flags = F_REQUIRED, .doc = "Incremented each time it is set; 0: never set."),
    TIME(updated_at, .flags = F_REQUIRED | F_NULL, .doc = "When it was last set. Null: never."));

SHAPE_TABLE(, agent_document_shape, struct document, "AgentDocument", (.doc = "The agent's free-form configuration document.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "format": "markdown", "document": "# Suppliers\nAsk before paying new ones.", "version": 7})),
    STR(agent_name,  .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    STR(format,      .flags = F_REQUIRED, .choices = document_format_names, .doc = "Format."),
    STR(document,    .flags = F_REQUIRED, .doc = "As edited, vault references unresolved."),
    INT(version,     .flags = F_REQUIRED, .doc = "Incremented with each edit."),
    TIME(updated_at, .flags = F_REQUIRED, .doc = "When it was last changed."));

SHAPE(heartbeat_answer, "Heartbeat", (.doc = "The heartbeat as stored.",
      .example = EXAMPLE({"client_id": "worker-1"})),
    STR(status,       .flags = F_REQUIRED, .choices = heartbeat_states, .doc = "Always ok."),
    STR(client_id,    .flags = F_REQUIRED, .doc = "The process that sent the heartbeat."),
    TIME(received_at, .flags = F_REQUIRED, .doc = "When the service received the heartbeat."));

SHAPE(agent_query, "AgentQuery", (.example = EXAMPLE({"agent_name": "invoice-reader"})),
    STR(agent_name, .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."));

SHAPE(heartbeat_query, "HeartbeatQuery", (.example = EXAMPLE({"client_id": "worker-1"})),
    STR(client_id, .max = 256, .flags = F_REQUIRED, .doc = "Identifies the process that sends the heartbeat."));

SHAPE(agent_path, "AgentPath", (.example = EXAMPLE({"slug": "acme", "agent_name": "invoice-reader"})),
    STR(slug,       .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    STR(agent_name, .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."));

SHAPE(agent_patch, "AgentPatch", (.doc = "Changes to an agent."),
    BOOL(enabled, .flags = F_REQUIRED, .doc = "Events of a disabled agent are rejected."));

SHAPE(agent_state, "AgentSwitch", (.doc = "Whether an agent may report.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "enabled": false})),
    STR(agent_name, .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    BOOL(enabled,   .flags = F_REQUIRED, .doc = "Whether the agent may report."));

SHAPE(agent_deleted, "AgentDeleted", (.doc = "A deleted agent.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "keys_revoked": 1})),
    STR(agent_name,   .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    INT(keys_revoked, .flags = F_REQUIRED, .doc = "Number of keys bound to the agent."));

SHAPE(model_set, "ModelSet", (.doc = "The LLM model to use.",
      .example = EXAMPLE({"model": "gpt-5-mini"})),
    STR(model, .min = 1, .max = 256, .flags = F_REQUIRED, .doc = "Name of the LLM model, as its provider spells it. To remove the setting, unset it."));

SHAPE_TABLE(, model_setting_shape, struct agent_model, "ModelSetting", (.doc = "The LLM model in effect.",
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

SHAPE_TABLE(, policy_setting_shape, struct command_policy, "CommandPolicySetting", (.doc = "The command policy in effect.",
      .example = EXAMPLE({"tenant": "acme", "mode": "allowlist", "allow": ["git", "ls"], "source": "workspace", "version": 3, "updated_at": "2026-01-10T12:00:00Z"})),
    STR(tenant,      .flags = F_REQUIRED | F_NULL, .doc = "Null: the platform."),
    STR(agent_name,  .flags = F_REQUIRED | F_NULL, .doc = "Null: the whole workspace, or the platform."),
    STR(mode,        .flags = F_REQUIRED, .choices = policy_mode_names, .doc = "allowlist: only commands in allow; denylist: all but those in deny; deny_all: none; allow_all: any."),
    LIST_STR(allow,  .flags = F_REQUIRED, .doc = "Commands that may run, with mode allowlist."),
    LIST_STR(deny,   .flags = F_REQUIRED, .doc = "Commands that may not run, with mode denylist."),
    STR(source,      .flags = F_REQUIRED, .choices = sources, .doc = "Level that it was set at."),
    INT(version,     .flags = F_REQUIRED, .doc = "Incremented each time it is set; 0: never set."),
    TIME(updated_at, .flags = F_REQUIRED | F_NULL, .doc = "When it was last set. Null: never."));

SHAPE(document_set, "DocumentSet", (.doc = "A new version of the document.", .row_rules = true,
      .example = EXAMPLE({"document": "# Suppliers\nAsk before paying new ones.", "format": "markdown", "base_version": 6})),
    STR(document,         .rule = document_rule, .flags = F_REQUIRED, .doc = "At most 1 MiB."),
    ENUM(format,          .absent = "\"text\"", .choices = document_format_names, .doc = "Format."),
    OPT_INT(base_version, .flags = F_NULL, .doc = "Version that was edited (0: no document yet); 409 if it is no longer the latest. Null: not checked."));

SHAPE(document, "Document", (.doc = "One version of an agent's document.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "format": "markdown", "document": "# Suppliers\nAsk before paying new ones.", "version": 7, "author": "person:ada@example.com"})),
    STR(agent_name,  .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    STR(format,      .flags = F_REQUIRED, .choices = document_format_names, .doc = "Format."),
    STR(document,    .flags = F_REQUIRED, .doc = "The text."),
    INT(version,     .flags = F_REQUIRED, .doc = "Incremented with each edit."),
    TIME(updated_at, .flags = F_REQUIRED, .doc = "When it was last changed."),
    STR(author,      .flags = F_REQUIRED, .doc = "Who made the change: operator, person:<e-mail>, the same with token:<token_id> after it, or key:<key_id>."));

SHAPE(document_version, "DocumentVersion", (.doc = "One version of an agent's document, without its text.",
      .example = EXAMPLE({"version": 7, "format": "markdown", "bytes": 39, "author": "person:ada@example.com"})),
    INT(version,     .flags = F_REQUIRED, .doc = "Incremented with each edit."),
    STR(format,      .flags = F_REQUIRED, .choices = document_format_names, .doc = "Format."),
    INT(bytes,       .flags = F_REQUIRED, .doc = "Length of the text in bytes."),
    TIME(updated_at, .flags = F_REQUIRED, .doc = "When it was last changed."),
    STR(author,      .flags = F_REQUIRED, .doc = "Who made the change: operator, person:<e-mail>, the same with token:<token_id> after it, or key:<key_id>."));

SHAPE(document_history, "DocumentHistory", (.doc = "The versions of an agent's document.",
      .example = EXAMPLE({"agent_name": "invoice-reader"})),
    STR(agent_name,                        .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    LIST(versions, document_version_shape, .flags = F_REQUIRED, .doc = "Newest first."),
    OPT_INT(next,                          .flags = F_REQUIRED | F_NULL, .doc = "Value of before for the next page. Null: last page."));

SHAPE(document_diff, "DocumentDiff", (.doc = "The changes between two versions.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "from": 6, "to": 7, "diff": "@@ -1 +1,2 @@\n # Suppliers\n+Ask before paying new ones.\n"})),
    STR(agent_name, .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    INT(from,       .flags = F_REQUIRED, .doc = "The older version."),
    INT(to,         .flags = F_REQUIRED, .doc = "The newer version."),
    STR(diff,       .flags = F_REQUIRED, .doc = "Unified diff; empty: no difference."));

SHAPE(history_query, "DocumentHistoryQuery", (),
    INT(limit,      .absent = "50", .least = 1, .most = 1000, .doc = "How many items a page has at most."),
    OPT_INT(before, .flags = F_NULL, .least = 1, .most = INT64_MAX, .doc = "Only versions older than this one."));

SHAPE(diff_query, "DocumentDiffQuery", (.example = EXAMPLE({"from": 6, "to": 7})),
    INT(from, .flags = F_REQUIRED, .least = 1, .most = INT64_MAX, .doc = "Version to compare from."),
    INT(to,   .flags = F_REQUIRED, .least = 1, .most = INT64_MAX, .doc = "Version to compare to."));

SHAPE(document_version_path, "DocumentVersionPath", (.example = EXAMPLE({"slug": "acme", "agent_name": "invoice-reader", "version": 7})),
    STR(slug,       .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    STR(agent_name, .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    INT(version,    .flags = F_REQUIRED, .least = 1, .most = INT64_MAX, .doc = "Version of the document, from 1."));

SHAPE(value_set, "ValueSet", (.doc = "A configuration value to set.", .rules = check_value,
      .example = EXAMPLE({"value": "billing@example.com"})),
    STR(value, .flags = F_REQUIRED, .doc = "Text, whatever the type: 5, true, [1,2]. May refer to secrets, as vault:NAME or with ${vault:NAME} inside."));

SHAPE(config_value, "ConfigValue", (.doc = "A parameter and its value in effect.",
      .example = EXAMPLE({"key": "mailbox", "value": "billing@example.com", "source": "agent", "declared": true, "value_type": "string", "required": true, "updated_at": "2026-01-10T12:00:00Z", "author": "person:ada@example.com"})),
    STR(key,         .flags = F_REQUIRED, .doc = "Name of the parameter."),
    STR(value,       .flags = F_REQUIRED | F_NULL, .doc = "As set, with references unresolved."),
    BOOL(hidden,     .flags = F_REQUIRED, .doc = "There is a value, but the caller may not see it."),
    STR(source,      .flags = F_REQUIRED | F_NULL, .choices = value_sources, .doc = "Level that the value comes from. Null: no value is set."),
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
