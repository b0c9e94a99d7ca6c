/* shapes.h - sign-in by an identity provider, its groups, and who its people are here.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

enum { GROUP_NAME_MAX = 256, CODE_MAX = 4096 };

/* The role that a group gives: of the platform, or in a tenant. */
enum group_role { GROUP_PLATFORM_ADMIN, GROUP_ADMIN, GROUP_MEMBER };

struct oidc_state {
    bool enabled;
    struct str name; /* null: not enabled */
    bool password_sign_in;
};

struct oidc_begun {
    struct str url;
};

struct oidc_sign_out {
    struct str url; /* null */
};

struct oidc_return {
    struct str code, state;
    struct str iss; /* null */
};

struct oidc_group_create {
    struct str group;
    int role;          /* enum group_role */
    struct str tenant; /* slug; null: the platform */
};

struct oidc_group {
    struct str group_id, group;
    int role;          /* enum group_role */
    int64_t tenant_id; /* 0: the platform; not shown */
    struct str tenant; /* slug; null: the platform */
    int64_t created_at;
};

struct oidc_group_path {
    struct str group_id;
};

struct oidc_group_deleted {
    struct str group_id;
};

struct identity_create {
    struct str subject;
};

extern const struct shape oidc_state_shape, oidc_begun_shape, oidc_sign_out_shape,
    oidc_return_shape, oidc_group_create_shape, oidc_group_shape, oidc_group_list_shape,
    oidc_group_path_shape, oidc_group_deleted_shape, identity_create_shape, identity_list_shape;
