/* shapes.c - the tables of tenants and keys. */
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
            in_word = false; /* the next one must begin a word */
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
                         "A slug is lower-case letters and digits in words joined by single "
                         "hyphens, at most 63 characters");
}

/* clang-format off */
#define MEMBER(m) m

#define OWNER struct tenant_create
static const struct field tenant_create_fields[] = {
    { STR(slug),       .flags = F_REQUIRED, .doc = "Lower-case words joined by hyphens, at most 63 characters." },
    { STR(name),       .absent = "\"\"" },
    { INT(max_agents), .absent = "100", .least = 1, .most = 1000000000 },
    { INT(rate_limit), .absent = "100", .least = 1, .most = 1000000000, .doc = "Requests of one token in 60 seconds." },
};
#undef OWNER

#define OWNER struct tenant_patch
static const struct field tenant_patch_fields[] = {
    { STR(name),           .flags = F_NULL },
    { OPT_INT(max_agents), .flags = F_NULL, .least = 1, .most = 1000000000 },
    { OPT_INT(rate_limit), .flags = F_NULL, .least = 1, .most = 1000000000, .doc = "Requests of one token in 60 seconds." },
};
#undef OWNER

#define OWNER struct agent_patch
static const struct field agent_patch_fields[] = {
    { BOOL(enabled), .flags = F_REQUIRED, .doc = "Events of a disabled agent are rejected." },
};
#undef OWNER

#define OWNER struct rebuild_query
static const struct field rebuild_query_fields[] = {
    { INT(after), .absent = "0", .least = 0, .most = INT64_MAX, .doc = "The next of the step before; 0 to begin." },
};
#undef OWNER

#define OWNER struct runs_rebuild
static const struct field runs_rebuild_fields[] = {
    { INT(runs),     .flags = F_REQUIRED, .doc = "Looked at in this step." },
    { INT(changed),  .flags = F_REQUIRED, .doc = "Found otherwise than their events say, and set right." },
    { OPT_INT(next), .flags = F_REQUIRED | F_NULL, .doc = "What to go on after; null: all is done." },
};
#undef OWNER

