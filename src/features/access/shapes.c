/* shapes.c - the shapes of tenants and keys. */
#include "features/access/shapes.h"

#include "features/access/retention.h"
#include "shape/table.h"

const char *const token_kind_names[] = { "workspace", "agent", "read_only", NULL };

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

static const char *tenant_rule_slug(struct str *slug, struct arena *arena)
{
    (void)arena;
    if (admin_is_slug(*slug))
        return NULL;
    return "Should be lowercase letters and digits in words joined by single hyphens, at most 63 "
           "characters";
}

/* clang-format off */
SHAPE(tenant_create, "TenantCreate", (.doc = "A tenant to create.", .row_rules = true,
      .example = EXAMPLE({"slug": "acme", "name": "Acme Corp", "max_agents": 100, "rate_limit": 600, "max_bytes": 5000000000})),
    STR(slug,       .rule = tenant_rule_slug, .max = SLUG_MAX, .pattern = "^[a-z0-9]+(-[a-z0-9]+)*$", .flags = F_REQUIRED, .doc = "Lowercase words joined by hyphens, at most 63 characters."),
    STR(name,       .max = 256, .absent = "\"\"", .doc = "Display name."),
    INT(max_agents, .absent = "100", .least = 1, .most = 1000000000, .doc = "How many agents the tenant may have."),
    INT(rate_limit, .absent = "100", .least = 1, .most = 1000000000, .doc = "Requests per minute per key."),
    INT(max_bytes,  .absent = "0", .least = 0, .most = INT64_C(1) << 53, .doc = "Bytes that stored reports may take. 0: no quota."));

SHAPE(tenant_patch, "TenantPatch", (.doc = "Changes to a tenant. Omitted fields keep their values.",
      .example = EXAMPLE({"rate_limit": 1200})),
    STR(name,           .max = 256, .flags = F_NULL, .doc = "Display name."),
    OPT_INT(max_agents, .flags = F_NULL, .least = 1, .most = 1000000000, .doc = "How many agents the tenant may have."),
    OPT_INT(rate_limit, .flags = F_NULL, .least = 1, .most = 1000000000, .doc = "Requests per minute per key."),
    OPT_INT(max_bytes,  .flags = F_NULL, .least = 0, .most = INT64_C(1) << 53, .doc = "Bytes that stored reports may take. 0: no quota."));

SHAPE(tenant_confirm, "TenantConfirm", (.doc = "Confirms that a tenant is to be deleted.",
      .example = EXAMPLE({"confirm": "acme"})),
    STR(confirm, .flags = F_REQUIRED, .doc = "The slug once more."));

SHAPE(tenant_deleted, "TenantDeleted", (.doc = "A deleted tenant.",
      .example = EXAMPLE({"slug": "acme"})),
    STR(slug, .flags = F_REQUIRED, .doc = "Slug of the tenant."));

