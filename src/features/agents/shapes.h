/* shapes.h - agents: what they declare, what they pull, how operators manage them.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

struct business_kpi_decl {
    struct str key, label, unit, agg;
};

struct io_field {
    struct str key, type;
    bool required;
};

struct config_param_decl {
    struct str key, label, value_type;
    bool required;
    struct str help;
    struct str default_value; /* "default" in JSON; empty: none */
    struct list opciones;     /* of struct str */
    bool restart_required;
};

struct config_schema_decl {
    int64_t version;
    struct list params; /* of struct config_param_decl, keys unique */
};

struct agent_register {
    struct str agent_name, agent_version, description, telemetry_doc;
    struct list business_kpis; /* of struct business_kpi_decl, keys unique */
    struct opt_int interval_seconds;
    struct list inputs, outputs;              /* of struct io_field */
    struct config_schema_decl *config_schema; /* NULL */
};

struct agent_registered {
    struct str status; /* registered, updated */
    struct str agent_name, agent_version;
    int64_t kpis, params;
    struct list warnings; /* of struct str */
};

struct agent_model {
    struct str agent_name;
    struct str model;  /* null */
    struct str source; /* agent, workspace, platform; null */
};

struct command_policy {
    struct str agent_name;
    struct str mode;         /* allowlist, denylist, deny_all, allow_all */
    struct list allow, deny; /* of struct str */
    struct str source;       /* agent, workspace, platform */
    int64_t version;
    int64_t updated_at; /* TIME_NULL when it was never set */
};

struct agent_document {
    struct str agent_name;
    struct str format; /* text, markdown, json, yaml */
    struct str document;
    int64_t version;
    int64_t updated_at;
};

struct heartbeat_answer {
    struct str status; /* ok */
    struct str client_id;
    int64_t received_at;
};

struct agent_query {
    struct str agent_name;
};

struct heartbeat_query {
    struct str client_id; /* names a process, not a tenant */
};

struct agent_path {
    struct str slug, agent_name;
};

struct agent_patch {
    bool enabled;
};

struct agent_state {
    struct str agent_name;
    bool enabled;
};

struct agent_deleted {
    struct str agent_name;
    int64_t keys_revoked;
};

extern const struct shape business_kpi_decl_shape, io_field_shape, config_param_decl_shape,
    config_schema_decl_shape, agent_register_shape, agent_registered_shape, agent_model_shape,
    command_policy_shape, agent_document_shape, heartbeat_answer_shape, agent_query_shape,
    heartbeat_query_shape, agent_path_shape, agent_patch_shape, agent_state_shape,
    agent_deleted_shape;
