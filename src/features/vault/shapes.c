/* shapes.c - the shapes of secrets. */
#include "features/vault/shapes.h"

#include "shape/problems.h"
#include "shape/table.h"

bool secret_is_name(struct str s)
{
    if (s.len == 0 || s.len > SECRET_NAME_MAX || s.data[0] == '.' || s.data[0] == '-')
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.data[i], lower = (char)(c | 0x20);

        if (!((lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
              c == '-'))
            return false;
    }
    return true;
}

/* The problem does not echo the value. */
static void check_secret(void *value, struct arena *arena, struct problems *problems)
{
    const struct secret_set *set = value;
    const struct path_step step = { .name = STR_LIT("value") };

    (void)arena;
    if (set->value.len > SECRET_MAX_BYTES)
        problems_add_rule(problems, &step, 1, STR_NULL, "Should have at most 65536 bytes");
}

static const char *secret_rule_name(struct str *name, struct arena *arena)
{
    (void)arena;
    if (secret_is_name(*name))
        return NULL;
    return "Should be at most 128 letters, digits, '_', '.' and '-', beginning with a letter, a "
           "digit or '_'";
}

/* clang-format off */
SHAPE(secret_set, "SecretSet", (.secret = true, .doc = "A secret's value to set.", .rules = check_secret,
      .example = EXAMPLE({"value": "correct horse battery staple", "shared": false})),
    STR(value,       .min = 1, .flags = F_REQUIRED, .doc = "At most 64 KiB. Never returned."),
    OPT_BOOL(shared, .flags = F_NULL, .doc = "Whether workspace-wide values may refer to it. Null: unchanged, or not shared for a new secret."));

SHAPE(secret, "Secret", (.doc = "A secret without its value.",
      .example = EXAMPLE({"name": "mail-password", "version": 2})),
    STR(name,        .flags = F_REQUIRED, .doc = "Name by which values refer to it."),
    BOOL(shared,     .flags = F_REQUIRED, .doc = "Whether workspace-wide values may refer to it."),
    INT(version,     .flags = F_REQUIRED, .doc = "Incremented each time it is set."),
    TIME(created_at, .flags = F_REQUIRED, .doc = "When it was created."),
    TIME(updated_at, .flags = F_REQUIRED, .doc = "When it was last set."));

LIST_SHAPE(secret_list, "SecretList", (.doc = "The secrets of a tenant, without their values."),
    ITEMS("secrets", secret_shape, .flags = F_REQUIRED, .doc = "The secrets, by name."));

SHAPE(secret_path, "SecretPath", (.row_rules = true,
      .example = EXAMPLE({"slug": "acme", "name": "mail-password"})),
    STR(slug, .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    STR(name, .rule = secret_rule_name, .pattern = "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$", .flags = F_REQUIRED, .doc = "Name by which values refer to it."));

SHAPE(vault_rotated, "VaultRotated", (.doc = "Result of rotating the master key.",
      .example = EXAMPLE({"data_keys": 3, "old_key_removed": true})),
    INT(data_keys,        .flags = F_REQUIRED, .doc = "Number of data keys wrapped with the new master key."),
    BOOL(old_key_removed, .flags = F_REQUIRED, .doc = "False: the next start removes it."));

SHAPE(data_keys_query, "DataKeysQuery", (.doc = "Where to continue the rotation."),
    INT(after, .absent = "0", .least = -1, .most = INT64_MAX, .doc = "The next of the previous step; 0 to begin."));

SHAPE(data_keys_rotated, "DataKeysRotated", (.doc = "Result of one step of rotating the data keys.",
      .example = EXAMPLE({"created": 3, "re_encrypted": 40, "destroyed": 0, "wait_s": 5, "next": 7})),
    INT(created,      .flags = F_REQUIRED, .doc = "New data keys, one per tenant that has secrets."),
    INT(re_encrypted, .flags = F_REQUIRED, .doc = "Secrets encrypted again with their tenant's new data key."),
    INT(destroyed,    .flags = F_REQUIRED, .doc = "Old data keys destroyed."),
    INT(wait_s,       .flags = F_REQUIRED, .doc = "Seconds to wait before the next step."),
    OPT_INT(next,     .flags = F_REQUIRED | F_NULL, .doc = "Value of after for the next step. Null: done."));
/* clang-format on */
