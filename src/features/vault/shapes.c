/* shapes.c - the tables of secrets. */
#include "features/vault/shapes.h"

#include "shape/rule.h"
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

/* The value is not repeated in the problem. */
static void check_secret(void *value, struct arena *arena, struct problems *problems)
{
    const struct secret_set *set = value;
    const struct problem_step step = { .name = STR_LIT("value") };

    (void)arena;
    if (set->value.len > SECRET_MAX_BYTES)
        problems_add_rule(problems, &step, 1, STR_NULL, "A secret has at most 65536 bytes");
    else if (set->value.len == 0)
        problems_add_rule(problems, &step, 1, STR_NULL, "A secret is not empty");
}

static void check_path(void *value, struct arena *arena, struct problems *problems)
{
    const struct secret_path *path = value;

    if (!secret_is_name(path->name))
        rule_refuse_text(problems, arena, "name", path->name,
                         "A secret's name is letters, digits, '_', '.' and '-', at most 128; it "
                         "begins with a letter, a digit or '_'");
}

/* clang-format off */
#define MEMBER(m) m

#define OWNER struct secret_set
static const struct field secret_set_fields[] = {
    { STR(value),       .flags = F_REQUIRED, .doc = "At most 64 KiB. Never given back." },
    { OPT_BOOL(shared), .flags = F_NULL, .doc = "May workspace-wide values refer to it. Null: as it is; a new one is not shared." },
};
#undef OWNER

#define OWNER struct secret
static const struct field secret_fields[] = {
    { STR(name),        .flags = F_REQUIRED },
    { BOOL(shared),     .flags = F_REQUIRED, .doc = "May workspace-wide values refer to it." },
    { INT(version),     .flags = F_REQUIRED, .doc = "Grows each time it is set." },
    { TIME(created_at), .flags = F_REQUIRED },
    { TIME(updated_at), .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct secret_list
static const struct field secret_list_fields[] = {
    { LIST(secrets, secret_shape), .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct secret_path
static const struct field secret_path_fields[] = {
    { STR(slug), .flags = F_REQUIRED },
    { STR(name), .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct vault_rotated
static const struct field vault_rotated_fields[] = {
    { INT(data_keys),        .flags = F_REQUIRED, .doc = "Wrapped with the new master key." },
    { BOOL(old_key_removed), .flags = F_REQUIRED, .doc = "False: the next start does it." },
};
#undef OWNER

#undef MEMBER
/* clang-format on */

const struct shape secret_set_shape = {
    SHAPE_OF("SecretSet", struct secret_set, secret_set_fields),
    .secret = true,
    .doc = "A secret's value on its way in.",
    .rules = check_secret,
};

const struct shape secret_shape = {
    SHAPE_OF("Secret", struct secret, secret_fields),
    .doc = "A secret without its value.",
};

const struct shape secret_list_shape = {
    SHAPE_OF("SecretList", struct secret_list, secret_list_fields),
    .doc = "The secrets of a tenant, without their values.",
};

const struct shape secret_path_shape = {
    SHAPE_OF("SecretPath", struct secret_path, secret_path_fields),
    .rules = check_path,
};

const struct shape vault_rotated_shape = {
    SHAPE_OF("VaultRotated", struct vault_rotated, vault_rotated_fields),
    .doc = "There is a new master key.",
};
