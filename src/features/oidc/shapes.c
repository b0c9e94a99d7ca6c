/* shapes.c - the shapes of sign-in by an identity provider. */
#include "features/oidc/shapes.h"

#include "features/oidc/id_token.h"
#include "shape/rule.h"
#include "shape/table.h"

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
#define OWNER struct oidc_state
SHAPE_BEGIN(oidc_state_shape)
    { BOOL(enabled),          .flags = F_REQUIRED, .doc = "True: people can sign in by an identity provider." },
    { STR(name),              .flags = F_REQUIRED | F_NULL, .doc = "What the provider is called. Null: not enabled." },
    { BOOL(password_sign_in), .flags = F_REQUIRED, .doc = "False: sign-in with a password is switched off." },
SHAPE_END(oidc_state_shape, "OidcState", .doc = "The ways to sign in.",
          .example = EXAMPLE({"enabled": true, "name": "Example Corp", "password_sign_in": true}));
#undef OWNER

#define OWNER struct oidc_begun
SHAPE_BEGIN(oidc_begun_shape)
    { STR(url), .flags = F_REQUIRED, .doc = "Where the browser goes to sign in." },
SHAPE_END(oidc_begun_shape, "OidcBegun", .doc = "A sign-in that has begun.",
          .example = EXAMPLE({"url": "https://login.example.com/authorize?response_type=code&client_id=muster"}));
#undef OWNER

#define OWNER struct oidc_sign_out
SHAPE_BEGIN(oidc_sign_out_shape)
    { STR(url), .flags = F_REQUIRED | F_NULL, .doc = "Where the browser goes to sign out of the identity provider. Null: nowhere." },
SHAPE_END(oidc_sign_out_shape, "OidcSignOut", .doc = "How to sign out of the identity provider.",
          .example = EXAMPLE({"url": "https://login.example.com/session/end?client_id=muster&id_token_hint=…"}));
#undef OWNER

#define OWNER struct oidc_return
SHAPE_BEGIN(oidc_return_shape)
    { STR(code),  .min = 1, .max = CODE_MAX, .flags = F_REQUIRED, .doc = "Parameter `code` of the redirect." },
    { STR(state), .max = 256, .flags = F_REQUIRED, .doc = "Parameter `state` of the redirect." },
    { STR(iss),   .max = 1024, .flags = F_NULL, .doc = "Parameter `iss` of the redirect, if the provider sends one." },
SHAPE_END(oidc_return_shape, "OidcReturn", .doc = "What the provider's redirect to the portal carries.", .secret = true,
          .example = EXAMPLE({"code": "SplxlOBeZQQYbYS6WxSbIA", "state": "af0ifjsldkj"}));
#undef OWNER

#define OWNER struct oidc_group_create
SHAPE_BEGIN(oidc_group_create_shape)
    { STR(group),  .min = 1, .max = GROUP_NAME_MAX, .flags = F_REQUIRED, .doc = GROUP_DOC },
    { ENUM(role),  .flags = F_REQUIRED, .choices = group_role_names, .doc = ROLE_DOC },
    { STR(tenant), .max = 63, .flags = F_NULL, .doc = "Slug of the tenant. Null: the platform." },
SHAPE_END(oidc_group_create_shape, "OidcGroupCreate", .doc = "A group of the provider, and the role that it gives.", .rules = check_group_create,
          .example = EXAMPLE({"group": "acme-operators", "role": "admin", "tenant": "acme"}));
#undef OWNER

#define OWNER struct oidc_group
SHAPE_BEGIN(oidc_group_shape)
    { STR(group_id),    .flags = F_REQUIRED, .doc = "Identifies this row." },
    { STR(group),       .flags = F_REQUIRED, .doc = GROUP_DOC },
    { ENUM(role),       .flags = F_REQUIRED, .choices = group_role_names, .doc = ROLE_DOC },
    { STR(tenant),      .flags = F_REQUIRED | F_NULL, .doc = "Slug of the tenant. Null: the platform." },
    { TIME(created_at), .flags = F_REQUIRED, .doc = "When it was added." },
SHAPE_END(oidc_group_shape, "OidcGroup", .doc = "A group of the provider, and the role that it gives.",
          .example = EXAMPLE({"group_id": "grp_8sYt0KcPq2mWx4Zb", "group": "acme-operators", "role": "admin", "tenant": "acme"}));
#undef OWNER

#define OWNER struct oidc_group_list
SHAPE_BEGIN(oidc_group_list_shape)
    { LIST(groups, oidc_group_shape), .flags = F_REQUIRED, .doc = "The groups, those of the platform first." },
SHAPE_END(oidc_group_list_shape, "OidcGroupList", .doc = "All groups that give a role.");
#undef OWNER

#define OWNER struct oidc_group_path
SHAPE_BEGIN(oidc_group_path_shape)
    { STR(group_id), .flags = F_REQUIRED, .doc = "Identifies the row." },
SHAPE_END(oidc_group_path_shape, "OidcGroupPath", .example = EXAMPLE({"group_id": "grp_8sYt0KcPq2mWx4Zb"}));
#undef OWNER

#define OWNER struct oidc_group_deleted
SHAPE_BEGIN(oidc_group_deleted_shape)
    { STR(group_id), .flags = F_REQUIRED, .doc = "The row that was deleted." },
SHAPE_END(oidc_group_deleted_shape, "OidcGroupDeleted", .doc = "A group that gives no role any longer.",
          .example = EXAMPLE({"group_id": "grp_8sYt0KcPq2mWx4Zb"}));
#undef OWNER

#define OWNER struct identity_create
SHAPE_BEGIN(identity_create_shape)
    { STR(subject), .min = 1, .max = SUBJECT_MAX, .flags = F_REQUIRED, .doc = "Subject (`sub`) of the person at the provider." },
SHAPE_END(identity_create_shape, "IdentityCreate", .doc = "A person at the provider.",
          .example = EXAMPLE({"subject": "248289761001"}));
#undef OWNER

#define OWNER struct identity
SHAPE_BEGIN(identity_shape)
    { STR(issuer),         .flags = F_REQUIRED, .doc = "The provider." },
    { STR(subject),        .flags = F_REQUIRED, .doc = "Subject (`sub`) of the person there." },
    { TIME(created_at),    .flags = F_REQUIRED, .doc = "When it was linked." },
    { TIME(last_login_at), .flags = F_REQUIRED | F_NULL, .doc = "Last sign-in by the provider. Null: never." },
STATIC_SHAPE_END(identity_shape, "Identity", .doc = "A person at an identity provider.",
          .example = EXAMPLE({"issuer": "https://login.example.com", "subject": "248289761001"}));
#undef OWNER

#define OWNER struct identity_list
SHAPE_BEGIN(identity_list_shape)
    { LIST(identities, identity_shape), .flags = F_REQUIRED, .doc = "The identities, oldest first." },
SHAPE_END(identity_list_shape, "IdentityList", .doc = "Who a user is at identity providers.");
#undef OWNER
/* clang-format on */
