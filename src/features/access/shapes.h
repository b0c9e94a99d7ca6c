/* shapes.h - tenants and keys, as operators create and see them.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

/* What a key may do, with the names that the API has for it. */
enum token_kind { TOKEN_WORKSPACE, TOKEN_AGENT, TOKEN_READ_ONLY };

extern const char *const token_kind_names[];

enum { SLUG_MAX = 63 };

/* Lowercase words of letters and digits joined by single hyphens, at most SLUG_MAX characters. */
bool admin_is_slug(struct str s);

struct tenant_create {
    struct str slug, name;
    int64_t max_agents, rate_limit;
    int64_t max_bytes; /* 0: no quota, here and below */
};

struct tenant {
    struct str slug, name;
    int64_t max_agents, rate_limit, max_bytes;
    int64_t created_at;
};

/* Names what to delete a second time. */
struct tenant_confirm {
    struct str confirm;
};

struct tenant_deleted {
    struct str slug;
};

/* A tenant, its plan and its usage. */
struct tenant_plan {
    struct str slug, name;
    int64_t max_agents, rate_limit, max_bytes;
    int64_t created_at;
    int64_t agents, stored_bytes;
};

/* Omitted members keep their values. */
struct tenant_patch {
    struct str name; /* null */
    struct opt_int max_agents, rate_limit, max_bytes;
};

enum { TENANTS_PAGE_MAX = 10000 }; /* of at most 2 kB each: less than the largest reply */

struct tenants_query {
    int64_t limit;
    struct str cursor; /* null: from the start */
};

struct key_create {
    struct str agent_name; /* null: a workspace key, or a read-only one */
    bool read_only;
    struct str label;
    int64_t expires_at; /* TIME_NULL: never */
};

struct key_created {
    struct str key_id, token;
    struct str kind;       /* workspace, agent, read_only */
    struct str agent_name; /* null */
    struct str label;
    int64_t created_at;
    int64_t expires_at; /* TIME_NULL */
};

struct key {
    struct str key_id;
    struct str kind;       /* workspace, agent, read_only */
    struct str agent_name; /* null */
    struct str label;
    int64_t created_at;
    int64_t last_used_at, expires_at, revoked_at; /* TIME_NULL */
    struct str predecessor;                       /* null */
    int64_t rotated_at;                           /* TIME_NULL */
};

struct keys_query {
    int64_t limit;
    struct str cursor; /* null: from the start */
};

struct keys_revoked {
    struct list revoked; /* of struct str: key ids */
};

struct revoke_query {
    bool only;
};

struct key_refreshed {
    struct str token, key_id;
    struct str kind;       /* workspace, agent, read_only */
    struct str agent_name; /* null unless bound to an agent */
    int64_t previous_key_valid_until;
};

struct tenant_path {
    struct str slug;
};

struct key_path {
    struct str slug, key_id;
};

extern const struct shape tenant_create_shape, tenant_shape, tenant_plan_shape, tenant_list_shape,
    key_create_shape, key_created_shape, key_shape, key_list_shape, tenants_query_shape,
    keys_query_shape, keys_revoked_shape, revoke_query_shape, tenant_patch_shape,
    key_refreshed_shape, tenant_path_shape, tenant_confirm_shape, tenant_deleted_shape,
    key_path_shape;
