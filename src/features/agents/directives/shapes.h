/* shapes.h - models and command policies, as operators set and see them.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

struct model_set {
    struct str model;
};

/* The model in effect for an agent, a workspace or the platform, and the level it was set at. */
struct model_setting {
    struct str tenant, agent_name; /* null: the platform, the workspace */
    struct str model;              /* null: not set */
    struct str source;             /* agent, workspace, platform; null */
    int64_t updated_at;            /* TIME_NULL */
};

/* In the order in which the store numbers them. */
enum policy_mode { POLICY_ALLOWLIST, POLICY_DENYLIST, POLICY_DENY_ALL, POLICY_ALLOW_ALL };
extern const char *const policy_mode_names[];

struct policy_set {
    int mode;                /* enum policy_mode */
    struct list allow, deny; /* of struct str */
};

struct policy_setting {
    struct str tenant, agent_name; /* null: the platform, the workspace */
    struct str mode;
    struct list allow, deny; /* of struct str */
    struct str source;       /* agent, workspace, platform */
    int64_t version;
    int64_t updated_at; /* TIME_NULL when it was never set */
};

extern const struct shape model_set_shape, model_setting_shape, policy_set_shape,
    policy_setting_shape;
