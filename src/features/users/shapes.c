/* shapes.c - the shapes of users, roles and sign-in. */
#include "features/users/shapes.h"

#include "shape/table.h"
#include "shape/timerange.h"

static const char *const platform_roles_shown[] = { "platform_admin", NULL };
static const char *const sign_out_states[] = { "ok", NULL };

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

/* Labels of ASCII letters, digits, hyphens and non-ASCII bytes, joined by single dots. */
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

const char *user_rule_email(struct str *email, struct arena *arena)
{
    *email = user_email_normal(*email, arena);
    return user_is_email(*email) ? NULL : "Should be an e-mail address of at most 254 characters";
}

static const char *user_rule_normal_email(struct str *email, struct arena *arena)
{
    *email = user_email_normal(*email, arena);
    return NULL;
}

/* Confirming cannot be undone: if another person has access to the account, set a new password or
 * delete the user. */
static void check_user_patch(void *value, struct arena *arena, struct problems *problems)
{
    const struct path_step step = { .name = STR_LIT("email_confirmed") };
    const struct user_patch *patch = value;

    (void)arena;
    if (patch->email_confirmed.has && !patch->email_confirmed.value)
        problems_add_rule(problems, &step, 1, STR_LIT("false"),
                          "Should be true, or left out: what is confirmed stays so. To lock a "
                          "person out, set another password or delete the user");
}

#define PASSWORD_DOC "At least 12 characters, and not a commonly used password."

#define CONFIRMED_DOC                                                                              \
    "Whether the account is known to belong to the owner of the address: by a link that was sent " \
    "there, by the identity provider, or by a platform admin. If not, no other tenant can give "   \
    "it a role."

/* Roughly: user_is_email() also knows which characters an address cannot have. */
#define EMAIL_PATTERN "^ *[^@ :]+@[^@ ]+ *$"

/* clang-format off */
SHAPE(sign_in, "LogIn", (.doc = "Credentials to sign in with.", .secret = true, .row_rules = true,
      .example = EXAMPLE({"email": "ada@example.com", "password": "seven green teapots"})),
    STR(email,    .rule = user_rule_normal_email, .max = 1024,         .flags = F_REQUIRED, .doc = "E-mail address, which identifies the user."),
    STR(password, .max = PASSWORD_MAX, .flags = F_REQUIRED, .doc = "The password of the user."),
    STR(code,     .max = 64,           .flags = F_NULL, .doc = "Of a user with a second factor: the six digits that the app shows, or a recovery code."));

SHAPE(set_up, "SetUp", (.doc = "The first platform admin to create.", .secret = true, .row_rules = true,
      .example = EXAMPLE({"code": "5k2v-9d7q", "email": "ada@example.com", "password": "seven green teapots"})),
    STR(code,     .max = 256,          .flags = F_REQUIRED, .doc = "The code in the setup link that the service prints at startup."),
    STR(email,                         .rule = user_rule_email, .pattern = EMAIL_PATTERN, .flags = F_REQUIRED, .doc = "E-mail address, which identifies the user."),
    STR(password, .min = PASSWORD_LEAST, .max = PASSWORD_MAX, .flags = F_REQUIRED, .doc = PASSWORD_DOC));

SHAPE(set_up_state, "SetUpState", (.doc = "Whether the first platform admin still has to be created, and what a sign-in page can offer.",
      .example = EXAMPLE({"needed": false, "mails_links": true})),
    BOOL(needed,      .flags = F_REQUIRED, .doc = "True as long as there is no user."),
    BOOL(mails_links, .flags = F_REQUIRED, .doc = "Whether users who forgot their password can ask for a link by e-mail."));

SHAPE(password_change, "PasswordChange", (.doc = "A change of the user's own password.", .secret = true,
      .example = EXAMPLE({"current_password": "seven green teapots", "new_password": "nine yellow lanterns"})),
    STR(current_password, .max = PASSWORD_MAX, .flags = F_REQUIRED, .doc = "The password that is to be replaced."),
    STR(new_password,     .min = PASSWORD_LEAST, .max = PASSWORD_MAX, .flags = F_REQUIRED, .doc = PASSWORD_DOC),
    BOOL(keep_tokens,     .absent = "false", .doc = "Whether the user's personal access tokens stay; otherwise they are deleted."));

