/* shapes.h - configuration values and the security catalog, as set and shown.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

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

extern const struct shape value_set_shape, config_value_shape, config_values_shape,
    catalog_patch_shape, catalog_parameter_shape, catalog_list_shape, catalog_query_shape,
    parameter_path_shape, agent_value_path_shape;
