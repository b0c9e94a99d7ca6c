/* shapes.c - the shapes of agents: registration, what they pull, administration. */
#include "features/agents/shapes.h"

#include <assert.h>

#include "base/map.h"
#include "features/agents/directives/shapes.h"
#include "features/agents/documents/shapes.h"
#include "shape/problems.h"
#include "shape/table.h"

static const char *const registered_states[] = { "registered", "updated", NULL };
static const char *const sources[] = { "agent", "workspace", "platform", NULL };
static const char *const heartbeat_states[] = { "ok", NULL };

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
        struct problem_step path[] = { { .name = str_of(member) },
                                       { .index = i, .is_index = true } };

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

SHAPE(agent_document, "AgentDocument", (.doc = "The agent's free-form configuration document.",
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
/* clang-format on */
