/* shapes.c - the tables of registration and of what agents pull. */
#include "features/agents/shapes.h"

#include <assert.h>

#include "base/map.h"
#include "features/agents/directives/shapes.h"
#include "features/agents/documents/shapes.h"
#include "shape/problems.h"
#include "shape/table.h"

static const char *const registered_states[] = { "registered", "updated", NULL };
static const char *const sources[] = { "agent", "workspace", "platform", NULL };
static const char *const key_kinds[] = { "workspace", "agent", NULL };
static const char *const heartbeat_states[] = { "ok", NULL };

/* One value_error for each element of `list` whose key an earlier one has. The key is the first
 * member of every element, each `size` bytes. A map, because a body holds very many; and the
 * sentence counts instead of quoting, because a key may be very long. */
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
            struct str sentence = arena_printf(arena, "Its key is already that of element %zu",
                                               (size_t)(first - items) / size);

            problems_add_rule(problems, path, COUNT_OF(path), STR_NULL, sentence.data);
            if (problems_count(problems) >= PROBLEMS_MAX)
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
#define MEMBER(m) m

#define OWNER struct business_kpi_decl
static const struct field business_kpi_decl_fields[] = {
    { STR(key),   .flags = F_REQUIRED },
    { STR(label), .absent = "\"\"",      .doc = "Display name." },
    { STR(unit),  .absent = "\"count\"", .doc = "count, money:<ISO currency code>, percent or duration (seconds)." },
    { STR(agg),   .absent = "\"sum\"",   .doc = "How it is totalled over a period: sum, last, avg or max." },
};
#undef OWNER

#define OWNER struct io_field
static const struct field io_field_fields[] = {
    { STR(key),       .flags = F_REQUIRED },
    { STR(type),      .absent = "\"any\"" },
    { BOOL(required), .absent = "true", .doc = "Applies to inputs only." },
};
#undef OWNER

#define OWNER struct config_param_decl
static const struct field config_param_decl_fields[] = {
    { STR(key),                         .flags = F_REQUIRED },
    { STR(label),                       .absent = "\"\"" },
    { STR(value_type),                  .absent = "\"string\"", .doc = "string, integer, number, boolean, json or list." },
    { BOOL(required),                   .absent = "false" },
    { STR(help),                        .absent = "\"\"" },
    { STR_AS("default", default_value), .absent = "\"\"", .doc = "Empty: no default." },
    { LIST_STR(opciones),               .absent = "[]", .doc = "Allowed choices." },
    { BOOL(restart_required),           .absent = "false" },
};
#undef OWNER

#define OWNER struct config_schema_decl
static const struct field config_schema_decl_fields[] = {
    { INT(version),                          .absent = "1" },
    { LIST(params, config_param_decl_shape), .absent = "[]" },
};
#undef OWNER

#define OWNER struct agent_register
static const struct field agent_register_fields[] = {
    { STR(agent_name),                              .flags = F_REQUIRED },
    { STR(agent_version),                           .absent = "\"\"" },
    { STR(description),                             .absent = "\"\"" },
    { STR(telemetry_doc),                           .absent = "\"\"", .doc = "Free text on what the agent reports." },
    { LIST(business_kpis, business_kpi_decl_shape), .absent = "[]" },
    { OPT_INT(interval_seconds),                    .flags = F_NULL, .doc = "Expected run cadence; used for the silent-agent alert." },
    { LIST(inputs, io_field_shape),                 .absent = "[]", .doc = "Input contract." },
    { LIST(outputs, io_field_shape),                .absent = "[]", .doc = "Output contract." },
    { SHAPE(config_schema, struct config_schema_decl, config_schema_decl_shape), .flags = F_NULL,
      .doc = "Configuration the agent needs." },
};
#undef OWNER

#define OWNER struct agent_registered
static const struct field agent_registered_fields[] = {
    { STR(status),        .flags = F_REQUIRED, .choices = registered_states },
    { STR(agent_name),    .flags = F_REQUIRED },
    { STR(agent_version), .flags = F_REQUIRED },
    { INT(kpis),          .flags = F_REQUIRED, .doc = "How many KPIs are declared." },
    { INT(params),        .flags = F_REQUIRED, .doc = "How many parameters are declared." },
    { LIST_STR(warnings), .flags = F_REQUIRED, .doc = "What was stored but is outside the vocabulary." },
};
#undef OWNER