SHAPE(tenant, "Tenant", (.doc = "A tenant.",
      .example = EXAMPLE({"slug": "acme", "name": "Acme Corp", "max_agents": 100, "rate_limit": 600, "max_bytes": 5000000000})),
    STR(slug,        .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    STR(name,        .flags = F_REQUIRED, .doc = "Display name."),
    INT(max_agents,  .flags = F_REQUIRED, .doc = "How many agents the tenant may have."),
    INT(rate_limit,  .flags = F_REQUIRED, .doc = "Requests per minute per key."),
    INT(max_bytes,   .flags = F_REQUIRED, .doc = "Bytes that stored reports may take. 0: no quota."),
    TIME(created_at, .flags = F_REQUIRED, .doc = "When it was created."));

SHAPE(tenant_plan, "TenantPlan", (.doc = "A tenant, its plan and its usage.",
      .example = EXAMPLE({"slug": "acme", "name": "Acme Corp", "max_agents": 100, "rate_limit": 600, "max_bytes": 5000000000, "stored_bytes": 1288490188, "agents": 12})),
    STR(slug,        .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    STR(name,        .flags = F_REQUIRED, .doc = "Display name."),
    INT(max_agents,  .flags = F_REQUIRED, .doc = "How many agents the tenant may have."),
    INT(rate_limit,  .flags = F_REQUIRED, .doc = "Requests per minute per key."),
    INT(max_bytes,   .flags = F_REQUIRED, .doc = "Bytes that stored reports may take. 0: no quota."),
    TIME(created_at, .flags = F_REQUIRED, .doc = "When it was created."),
    INT(stored_bytes, .flags = F_REQUIRED, .doc = "Bytes that stored reports take: their texts, and 100 for each event, KPI value, breakdown and LLM usage."),
    INT(agents,      .flags = F_REQUIRED, .doc = "Current number of agents, without deleted ones."));

LIST_SHAPE(tenant_list, "TenantList", (.doc = "All tenants."),
    ITEMS("tenants", tenant_shape, .flags = F_REQUIRED, .doc = "The tenants, by slug."),
    STR(next,                   .flags = F_REQUIRED | F_NULL, .doc = "Pass it as cursor to read on. Null on the last page."));

SHAPE(tenants_query, "TenantsQuery", (),
    INT(limit,  .absent = "10000", .least = 1, .most = TENANTS_PAGE_MAX, .doc = "How many items a page has at most."),
    STR(cursor, .max = SLUG_MAX, .flags = F_NULL, .doc = "The next of the previous page."));

SHAPE(key_create, "KeyCreate", (.doc = "A key to create.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "label": "billing server", "expires_at": "2027-01-15T00:00:00Z"})),
    STR(agent_name,  .min = 1, .max = 256, .flags = F_NULL, .doc = "Binds the key to this agent. Null: a workspace key, or a read-only one."),
    BOOL(read_only,              .absent = "false", .doc = "A key that reads what a workspace key reads and reports nothing."),
    STR(label,       .max = 256, .absent = "\"\"", .doc = "What the key is for."),
    TIME(expires_at,             .flags = F_NULL, .doc = "Null: never expires."));

SHAPE(key_created, "KeyCreated", (.doc = "A new key with its token.",
      .example = EXAMPLE({"key_id": "k_7Q2M", "token": "mst_ag_…", "kind": "agent", "agent_name": "invoice-reader", "label": "billing server", "expires_at": "2027-01-15T00:00:00Z"})),
    STR(key_id,      .flags = F_REQUIRED, .doc = "Identifies the key."),
    STR(token,       .flags = F_REQUIRED, .doc = "Shown only once."),
    STR(kind,        .flags = F_REQUIRED, .choices = token_kind_names, .doc = "A workspace key reports for every agent of its tenant, an agent key for one."),
    STR(agent_name,  .flags = F_REQUIRED | F_NULL, .doc = "The agent that the key is bound to. Null: a workspace key."),
    STR(label,       .flags = F_REQUIRED, .doc = "What the key is for."),
    TIME(created_at, .flags = F_REQUIRED, .doc = "When it was created."),
    TIME(expires_at, .flags = F_REQUIRED | F_NULL, .doc = "When it stops working. Null: never."));

SHAPE(key, "Key", (.doc = "A key without its token.",
      .example = EXAMPLE({"key_id": "k_7Q2M", "kind": "agent", "agent_name": "invoice-reader", "label": "billing server", "last_used_at": "2026-01-15T09:31:12Z", "expires_at": "2027-01-15T00:00:00Z"})),
    STR(key_id,        .flags = F_REQUIRED, .doc = "Identifies the key."),
    STR(kind,          .flags = F_REQUIRED, .choices = token_kind_names, .doc = "A workspace key reports for every agent of its tenant, an agent key for one."),
    STR(agent_name,    .flags = F_REQUIRED | F_NULL, .doc = "The agent that the key is bound to. Null: a workspace key."),
    STR(label,         .flags = F_REQUIRED, .doc = "What the key is for."),
    TIME(created_at,   .flags = F_REQUIRED, .doc = "When it was created."),
    TIME(last_used_at, .flags = F_REQUIRED | F_NULL, .doc = "When the key was last used. Null: never."),
    TIME(expires_at,   .flags = F_REQUIRED | F_NULL, .doc = "When it stops working. Null: never."),
    TIME(revoked_at,   .flags = F_REQUIRED | F_NULL, .doc = "When the key was revoked. Null: it was not."),
    STR(predecessor,   .flags = F_REQUIRED | F_NULL, .doc = "key_id of the key that this one replaces."),
    TIME(rotated_at,   .flags = F_REQUIRED | F_NULL, .doc = "When the key was first rotated. It stays valid for five minutes after that."));

LIST_SHAPE(key_list, "KeyList", (.doc = "Keys of a tenant, oldest first."),
    ITEMS("keys", key_shape, .flags = F_REQUIRED, .doc = "The keys."),
    STR(next,             .flags = F_REQUIRED | F_NULL, .doc = "Pass it as cursor to read on. Null on the last page."));

SHAPE(keys_query, "KeysQuery", (),
    INT(limit,  .absent = "1000", .least = 1, .most = 1000, .doc = "How many items a page has at most."),
    STR(cursor, .flags = F_NULL, .doc = "The next of the previous page."));

SHAPE(keys_revoked, "KeysRevoked", (.doc = "What a revocation ended.",
      .example = EXAMPLE({"revoked": ["k_7Q2M"]})),
    LIST_STR(revoked, .flags = F_REQUIRED, .doc = "Ids of the keys that this request revoked."));

SHAPE(revoke_query, "RevokeQuery", (),
    BOOL(only, .absent = "false", .doc = "Spare the keys that were made from it by rotation."));

SHAPE(key_refreshed, "KeyRefreshed", (.doc = "The key that replaces a rotated one.",
      .example = EXAMPLE({"token": "mst_ag_…", "key_id": "k_8R3N", "kind": "agent", "agent_name": "invoice-reader", "previous_key_valid_until": "2026-01-15T09:35:00Z"})),
    STR(token,                     .flags = F_REQUIRED, .doc = "Shown only once."),
    STR(key_id,                    .flags = F_REQUIRED, .doc = "Identifies the key."),
    STR(kind,                      .flags = F_REQUIRED, .choices = token_kind_names, .doc = "A workspace key reports for every agent of its tenant, an agent key for one."),
    STR(agent_name,                .flags = F_REQUIRED | F_NULL, .doc = "The agent that the key is bound to. Null: a workspace key."),
    TIME(previous_key_valid_until, .flags = F_REQUIRED, .doc = "Until then the old key works too."));

SHAPE(tenant_path, "TenantPath", (.example = EXAMPLE({"slug": "acme"})),
    STR(slug, .flags = F_REQUIRED, .doc = "Slug of the tenant."));

SHAPE(key_path, "KeyPath", (.example = EXAMPLE({"slug": "acme", "key_id": "k_7Q2M"})),
    STR(slug,   .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    STR(key_id, .flags = F_REQUIRED, .doc = "Identifies the key."));
#define DAYS .least = 1, .most = RETENTION_DAYS_MAX, .flags = F_NULL
SHAPE_TABLE(, retention_shape, struct retention_limits, "Retention", (.doc = "How long a tenant's data is kept. Data without a limit is kept forever.",
      .example = EXAMPLE({"events_days": 90, "business_days": null, "llm_days": 365, "keep_failed_runs": 20})),
    OPT_INT(events_days,   DAYS, .doc = "Delete runs with their events when the last event is older than this. Null: never."),
    OPT_INT(business_days, DAYS, .doc = "Delete business reports older than this; totals are kept. Null: never."),
    OPT_INT(llm_days,      DAYS, .doc = "Delete LLM reports older than this; hourly and daily totals are kept. Null: never."),
    INT(keep_failed_runs,  .least = 0, .most = RETENTION_FAILED_MAX, .absent = "0", .doc = "Newest failed runs to keep per agent, whatever their age."));
#undef DAYS
/* clang-format on */
