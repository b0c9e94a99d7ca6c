/* shapes.c - the shapes of tenants and keys. */
#include "features/access/shapes.h"

#include "shape/rule.h"
#include "shape/table.h"

static const char *const key_kinds[] = { "workspace", "agent", NULL };

bool admin_is_slug(struct str s)
{
    bool in_word = false;

    if (s.len > SLUG_MAX)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.data[i];

        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            in_word = true;
        else if (c == '-' && in_word)
            in_word = false; /* the next character must begin a word */
        else
            return false;
    }
    return in_word;
}

static void check_tenant_create(void *value, struct arena *arena, struct problems *problems)
{
    const struct tenant_create *t = value;

    if (!admin_is_slug(t->slug))
        rule_refuse_text(problems, arena, "slug", t->slug,
                         "Should be lowercase letters and digits in words joined by single "
                         "hyphens, at most 63 characters");
}

/* clang-format off */
#define OWNER struct tenant_create
SHAPE_BEGIN(tenant_create_shape)
    { STR(slug),       .flags = F_REQUIRED, .doc = "Lowercase words joined by hyphens, at most 63 characters." },
    { STR(name),       .absent = "\"\"" },
    { INT(max_agents), .absent = "100", .least = 1, .most = 1000000000 },
    { INT(rate_limit), .absent = "100", .least = 1, .most = 1000000000, .doc = "Requests per minute per key." },
    { INT(max_bytes),  .absent = "0", .least = 0, .most = INT64_C(1) << 53, .doc = "Bytes that stored reports may take. 0: no quota." },
SHAPE_END(tenant_create_shape, "TenantCreate", .doc = "A tenant to create.", .rules = check_tenant_create);
#undef OWNER

#define OWNER struct tenant_patch
SHAPE_BEGIN(tenant_patch_shape)
    { STR(name),           .flags = F_NULL },
    { OPT_INT(max_agents), .flags = F_NULL, .least = 1, .most = 1000000000 },
    { OPT_INT(rate_limit), .flags = F_NULL, .least = 1, .most = 1000000000, .doc = "Requests per minute per key." },
    { OPT_INT(max_bytes),  .flags = F_NULL, .least = 0, .most = INT64_C(1) << 53, .doc = "Bytes that stored reports may take. 0: no quota." },
SHAPE_END(tenant_patch_shape, "TenantPatch", .doc = "Changes to a tenant. Omitted fields keep their values.");
#undef OWNER

#define OWNER struct tenant_confirm
SHAPE_BEGIN(tenant_confirm_shape)
    { STR(confirm), .flags = F_REQUIRED, .doc = "The slug once more." },
SHAPE_END(tenant_confirm_shape, "TenantConfirm", .doc = "Confirms that a tenant is to be deleted.");
#undef OWNER

#define OWNER struct tenant_deleted
SHAPE_BEGIN(tenant_deleted_shape)
    { STR(slug), .flags = F_REQUIRED },
SHAPE_END(tenant_deleted_shape, "TenantDeleted", .doc = "A deleted tenant.");
#undef OWNER

#define OWNER struct tenant
SHAPE_BEGIN(tenant_shape)
    { STR(slug),        .flags = F_REQUIRED },
    { STR(name),        .flags = F_REQUIRED },
    { INT(max_agents),  .flags = F_REQUIRED },
    { INT(rate_limit),  .flags = F_REQUIRED, .doc = "Requests per minute per key." },
    { INT(max_bytes),   .flags = F_REQUIRED, .doc = "Bytes that stored reports may take. 0: no quota." },
    { TIME(created_at), .flags = F_REQUIRED },
SHAPE_END(tenant_shape, "Tenant", .doc = "A tenant.");
#undef OWNER

#define OWNER struct tenant_plan
SHAPE_BEGIN(tenant_plan_shape)
    { STR(slug),        .flags = F_REQUIRED },
    { STR(name),        .flags = F_REQUIRED },
    { INT(max_agents),  .flags = F_REQUIRED },
    { INT(rate_limit),  .flags = F_REQUIRED, .doc = "Requests per minute per key." },
    { INT(max_bytes),   .flags = F_REQUIRED, .doc = "Bytes that stored reports may take. 0: no quota." },
    { TIME(created_at), .flags = F_REQUIRED },
    { INT(stored_bytes), .flags = F_REQUIRED, .doc = "Bytes that stored reports take: their texts, and 100 for each event, KPI value, breakdown and LLM usage." },
    { INT(agents),      .flags = F_REQUIRED, .doc = "Current number of agents, without deleted ones." },
SHAPE_END(tenant_plan_shape, "TenantPlan", .doc = "A tenant, its plan and its usage.");
#undef OWNER

#define OWNER struct tenant_list
SHAPE_BEGIN(tenant_list_shape)
    { LIST(tenants, tenant_shape), .flags = F_REQUIRED },
