/* shapes.c - the shapes of sign-in by an identity provider. */
#include "features/oidc/oidc.h"

#include "features/users/users.h"
#include "shape/table.h"
#include "shape/timerange.h"

static const char *const group_role_names[] = { "platform_admin", "admin", "member", NULL };

static void check_group_create(void *value, struct arena *arena, struct problems *problems)
{
    const struct oidc_group_create *create = value;
    const bool of_platform = create->role == GROUP_PLATFORM_ADMIN;

    if (of_platform != str_is_null(create->tenant))
        rule_refuse_text(problems, arena, "tenant", create->tenant,
                         of_platform ? "platform_admin is a role without a tenant"
                                     : "admin and member are roles in a tenant: give its slug");
}

#define GROUP_DOC "Name of the group, exactly as the provider sends it."
#define ROLE_DOC  "platform_admin without a tenant, admin or member in one."

/* clang-format off */
SHAPE(oidc_state, "OidcState", (.doc = "The ways to sign in.",
      .example = EXAMPLE({"enabled": true, "name": "Example Corp", "password_sign_in": true})),
    BOOL(enabled,          .flags = F_REQUIRED, .doc = "True: people can sign in by an identity provider."),
    STR(name,              .flags = F_REQUIRED | F_NULL, .doc = "What the provider is called. Null: not enabled."),
    BOOL(password_sign_in, .flags = F_REQUIRED, .doc = "False: sign-in with a password is switched off."));

SHAPE(oidc_begun, "OidcBegun", (.doc = "A sign-in that has begun.",
      .example = EXAMPLE({"url": "https://login.example.com/authorize?response_type=code&client_id=muster"})),
    STR(url, .flags = F_REQUIRED, .doc = "Where the browser goes to sign in."));

SHAPE(oidc_sign_out, "OidcSignOut", (.doc = "How to sign out of the identity provider.",
      .example = EXAMPLE({"url": "https://login.example.com/session/end?client_id=muster&id_token_hint=…"})),
    STR(url, .flags = F_REQUIRED | F_NULL, .doc = "Where the browser goes to sign out of the identity provider. Null: nowhere."));

SHAPE(oidc_return, "OidcReturn", (.doc = "What the provider's redirect to the portal carries.", .secret = true,
      .example = EXAMPLE({"code": "SplxlOBeZQQYbYS6WxSbIA", "state": "af0ifjsldkj"})),
    STR(code,  .min = 1, .max = CODE_MAX, .flags = F_REQUIRED, .doc = "Parameter `code` of the redirect."),
    STR(state, .max = 256, .flags = F_REQUIRED, .doc = "Parameter `state` of the redirect."),
    STR(iss,   .max = 1024, .flags = F_NULL, .doc = "Parameter `iss` of the redirect, if the provider sends one."));

SHAPE(oidc_group_create, "OidcGroupCreate", (.doc = "A group of the provider, and the role that it gives.", .rules = check_group_create,
      .example = EXAMPLE({"group": "acme-operators", "role": "admin", "tenant": "acme"})),
    STR(group,  .min = 1, .max = GROUP_NAME_MAX, .flags = F_REQUIRED, .doc = GROUP_DOC),
    ENUM(role,  .flags = F_REQUIRED, .choices = group_role_names, .doc = ROLE_DOC),
    STR(tenant, .max = 63, .flags = F_NULL, .doc = "Slug of the tenant. Null: the platform."));

SHAPE(oidc_group, "OidcGroup", (.doc = "A group of the provider, and the role that it gives.",
      .example = EXAMPLE({"group_id": "grp_8sYt0KcPq2mWx4Zb", "group": "acme-operators", "role": "admin", "tenant": "acme"})),
    STR(group_id,    .flags = F_REQUIRED, .doc = "Identifies this row."),
    STR(group,       .flags = F_REQUIRED, .doc = GROUP_DOC),
    ENUM(role,       .flags = F_REQUIRED, .choices = group_role_names, .doc = ROLE_DOC),
    STR(tenant,      .flags = F_REQUIRED | F_NULL, .doc = "Slug of the tenant. Null: the platform."),
    TIME(created_at, .flags = F_REQUIRED, .doc = "When it was added."));

LIST_SHAPE(oidc_group_list, "OidcGroupList", (.doc = "All groups that give a role."),
    ITEMS("groups", oidc_group_shape, .flags = F_REQUIRED, .doc = "The groups, those of the platform first."));

SHAPE(oidc_group_path, "OidcGroupPath", (.example = EXAMPLE({"group_id": "grp_8sYt0KcPq2mWx4Zb"})),
    STR(group_id, .flags = F_REQUIRED, .doc = "Identifies the row."));

SHAPE(oidc_group_deleted, "OidcGroupDeleted", (.doc = "A group that gives no role any longer.",
      .example = EXAMPLE({"group_id": "grp_8sYt0KcPq2mWx4Zb"})),
    STR(group_id, .flags = F_REQUIRED, .doc = "The row that was deleted."));

SHAPE(identity_create, "IdentityCreate", (.doc = "A person at the provider.",
      .example = EXAMPLE({"subject": "248289761001"})),
    STR(subject, .min = 1, .max = SUBJECT_MAX, .flags = F_REQUIRED, .doc = "Subject (`sub`) of the person at the provider."));

STATIC_SHAPE(identity_row, "Identity", (.doc = "A person at an identity provider.",
      .example = EXAMPLE({"issuer": "https://login.example.com", "subject": "248289761001"})),
    STR(issuer,         .flags = F_REQUIRED, .doc = "The provider."),
    STR(subject,        .flags = F_REQUIRED, .doc = "Subject (`sub`) of the person there."),
    TIME(created_at,    .flags = F_REQUIRED, .doc = "When it was linked."),
    TIME(last_login_at, .flags = F_REQUIRED | F_NULL, .doc = "Last sign-in by the provider. Null: never."));

LIST_SHAPE(identity_list, "IdentityList", (.doc = "Who a user is at identity providers."),
    ITEMS("identities", identity_row_shape, .flags = F_REQUIRED, .doc = "The identities, oldest first."));
/* clang-format on */