SHAPE(tenant_membership, "TenantMembership", (.doc = "A tenant and the user's role in it.",
      .example = EXAMPLE({"slug": "acme", "name": "Acme Corp", "role": "admin"})),
    STR(slug, .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    STR(name, .flags = F_REQUIRED, .doc = "Display name of the tenant."),
    STR(role, .flags = F_REQUIRED, .choices = tenant_role_names, .doc = "An admin changes settings and keys, a member reads."));

SHAPE(session_answer, "Session", (.doc = "The signed-in user.",
      .example = EXAMPLE({"user_id": "u_3F9K", "email": "ada@example.com", "csrf_token": "4f7c1e"})),
    STR(user_id,    .flags = F_REQUIRED, .doc = "Identifies the user for ever, also when the e-mail address changes."),
    STR(email,      .flags = F_REQUIRED, .doc = "E-mail address, which identifies the user."),
    STR(role,       .flags = F_REQUIRED | F_NULL, .choices = platform_roles_shown, .doc = "Platform role. Null: only the roles in tenants."),
    LIST(tenants, tenant_membership_shape, .flags = F_REQUIRED, .doc = "The tenants of the user, with the role in each."),
    STR(csrf_token, .flags = F_REQUIRED, .doc = "Send it as X-CSRF-Token with every request that changes something."),
    TIME(expires_at, .flags = F_REQUIRED, .doc = "When the session expires unless it is used again."));

SHAPE(logged_out, "LoggedOut", (.doc = "The session has ended."),
    STR(status, .flags = F_REQUIRED, .choices = sign_out_states, .doc = "Always ok."));

SHAPE(user_create, "UserCreate", (.doc = "A user to create.", .secret = true, .row_rules = true,
      .example = EXAMPLE({"email": "ada@example.com", "password": "seven green teapots", "role": "none"})),
    STR(email,                         .rule = user_rule_email, .pattern = EMAIL_PATTERN, .flags = F_REQUIRED, .doc = "E-mail address, which identifies the user."),
    STR(password, .min = PASSWORD_LEAST, .max = PASSWORD_MAX, .flags = F_REQUIRED, .doc = PASSWORD_DOC),
    ENUM(role,                         .absent = "\"none\"", .choices = platform_role_names, .doc = "Platform role; none: only the roles in tenants."));

SHAPE(user_patch, "UserPatch", (.doc = "Changes to a user. Omitted fields keep their values.", .secret = true, .rules = check_user_patch,
      .example = EXAMPLE({"role": "platform_admin"})),
    ENUM(role,                         .choices = platform_role_names, .doc = "Platform role; none: only the roles in tenants."),
    STR(password, .min = PASSWORD_LEAST, .max = PASSWORD_MAX, .flags = F_NULL, .doc = PASSWORD_DOC),
    OPT_BOOL(email_confirmed, .flags = F_NULL, .doc = "True: say that the account belongs to the owner of the address; nothing takes that back, so false is a 422. A new password says so too; without one, that of an account that was not confirmed ends."));

SHAPE(user, "User", (.doc = "A user.",
      .example = EXAMPLE({"user_id": "u_3F9K", "email": "ada@example.com", "last_login_at": "2026-01-15T09:00:00Z", "email_confirmed": true})),
    STR(user_id,        .flags = F_REQUIRED, .doc = "Identifies the user for ever, also when the e-mail address changes."),
    STR(email,          .flags = F_REQUIRED, .doc = "E-mail address, which identifies the user."),
    STR(role,           .flags = F_REQUIRED | F_NULL, .choices = platform_roles_shown, .doc = "Platform role. Null: only the roles in tenants."),
    LIST(tenants, tenant_membership_shape, .flags = F_REQUIRED, .doc = "The tenants of the user, with the role in each."),
    TIME(created_at,    .flags = F_REQUIRED, .doc = "When it was created."),
    TIME(last_login_at, .flags = F_REQUIRED | F_NULL, .doc = "When the user last signed in. Null: never."),
    BOOL(email_confirmed, .flags = F_REQUIRED, .doc = CONFIRMED_DOC));

LIST_SHAPE(user_list, "UserList", (.doc = "All users."),
    ITEMS("users", user_shape, .flags = F_REQUIRED, .doc = "The users, by e-mail address."));

SHAPE(tenant_user_create, "TenantUserCreate", (.doc = "A user to add to a tenant.", .secret = true, .row_rules = true,
      .example = EXAMPLE({"email": "ada@example.com", "role": "member", "password": "seven green teapots"})),
    STR(email,                         .rule = user_rule_email, .pattern = EMAIL_PATTERN, .flags = F_REQUIRED, .doc = "E-mail address, which identifies the user."),
    ENUM(role,                         .flags = F_REQUIRED, .choices = tenant_role_names, .doc = "An admin changes settings and keys, a member reads."),
    STR(password, .max = PASSWORD_MAX, .flags = F_NULL, .doc = "Password of a new user, at least 12 characters. Ignored when a user with this e-mail exists."));

SHAPE(tenant_user_patch, "TenantUserPatch", (.doc = "A new role in a tenant."),
    ENUM(role, .flags = F_REQUIRED, .choices = tenant_role_names, .doc = "An admin changes settings and keys, a member reads."));

SHAPE(tenant_user, "TenantUser", (.doc = "A user of a tenant.",
      .example = EXAMPLE({"user_id": "u_3F9K", "email": "ada@example.com", "role": "member", "last_login_at": "2026-01-15T09:00:00Z", "email_confirmed": true})),
    STR(user_id,        .flags = F_REQUIRED, .doc = "Identifies the user for ever, also when the e-mail address changes."),
    STR(email,          .flags = F_REQUIRED, .doc = "E-mail address, which identifies the user."),
    STR(role,           .flags = F_REQUIRED, .choices = tenant_role_names, .doc = "An admin changes settings and keys, a member reads."),
    TIME(last_login_at, .flags = F_REQUIRED | F_NULL, .doc = "When the user last signed in. Null: never."),
    BOOL(email_confirmed, .flags = F_REQUIRED, .doc = CONFIRMED_DOC));

SHAPE(tenant_user_added, "TenantUserAdded", (.doc = "A user who was added to a tenant.",
      .example = EXAMPLE({"user_id": "u_3F9K", "email": "ada@example.com", "role": "member", "created": true})),
    STR(user_id,  .flags = F_REQUIRED, .doc = "Identifies the user for ever, also when the e-mail address changes."),
    STR(email,    .flags = F_REQUIRED, .doc = "E-mail address, which identifies the user."),
    STR(role,     .flags = F_REQUIRED, .choices = tenant_role_names, .doc = "An admin changes settings and keys, a member reads."),
    BOOL(created, .flags = F_REQUIRED, .doc = "False: a user with this e-mail existed; the password is unchanged."));

LIST_SHAPE(tenant_user_list, "TenantUserList", (.doc = "The users of a tenant."),
    ITEMS("users", tenant_user_shape, .flags = F_REQUIRED, .doc = "The users, by e-mail address."));

SHAPE(user_path, "UserPath", (.row_rules = true,
      .example = EXAMPLE({"email": "ada@example.com"})),
    STR(email, .rule = user_rule_normal_email, .flags = F_REQUIRED, .doc = "E-mail address, which identifies the user."));

SHAPE(tenant_user_path, "TenantUserPath", (.row_rules = true,
      .example = EXAMPLE({"slug": "acme", "email": "ada@example.com"})),
    STR(slug,  .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    STR(email, .rule = user_rule_normal_email, .flags = F_REQUIRED, .doc = "E-mail address, which identifies the user."));
/* clang-format on */

#define ROLE_DOC                                                                                   \
    "What the token allows at most, in every workspace of the user: admin changes settings and "   \
    "keys, member reads; platform_admin allows all that the user may do."

/* clang-format off */
SHAPE(personal_create, "PersonalTokenCreate", (.doc = "A personal access token to create.", .secret = true,
      .example = EXAMPLE({"name": "laptop", "role": "admin", "expires_in_days": 30})),
    STR(name,            .min = 1, .max = 128, .flags = F_REQUIRED, .doc = "What the token is for."),
    ENUM(role,           .absent = "\"member\"", .choices = token_role_names, .doc = ROLE_DOC),
    INT(expires_in_days, .least = 1, .most = 366, .absent = "90", .doc = "Days until it stops working."),
    STR(current_password, .max = PASSWORD_MAX, .flags = F_NULL, .doc = "The user's password; needed when the user signed in more than ten minutes ago."),
    STR(code,            .max = 64, .flags = F_NULL, .doc = "Beside the password, of a user with a second factor: the six digits that the app shows, or a recovery code."));

SHAPE(personal_token, "PersonalToken", (.doc = "A personal access token, without the token itself.",
      .example = EXAMPLE({"token_id": "pat_8sYt0KcPq2mWx4Zb", "name": "laptop", "role": "admin"})),
    STR(token_id,    .flags = F_REQUIRED, .doc = "Identifies the token."),
    STR(name,        .flags = F_REQUIRED, .doc = "What the token is for."),
    STR(role,        .flags = F_REQUIRED, .choices = token_role_names, .doc = ROLE_DOC),
    TIME(created_at, .flags = F_REQUIRED, .doc = "When it was created."),
    TIME(expires_at, .flags = F_REQUIRED, .doc = "When it stops working."));

SHAPE(personal_created, "PersonalTokenCreated", (.doc = "A new personal access token.",
      .example = EXAMPLE({"token_id": "pat_8sYt0KcPq2mWx4Zb", "token": "mst_pat_…", "name": "laptop", "role": "admin"})),
    STR(token_id,    .flags = F_REQUIRED, .doc = "Identifies the token."),
    STR(token,       .flags = F_REQUIRED, .doc = "Shown only once."),
    STR(name,        .flags = F_REQUIRED, .doc = "What the token is for."),
    STR(role,        .flags = F_REQUIRED, .choices = token_role_names, .doc = ROLE_DOC),
    TIME(created_at, .flags = F_REQUIRED, .doc = "When it was created."),
    TIME(expires_at, .flags = F_REQUIRED, .doc = "When it stops working."));

LIST_SHAPE(personal_list, "PersonalTokenList", (.doc = "The personal access tokens of a user."),
    ITEMS("tokens", personal_token_shape, .flags = F_REQUIRED, .doc = "The tokens, oldest first."));

SHAPE(personal_path, "PersonalTokenPath", (.example = EXAMPLE({"token_id": "pat_8sYt0KcPq2mWx4Zb"})),
    STR(token_id, .flags = F_REQUIRED, .doc = "Identifies the token."));

SHAPE(personal_user_path, "PersonalTokenUserPath", (.row_rules = true,
      .example = EXAMPLE({"email": "ada@example.com", "token_id": "pat_8sYt0KcPq2mWx4Zb"})),
    STR(email,    .rule = user_rule_normal_email, .flags = F_REQUIRED, .doc = "E-mail address of the user."),
    STR(token_id, .flags = F_REQUIRED, .doc = "Identifies the token."));
/* clang-format on */

enum { ID_DIGITS = 16 };

struct str session_public_id(const struct sha256 *digest, struct arena *arena)
{
    char text[sizeof("session:") - 1 + SHA256_BYTES] = "session:";
    char encoded[BASE64URL_LEN + 1];
    struct sha256 id;

    memcpy(text + sizeof("session:") - 1, digest->bytes, SHA256_BYTES);
    id = digest_sha256(str_from(text, sizeof(text)));
    digest_base64url(id.bytes, encoded);
    return arena_printf(arena, "ses_%.*s", ID_DIGITS, encoded);
}

/* clang-format off */
STATIC_SHAPE(listed_session, "ListedSession", (.doc = "A session of a user.",
      .example = EXAMPLE({"session_id": "ses_8sYt0KcPq2mWx4Zb", "address": "192.0.2.7", "user_agent": "Mozilla/5.0 (X11; Linux x86_64)", "current": true})),
    STR(session_id,    .flags = F_REQUIRED, .doc = "Identifies the session."),
    TIME(created_at,   .flags = F_REQUIRED, .doc = "When the user signed in."),
    TIME(last_used_at, .flags = F_REQUIRED, .doc = "When it was last used."),
    TIME(expires_at,   .flags = F_REQUIRED, .doc = "When it ends unless it is used again."),
    STR(address,       .flags = F_REQUIRED, .doc = "The IP address from which the user signed in. Empty: not known."),
    STR(user_agent,    .flags = F_REQUIRED, .doc = "The first 200 characters of the browser's `User-Agent` at sign-in; characters outside of printable ASCII are shown as `?`."),
    BOOL(current,      .flags = F_REQUIRED, .doc = "True: this request was made with it."));

LIST_SHAPE(session_list, "SessionList", (.doc = "The sessions of a user."),
    ITEMS("sessions", listed_session_shape, .flags = F_REQUIRED, .doc = "The sessions, newest first."));

SHAPE(session_path, "SessionPath", (.example = EXAMPLE({"session_id": "ses_8sYt0KcPq2mWx4Zb"})),
    STR(session_id, .flags = F_REQUIRED, .doc = "Identifies the session."));

SHAPE(session_user_path, "SessionUserPath", (.row_rules = true,
      .example = EXAMPLE({"email": "ada@example.com", "session_id": "ses_8sYt0KcPq2mWx4Zb"})),
    STR(email,      .rule = user_rule_normal_email, .flags = F_REQUIRED, .doc = "E-mail address of the user."),
    STR(session_id, .flags = F_REQUIRED, .doc = "Identifies the session."));
/* clang-format on */