SHAPE_END(tenant_list_shape, "TenantList", .doc = "All tenants.");
#undef OWNER

#define OWNER struct key_create
SHAPE_BEGIN(key_create_shape)
    { STR(agent_name),  .max = 256, .flags = F_NULL, .doc = "Binds the key to this agent. Null: a workspace key." },
    { STR(label),       .max = 256, .absent = "\"\"" },
    { TIME(expires_at),             .flags = F_NULL, .doc = "Null: never expires." },
SHAPE_END(key_create_shape, "KeyCreate", .doc = "A key to create.");
#undef OWNER

#define OWNER struct key_created
SHAPE_BEGIN(key_created_shape)
    { STR(key_id),      .flags = F_REQUIRED },
    { STR(token),       .flags = F_REQUIRED, .doc = "Shown only once." },
    { STR(kind),        .flags = F_REQUIRED, .choices = key_kinds },
    { STR(agent_name),  .flags = F_REQUIRED | F_NULL },
    { STR(label),       .flags = F_REQUIRED },
    { TIME(created_at), .flags = F_REQUIRED },
    { TIME(expires_at), .flags = F_REQUIRED | F_NULL },
SHAPE_END(key_created_shape, "KeyCreated", .doc = "A new key with its token.");
#undef OWNER

#define OWNER struct key
SHAPE_BEGIN(key_shape)
    { STR(key_id),        .flags = F_REQUIRED },
    { STR(kind),          .flags = F_REQUIRED, .choices = key_kinds },
    { STR(agent_name),    .flags = F_REQUIRED | F_NULL },
    { STR(label),         .flags = F_REQUIRED },
    { TIME(created_at),   .flags = F_REQUIRED },
    { TIME(last_used_at), .flags = F_REQUIRED | F_NULL },
    { TIME(expires_at),   .flags = F_REQUIRED | F_NULL },
    { TIME(revoked_at),   .flags = F_REQUIRED | F_NULL },
    { STR(predecessor),   .flags = F_REQUIRED | F_NULL, .doc = "key_id of the key that this one replaces." },
    { TIME(rotated_at),   .flags = F_REQUIRED | F_NULL, .doc = "When the key was first rotated. It stays valid for five minutes after that." },
SHAPE_END(key_shape, "Key", .doc = "A key without its token.");
#undef OWNER

#define OWNER struct key_list
SHAPE_BEGIN(key_list_shape)
    { LIST(keys, key_shape), .flags = F_REQUIRED },
    { STR(next),             .flags = F_REQUIRED | F_NULL, .doc = "Pass it as cursor to read on. Null on the last page." },
SHAPE_END(key_list_shape, "KeyList", .doc = "Keys of a tenant, oldest first.");
#undef OWNER

#define OWNER struct keys_query
SHAPE_BEGIN(keys_query_shape)
    { INT(limit),  .absent = "1000", .least = 1, .most = 1000 },
    { STR(cursor), .flags = F_NULL, .doc = "The next of the previous page." },
SHAPE_END(keys_query_shape, "KeysQuery");
#undef OWNER

#define OWNER struct keys_revoked
SHAPE_BEGIN(keys_revoked_shape)
    { LIST_STR(revoked), .flags = F_REQUIRED, .doc = "Ids of the keys that this request revoked." },
SHAPE_END(keys_revoked_shape, "KeysRevoked", .doc = "What a revocation ended.");
#undef OWNER

#define OWNER struct revoke_query
SHAPE_BEGIN(revoke_query_shape)
    { BOOL(only), .absent = "false", .doc = "Spare the keys that were made from it by rotation." },
SHAPE_END(revoke_query_shape, "RevokeQuery");
#undef OWNER

#define OWNER struct key_refreshed
SHAPE_BEGIN(key_refreshed_shape)
    { STR(token),                     .flags = F_REQUIRED, .doc = "Shown only once." },
    { STR(key_id),                    .flags = F_REQUIRED },
    { STR(kind),                      .flags = F_REQUIRED, .choices = key_kinds },
    { STR(agent_name),                .flags = F_REQUIRED | F_NULL },
    { TIME(previous_key_valid_until), .flags = F_REQUIRED },
SHAPE_END(key_refreshed_shape, "KeyRefreshed", .doc = "The key that replaces a rotated one.");
#undef OWNER

#define OWNER struct tenant_path
SHAPE_BEGIN(tenant_path_shape)
    { STR(slug), .flags = F_REQUIRED },
SHAPE_END(tenant_path_shape, "TenantPath");
#undef OWNER

#define OWNER struct key_path
SHAPE_BEGIN(key_path_shape)
    { STR(slug),   .flags = F_REQUIRED },
    { STR(key_id), .flags = F_REQUIRED },
SHAPE_END(key_path_shape, "KeyPath");
#undef OWNER
/* clang-format on */