#define OWNER struct agent_state
static const struct field agent_state_fields[] = {
    { STR(agent_name), .flags = F_REQUIRED },
    { BOOL(enabled),   .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct agent_deleted
static const struct field agent_deleted_fields[] = {
    { STR(agent_name),   .flags = F_REQUIRED },
    { INT(keys_revoked), .flags = F_REQUIRED, .doc = "Keys that were bound to it." },
};
#undef OWNER

#define OWNER struct tenant
static const struct field tenant_fields[] = {
    { STR(slug),        .flags = F_REQUIRED },
    { STR(name),        .flags = F_REQUIRED },
    { INT(max_agents),  .flags = F_REQUIRED },
    { INT(rate_limit),  .flags = F_REQUIRED, .doc = "Requests of one token in 60 seconds." },
    { TIME(created_at), .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct tenant_plan
static const struct field tenant_plan_fields[] = {
    { STR(slug),        .flags = F_REQUIRED },
    { STR(name),        .flags = F_REQUIRED },
    { INT(max_agents),  .flags = F_REQUIRED },
    { INT(rate_limit),  .flags = F_REQUIRED, .doc = "Requests of one token in 60 seconds." },
    { TIME(created_at), .flags = F_REQUIRED },
    { INT(agents),      .flags = F_REQUIRED, .doc = "How many there are; deleted ones do not count." },
};
#undef OWNER

#define OWNER struct tenant_list
static const struct field tenant_list_fields[] = {
    { LIST(tenants, tenant_shape), .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct key_create
static const struct field key_create_fields[] = {
    { STR(agent_name),  .max = 256, .flags = F_NULL, .doc = "Binds the key to this agent; null: a workspace key." },
    { STR(label),       .max = 256, .absent = "\"\"" },
    { TIME(expires_at),             .flags = F_NULL, .doc = "Null: never." },
};
#undef OWNER

#define OWNER struct key_created
static const struct field key_created_fields[] = {
    { STR(key_id),      .flags = F_REQUIRED },
    { STR(token),       .flags = F_REQUIRED, .doc = "Shown this once." },
    { STR(kind),        .flags = F_REQUIRED, .choices = key_kinds },
    { STR(agent_name),  .flags = F_REQUIRED | F_NULL },
    { STR(label),       .flags = F_REQUIRED },
    { TIME(created_at), .flags = F_REQUIRED },
    { TIME(expires_at), .flags = F_REQUIRED | F_NULL },
};
#undef OWNER

#define OWNER struct key
static const struct field key_fields[] = {
    { STR(key_id),        .flags = F_REQUIRED },
    { STR(kind),          .flags = F_REQUIRED, .choices = key_kinds },
    { STR(agent_name),    .flags = F_REQUIRED | F_NULL },
    { STR(label),         .flags = F_REQUIRED },
    { TIME(created_at),   .flags = F_REQUIRED },
    { TIME(last_used_at), .flags = F_REQUIRED | F_NULL },
    { TIME(expires_at),   .flags = F_REQUIRED | F_NULL },
    { TIME(revoked_at),   .flags = F_REQUIRED | F_NULL },
    { STR(predecessor),   .flags = F_REQUIRED | F_NULL, .doc = "The key_id of the key that this one was made from by rotation." },
    { TIME(rotated_at),   .flags = F_REQUIRED | F_NULL, .doc = "When its first successor was made; it is good for five minutes from then." },
};
#undef OWNER

#define OWNER struct key_list
static const struct field key_list_fields[] = {
    { LIST(keys, key_shape), .flags = F_REQUIRED },
};
#undef OWNER

#undef MEMBER
/* clang-format on */

const struct shape tenant_create_shape = {
    SHAPE_OF("TenantCreate", struct tenant_create, tenant_create_fields),
    .doc = "A tenant to be made.",
    .rules = check_tenant_create,
};

const struct shape tenant_shape = {
    SHAPE_OF("Tenant", struct tenant, tenant_fields),
    .doc = "A tenant.",
};

const struct shape tenant_plan_shape = {
    SHAPE_OF("TenantPlan", struct tenant_plan, tenant_plan_fields),
    .doc = "A tenant, and what it uses of its plan.",
};

const struct shape tenant_list_shape = {
    SHAPE_OF("TenantList", struct tenant_list, tenant_list_fields),
    .doc = "All tenants.",
};

const struct shape key_create_shape = {
    SHAPE_OF("KeyCreate", struct key_create, key_create_fields),
    .doc = "A key to be made.",
};

const struct shape key_created_shape = {
    SHAPE_OF("KeyCreated", struct key_created, key_created_fields),
    .doc = "A new key with its token.",
};

const struct shape key_shape = {
    SHAPE_OF("Key", struct key, key_fields),
    .doc = "A key without its token.",
};

const struct shape key_list_shape = {
    SHAPE_OF("KeyList", struct key_list, key_list_fields),
    .doc = "The keys of a tenant.",
};

const struct shape tenant_patch_shape = {
    SHAPE_OF("TenantPatch", struct tenant_patch, tenant_patch_fields),
    .doc = "What is to change of a tenant; what is left out stays.",
};

const struct shape agent_patch_shape = {
    SHAPE_OF("AgentPatch", struct agent_patch, agent_patch_fields),
    .doc = "What is to change of an agent.",
};

const struct shape agent_state_shape = {
    SHAPE_OF("AgentState", struct agent_state, agent_state_fields),
    .doc = "May an agent report.",
};

const struct shape agent_deleted_shape = {
    SHAPE_OF("AgentDeleted", struct agent_deleted, agent_deleted_fields),
    .doc = "An agent that is no more listed nor counted.",
};

const struct shape rebuild_query_shape = {
    SHAPE_OF("RebuildQuery", struct rebuild_query, rebuild_query_fields),
    .doc = "Where to go on rebuilding.",
};

const struct shape runs_rebuild_shape = {
    SHAPE_OF("RunsRebuild", struct runs_rebuild, runs_rebuild_fields),
    .doc = "A step of making the states of runs anew from their events.",
};
