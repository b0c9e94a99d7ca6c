/* shapes.c - the tables of users, roles and logging in. */
#include "features/access/users/shapes.h"

#include "shape/rule.h"
#include "shape/table.h"

const char *const tenant_role_names[] = { "admin", "member", NULL };
const char *const platform_role_names[] = { "platform_admin", "none", NULL };

static const char *const platform_roles_told[] = { "platform_admin", NULL };
static const char *const log_out_states[] = { "ok", NULL };

struct str user_email_normal(struct str text, struct arena *arena)
{
    struct str trimmed = str_trim(text);
    char *copy = arena_alloc(arena, trimmed.len + 1);

    for (size_t i = 0; i < trimmed.len; i++) {
        char c = trimmed.data[i];

        copy[i] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    }
    copy[trimmed.len] = '\0';
    return str_from(copy, trimmed.len);
}

/* Labels of letters, digits, hyphens or what is no ASCII, joined by single dots. */
static bool is_domain(struct str s)
{
    char before = '.';

    for (size_t i = 0; i < s.len; i++) {
        char c = s.data[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                     (unsigned char)c >= 0x80;

        if (!plain && (c != '.' || before == '.'))
            return false;
        before = c;
    }
    return before != '.';
}

bool user_is_email(struct str email)
{
    struct str domain = email, local = str_split(&domain, '@');

    if (email.len > EMAIL_MAX || local.len == 0 || str_is_null(domain) || !is_domain(domain))
        return false;
    for (size_t i = 0; i < local.len; i++) {
        unsigned char c = (unsigned char)local.data[i];

        if (c <= ' ' || c == 0x7f || strchr("\"(),:;<>[\\]", c) != NULL)
            return false;
    }
    return true;
}

/* Makes it the one that identifies, or refuses it. */
static void check_email(struct str *email, struct arena *arena, struct problems *problems)
{
    *email = user_email_normal(*email, arena);
    if (!user_is_email(*email))
        rule_refuse_text(problems, arena, "email", *email,
                         "Should be an e-mail address of at most 254 characters");
}

/* Whoever logs in is told the same whether or not it could be an address. */
static void check_sign_in(void *value, struct arena *arena, struct problems *problems)
{
    struct sign_in *sign_in = value;

    (void)problems;
    sign_in->email = user_email_normal(sign_in->email, arena);
}

static void check_set_up(void *value, struct arena *arena, struct problems *problems)
{
    check_email(&((struct set_up *)value)->email, arena, problems);
}

static void check_user_create(void *value, struct arena *arena, struct problems *problems)
{
    check_email(&((struct user_create *)value)->email, arena, problems);
}

static void check_tenant_user_create(void *value, struct arena *arena, struct problems *problems)
{
    check_email(&((struct tenant_user_create *)value)->email, arena, problems);
}

static void check_user_path(void *value, struct arena *arena, struct problems *problems)
{
    struct user_path *path = value;

    (void)problems;
    path->email = user_email_normal(path->email, arena);
}

static void check_tenant_user_path(void *value, struct arena *arena, struct problems *problems)
{
    struct tenant_user_path *path = value;

    (void)problems;
    path->email = user_email_normal(path->email, arena);
}

#define PASSWORD_DOC "At least 12 characters, and none of those that everybody tries first."

/* clang-format off */
#define MEMBER(m) m

#define OWNER struct sign_in
static const struct field sign_in_fields[] = {
    { STR(email),    .max = 1024,         .flags = F_REQUIRED },
    { STR(password), .max = PASSWORD_MAX, .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct set_up
static const struct field set_up_fields[] = {
    { STR(code),     .max = 256,          .flags = F_REQUIRED, .doc = "Of the link that the service printed at its start." },
    { STR(email),                         .flags = F_REQUIRED },
    { STR(password), .max = PASSWORD_MAX, .flags = F_REQUIRED, .doc = PASSWORD_DOC },
};
#undef OWNER

#define OWNER struct set_up_state
static const struct field set_up_state_fields[] = {
    { BOOL(needed), .flags = F_REQUIRED, .doc = "There is no user yet." },
};
#undef OWNER

#define OWNER struct password_change
static const struct field password_change_fields[] = {
    { STR(current_password), .max = PASSWORD_MAX, .flags = F_REQUIRED },
    { STR(new_password),     .max = PASSWORD_MAX, .flags = F_REQUIRED, .doc = PASSWORD_DOC },
};
#undef OWNER

#define OWNER struct tenant_membership
static const struct field tenant_membership_fields[] = {
    { STR(slug), .flags = F_REQUIRED },
    { STR(name), .flags = F_REQUIRED },
    { STR(role), .flags = F_REQUIRED, .choices = tenant_role_names },
};
#undef OWNER

#define OWNER struct session_answer
static const struct field session_answer_fields[] = {
    { STR(user_id),    .flags = F_REQUIRED },
    { STR(email),      .flags = F_REQUIRED },
    { STR(role),       .flags = F_REQUIRED | F_NULL, .choices = platform_roles_told, .doc = "Null: none beyond those in tenants." },
    { LIST(tenants, tenant_membership_shape), .flags = F_REQUIRED },
    { STR(csrf_token), .flags = F_REQUIRED, .doc = "Goes into X-CSRF-Token with every request that changes something." },
    { TIME(expires_at), .flags = F_REQUIRED, .doc = "When the session ends if it is not used again." },
};
#undef OWNER

#define OWNER struct logged_out
static const struct field logged_out_fields[] = {
    { STR(status), .flags = F_REQUIRED, .choices = log_out_states },
};
#undef OWNER

#define OWNER struct user_create
static const struct field user_create_fields[] = {
    { STR(email),                         .flags = F_REQUIRED },
    { STR(password), .max = PASSWORD_MAX, .flags = F_REQUIRED, .doc = PASSWORD_DOC },
    { ENUM(role),                         .absent = "\"none\"", .choices = platform_role_names },
};
#undef OWNER

#define OWNER struct user_patch
static const struct field user_patch_fields[] = {
    { ENUM(role),                         .flags = F_NULL, .choices = platform_role_names },
    { STR(password), .max = PASSWORD_MAX, .flags = F_NULL, .doc = PASSWORD_DOC },
};
#undef OWNER

#define OWNER struct user
static const struct field user_fields[] = {
    { STR(user_id),        .flags = F_REQUIRED },
    { STR(email),          .flags = F_REQUIRED },
    { STR(role),           .flags = F_REQUIRED | F_NULL, .choices = platform_roles_told },
    { LIST(tenants, tenant_membership_shape), .flags = F_REQUIRED },
    { TIME(created_at),    .flags = F_REQUIRED },
    { TIME(last_login_at), .flags = F_REQUIRED | F_NULL },
};
#undef OWNER

#define OWNER struct user_list
static const struct field user_list_fields[] = {
    { LIST(users, user_shape), .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct tenant_user_create
static const struct field tenant_user_create_fields[] = {
    { STR(email),                         .flags = F_REQUIRED },
    { ENUM(role),                         .flags = F_REQUIRED, .choices = tenant_role_names },
    { STR(password), .max = PASSWORD_MAX, .flags = F_NULL, .doc = "Of a user that is new; ignored when the e-mail is known, whose password stays as it is." },
};
#undef OWNER

#define OWNER struct tenant_user_patch
static const struct field tenant_user_patch_fields[] = {
    { ENUM(role), .flags = F_REQUIRED, .choices = tenant_role_names },
};
#undef OWNER

#define OWNER struct tenant_user
static const struct field tenant_user_fields[] = {
    { STR(user_id),        .flags = F_REQUIRED },
    { STR(email),          .flags = F_REQUIRED },
    { STR(role),           .flags = F_REQUIRED, .choices = tenant_role_names },
    { TIME(last_login_at), .flags = F_REQUIRED | F_NULL },
};
#undef OWNER

#define OWNER struct tenant_user_added
static const struct field tenant_user_added_fields[] = {
    { STR(user_id),  .flags = F_REQUIRED },
    { STR(email),    .flags = F_REQUIRED },
    { STR(role),     .flags = F_REQUIRED, .choices = tenant_role_names },
    { BOOL(created), .flags = F_REQUIRED, .doc = "False: the e-mail was known, and its password stays as it was." },
};
#undef OWNER

#define OWNER struct tenant_user_list
static const struct field tenant_user_list_fields[] = {
    { LIST(users, tenant_user_shape), .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct user_path
static const struct field user_path_fields[] = {
    { STR(email), .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct tenant_user_path
static const struct field tenant_user_path_fields[] = {
    { STR(slug),  .flags = F_REQUIRED },
    { STR(email), .flags = F_REQUIRED },
};
#undef OWNER

#undef MEMBER
/* clang-format on */

const struct shape sign_in_shape = {
    SHAPE_OF("LogIn", struct sign_in, sign_in_fields),
    .doc = "Who wants to log in.",
    .secret = true,
    .rules = check_sign_in,
};

const struct shape set_up_shape = {
    SHAPE_OF("SetUp", struct set_up, set_up_fields),
    .doc = "The first platform admin.",
    .secret = true,
    .rules = check_set_up,
};

const struct shape set_up_state_shape = {
    SHAPE_OF("SetUpState", struct set_up_state, set_up_state_fields),
    .doc = "Whether the first platform admin is still to be made.",
};

const struct shape password_change_shape = {
    SHAPE_OF("PasswordChange", struct password_change, password_change_fields),
    .doc = "A new password of one's own.",
    .secret = true,
};

const struct shape tenant_membership_shape = {
    SHAPE_OF("TenantMembership", struct tenant_membership, tenant_membership_fields),
    .doc = "A tenant and the role in it.",
};

const struct shape session_answer_shape = {
    SHAPE_OF("Session", struct session_answer, session_answer_fields),
    .doc = "Who is logged in.",
};

const struct shape logged_out_shape = {
    SHAPE_OF("LoggedOut", struct logged_out, logged_out_fields),
    .doc = "The session is over.",
};

const struct shape user_create_shape = {
    SHAPE_OF("UserCreate", struct user_create, user_create_fields),
    .doc = "A user to be made.",
    .secret = true,
    .rules = check_user_create,
};

const struct shape user_patch_shape = {
    SHAPE_OF("UserPatch", struct user_patch, user_patch_fields),
    .doc = "What is to change of a user; what is left out stays.",
    .secret = true,
};

const struct shape user_shape = {
    SHAPE_OF("User", struct user, user_fields),
    .doc = "A user.",
};

const struct shape user_list_shape = {
    SHAPE_OF("UserList", struct user_list, user_list_fields),
    .doc = "All users.",
};

const struct shape tenant_user_create_shape = {
    SHAPE_OF("TenantUserCreate", struct tenant_user_create, tenant_user_create_fields),
    .doc = "Somebody who is to have a role in a tenant.",
    .secret = true,
    .rules = check_tenant_user_create,
};

const struct shape tenant_user_patch_shape = {
    SHAPE_OF("TenantUserPatch", struct tenant_user_patch, tenant_user_patch_fields),
    .doc = "Another role in a tenant.",
};

const struct shape tenant_user_shape = {
    SHAPE_OF("TenantUser", struct tenant_user, tenant_user_fields),
    .doc = "Somebody with a role in a tenant.",
};

const struct shape tenant_user_added_shape = {
    SHAPE_OF("TenantUserAdded", struct tenant_user_added, tenant_user_added_fields),
    .doc = "Somebody who has a role in a tenant now.",
};

const struct shape tenant_user_list_shape = {
    SHAPE_OF("TenantUserList", struct tenant_user_list, tenant_user_list_fields),
    .doc = "Everybody with a role in a tenant.",
};

const struct shape user_path_shape = {
    SHAPE_OF("UserPath", struct user_path, user_path_fields),
    .rules = check_user_path,
};

const struct shape tenant_user_path_shape = {
    SHAPE_OF("TenantUserPath", struct tenant_user_path, tenant_user_path_fields),
    .rules = check_tenant_user_path,
};
