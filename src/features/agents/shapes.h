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

/* The model in effect for an agent, a workspace or the platform, and the level it was set at. */
struct agent_model {
    struct str tenant, agent_name; /* null: the platform, the workspace; tenant not for agents */
    struct str model;              /* null: not set */
    struct str source;             /* agent, workspace, platform; null */
    int64_t updated_at;            /* TIME_NULL; not for agents */
};

struct command_policy {
    struct str tenant, agent_name; /* as above */
    struct str mode;               /* allowlist, denylist, deny_all, allow_all */
    struct list allow, deny;       /* of struct str */
    struct str source;             /* agent, workspace, platform */
    int64_t version;
    int64_t updated_at; /* TIME_NULL when it was never set */
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

struct model_set {
    struct str model;
};

/* In the order in which the store numbers them. */
enum policy_mode { POLICY_ALLOWLIST, POLICY_DENYLIST, POLICY_DENY_ALL, POLICY_ALLOW_ALL };
extern const char *const policy_mode_names[];

struct policy_set {
    int mode;                /* enum policy_mode */
    struct list allow, deny; /* of struct str */
};

enum { DOCUMENT_MAX_BYTES = 1 << 20 };

/* In the order in which the store numbers them. */
enum document_format { DOCUMENT_TEXT, DOCUMENT_MARKDOWN, DOCUMENT_JSON, DOCUMENT_YAML };
extern const char *const document_format_names[];

struct document_set {
    struct str document;
    int format;                  /* enum document_format */
    struct opt_int base_version; /* the version that was edited; null: not checked */
};

/* One version with its text; the author is not for agents. */
struct document {
    struct str agent_name;
    struct str format; /* text, markdown, json, yaml */
    struct str document;
    int64_t version;
    int64_t updated_at;
    struct str author;
};

/* One version without its text. */
struct document_version {
    int64_t version;
    struct str format;
    int64_t bytes;
    int64_t updated_at;
    struct str author;
};

struct document_history {
    struct str agent_name;
    struct list versions; /* of struct document_version, newest first */
    struct opt_int next;  /* the `before` of the next page */
};

struct document_diff {
    struct str agent_name;
    int64_t from, to;
    struct str diff;
};

struct history_query {
    int64_t limit;
    struct opt_int before;
};

struct diff_query {
    int64_t from, to;
};

struct document_version_path {
    struct str slug, agent_name;
    int64_t version;
};

enum { VALUE_MAX_BYTES = 64 << 10 };

/* In the order of their names. */
enum catalog_edit { EDIT_ADMIN, EDIT_MEMBER };
enum catalog_see { SEE_ADMIN, SEE_MEMBER, SEE_NOBODY };
extern const char *const catalog_edit_names[];
extern const char *const catalog_see_names[];

struct value_set {
    struct str value;
};

/* A parameter of a workspace or an agent, and its value in effect. */
struct config_value {
    struct str key;
    struct str value;      /* null: no value, or hidden */
    bool hidden;           /* there is a value, but this caller may not see it */
    struct str source;     /* agent, workspace, default; null: no value */
    bool declared;         /* by the agent; of a workspace: false */
    struct str value_type; /* null unless declared */
    bool required;
    bool secret;
    struct str edit;    /* admin, member */
    int64_t updated_at; /* TIME_NULL */
    struct str author;  /* null */
};

struct catalog_patch {
    struct opt_bool secret;
    int edit, see; /* -1: unchanged */
};

struct catalog_parameter {
    struct str key;
    bool secret;
    struct str edit; /* admin, member */
    struct str see;  /* admin, member, "nobody" */
    int64_t created_at;
};

struct catalog_query {
    int64_t limit;
    struct str after; /* null */
};

struct parameter_path {
    struct str slug, key;
};

struct agent_value_path {
    struct str slug, agent_name, key;
};

extern const struct shape business_kpi_decl_shape, io_field_shape, config_param_decl_shape,
    config_schema_decl_shape, agent_register_shape, agent_registered_shape, agent_model_shape,
    command_policy_shape, agent_document_shape, heartbeat_answer_shape, agent_query_shape,
    heartbeat_query_shape, agent_path_shape, agent_patch_shape, agent_state_shape,
    agent_deleted_shape, model_set_shape, model_setting_shape, policy_set_shape,
    policy_setting_shape, document_set_shape, document_shape, document_version_shape,
    document_history_shape, document_diff_shape, history_query_shape, diff_query_shape,
    document_version_path_shape, value_set_shape, config_value_shape, config_values_shape,
    catalog_patch_shape, catalog_parameter_shape, catalog_list_shape, catalog_query_shape,
    parameter_path_shape, agent_value_path_shape;