#define OWNER struct agent_model
static const struct field agent_model_fields[] = {
    { STR(agent_name), .flags = F_REQUIRED },
    { STR(model),      .flags = F_REQUIRED | F_NULL },
    { STR(source),     .flags = F_REQUIRED | F_NULL, .choices = sources },
};
#undef OWNER

#define OWNER struct command_policy
static const struct field command_policy_fields[] = {
    { STR(agent_name),  .flags = F_REQUIRED },
    { STR(mode),        .flags = F_REQUIRED, .choices = policy_mode_names },
    { LIST_STR(allow),  .flags = F_REQUIRED },
    { LIST_STR(deny),   .flags = F_REQUIRED },
    { STR(source),      .flags = F_REQUIRED, .choices = sources },
    { INT(version),     .flags = F_REQUIRED },
    { TIME(updated_at), .flags = F_REQUIRED | F_NULL },
};
#undef OWNER

#define OWNER struct agent_document
static const struct field agent_document_fields[] = {
    { STR(agent_name),  .flags = F_REQUIRED },
    { STR(format),      .flags = F_REQUIRED, .choices = document_format_names },
    { STR(document),    .flags = F_REQUIRED, .doc = "As edited, vault references unresolved." },
    { INT(version),     .flags = F_REQUIRED },
    { TIME(updated_at), .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct key_refreshed
static const struct field key_refreshed_fields[] = {
    { STR(token),                     .flags = F_REQUIRED, .doc = "Shown this once." },
    { STR(key_id),                    .flags = F_REQUIRED },
    { STR(kind),                      .flags = F_REQUIRED, .choices = key_kinds },
    { STR(agent_name),                .flags = F_REQUIRED | F_NULL },
    { TIME(previous_key_valid_until), .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct heartbeat_answer
static const struct field heartbeat_answer_fields[] = {
    { STR(status),       .flags = F_REQUIRED, .choices = heartbeat_states },
    { STR(client_id),    .flags = F_REQUIRED },
    { TIME(received_at), .flags = F_REQUIRED },
};
#undef OWNER

#undef MEMBER
/* clang-format on */

const struct shape business_kpi_decl_shape = {
    SHAPE_OF("BusinessKPIDecl", struct business_kpi_decl, business_kpi_decl_fields),
    .doc = "A business KPI that the agent reports.",
};

const struct shape io_field_shape = {
    SHAPE_OF("IOField", struct io_field, io_field_fields),
    .doc = "One field of an agent's input or output.",
};

const struct shape config_param_decl_shape = {
    SHAPE_OF("ConfigParamDecl", struct config_param_decl, config_param_decl_fields),
    .doc = "One configuration parameter.",
};

const struct shape config_schema_decl_shape = {
    SHAPE_OF("ConfigSchemaDecl", struct config_schema_decl, config_schema_decl_fields),
    .doc = "The configuration that an agent needs.",
    .rules = check_config_schema,
};

const struct shape agent_register_shape = {
    SHAPE_OF("AgentRegister", struct agent_register, agent_register_fields),
    .doc = "What an agent says about itself.",
    .rules = check_register,
};

const struct shape agent_registered_shape = {
    SHAPE_OF("AgentRegistered", struct agent_registered, agent_registered_fields),
    .doc = "What was registered.",
};

const struct shape agent_model_shape = {
    SHAPE_OF("AgentModel", struct agent_model, agent_model_fields),
    .doc = "The LLM model the agent must use.",
};

const struct shape command_policy_shape = {
    SHAPE_OF("CommandPolicy", struct command_policy, command_policy_fields),
    .doc = "The shell commands the agent may run.",
};

const struct shape agent_document_shape = {
    SHAPE_OF("AgentDocument", struct agent_document, agent_document_fields),
    .doc = "The agent's free-form configuration document.",
};

const struct shape key_refreshed_shape = {
    SHAPE_OF("KeyRefreshed", struct key_refreshed, key_refreshed_fields),
    .doc = "The successor of the key that asked.",
};

const struct shape heartbeat_answer_shape = {
    SHAPE_OF("Heartbeat", struct heartbeat_answer, heartbeat_answer_fields),
    .doc = "The sign of life as noted.",
};
