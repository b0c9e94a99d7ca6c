/* shapes.c - the shapes of invitations and reset links. */
#include "features/access/links/shapes.h"

#include "features/access/users/password_rules.h"
#include "features/access/users/shapes.h"
#include "shape/rule.h"
#include "shape/table.h"

const char *const link_kind_names[] = { "invitation", "reset", NULL };

static const char *const platform_roles_shown[] = { "platform_admin", NULL };

static void check_platform_invite(void *value, struct arena *arena, struct problems *problems)
{
    user_check_email(&((struct platform_invite *)value)->email, arena, problems);
}

static void check_tenant_invite(void *value, struct arena *arena, struct problems *problems)
{
    user_check_email(&((struct tenant_invite *)value)->email, arena, problems);
}

static void check_forgot_request(void *value, struct arena *arena, struct problems *problems)
{
    user_check_email(&((struct forgot_request *)value)->email, arena, problems);
}

#define EMAIL_PATTERN "^ *[^@ :]+@[^@ ]+ *$"
#define ROLE_DOC      "An admin changes settings and keys, a member reads."
#define SHOW_DOC      "True: answer the link instead of sending it by e-mail."
#define TOKEN_DOC     "What follows `token=` in the link."

/* clang-format off */
#define OWNER struct invited_role
SHAPE_BEGIN(invited_role_shape)
    { STR(slug),  .max = 63, .flags = F_REQUIRED, .doc = "Slug of the tenant." },
    { ENUM(role), .flags = F_REQUIRED, .choices = tenant_role_names, .doc = ROLE_DOC },
STATIC_SHAPE_END(invited_role_shape, "InvitedRole", .doc = "A role that an invitation gives.",
          .example = EXAMPLE({"slug": "acme", "role": "member"}));
#undef OWNER

#define OWNER struct platform_invite
SHAPE_BEGIN(platform_invite_shape)
    { STR(email),      .pattern = EMAIL_PATTERN, .flags = F_REQUIRED, .doc = "E-mail address of the person, which no user has yet." },
    { ENUM(role),      .absent = "\"none\"", .choices = platform_role_names, .doc = "Platform role; none: only the roles in tenants." },
    { LIST(tenants, invited_role_shape), .max = LINK_TENANTS_MAX, .absent = "[]", .doc = "Roles in tenants." },
    { BOOL(show_link), .absent = "false", .doc = SHOW_DOC },
SHAPE_END(platform_invite_shape, "PlatformInvite", .doc = "A person to invite.", .rules = check_platform_invite,
          .example = EXAMPLE({"email": "ada@example.com", "role": "none", "tenants": [{"slug": "acme", "role": "admin"}]}));
#undef OWNER

#define OWNER struct tenant_invite
SHAPE_BEGIN(tenant_invite_shape)
    { STR(email),      .pattern = EMAIL_PATTERN, .flags = F_REQUIRED, .doc = "E-mail address of the person, which no user has yet." },
    { ENUM(role),      .flags = F_REQUIRED, .choices = tenant_role_names, .doc = ROLE_DOC },
    { BOOL(show_link), .absent = "false", .doc = SHOW_DOC },
SHAPE_END(tenant_invite_shape, "TenantInvite", .doc = "A person to invite to a tenant.", .rules = check_tenant_invite,
          .example = EXAMPLE({"email": "ada@example.com", "role": "member"}));
#undef OWNER

#define OWNER struct reset_request
SHAPE_BEGIN(reset_request_shape)
    { BOOL(show_link), .absent = "false", .doc = SHOW_DOC },
SHAPE_END(reset_request_shape, "ResetRequest", .doc = "A link to reset a password.",
          .example = EXAMPLE({"show_link": false}));
#undef OWNER

#define OWNER struct forgot_request
SHAPE_BEGIN(forgot_request_shape)
    { STR(email), .pattern = EMAIL_PATTERN, .flags = F_REQUIRED, .doc = "E-mail address that the user signs in with." },
SHAPE_END(forgot_request_shape, "ForgotRequest", .doc = "A user who forgot the password.", .rules = check_forgot_request,
          .example = EXAMPLE({"email": "ada@example.com"}));
#undef OWNER

#define OWNER struct forgot_answer
SHAPE_BEGIN(forgot_answer_shape)
    { STR(status), .flags = F_REQUIRED, .doc = "Always `ok`, whether there is such a user or not." },
SHAPE_END(forgot_answer_shape, "ForgotAnswer", .doc = "The request was taken.",
          .example = EXAMPLE({"status": "ok"}));
#undef OWNER

#define OWNER struct link_created
SHAPE_BEGIN(link_created_shape)
    { STR(link_id),      .flags = F_REQUIRED, .doc = "Identifies the link." },
    { STR(email),        .flags = F_REQUIRED, .doc = "E-mail address of the person." },
    { BOOL(mailed),      .flags = F_REQUIRED, .doc = "True: the mail server accepted an e-mail with the link." },
    { STR(mail_problem), .flags = F_REQUIRED | F_NULL, .doc = "Why the e-mail could not be sent. Null: it was sent, or none was wanted." },
    { STR(url),          .flags = F_REQUIRED | F_NULL, .doc = "The link, shown only once; pass it on yourself. Null: it was sent by e-mail, or must not be passed on in another way: there is an account whose e-mail address is not confirmed." },
    { STR(url_note),     .flags = F_NULL | F_OMIT, .doc = "Why the address of `url` may be wrong elsewhere, and which setting names the right one. Left out when it is the one that people use." },
    { TIME(expires_at),  .flags = F_REQUIRED, .doc = "When it stops working." },
SHAPE_END(link_created_shape, "LinkCreated", .doc = "A new link.",
          .example = EXAMPLE({"link_id": "lnk_8sYt0KcPq2mWx4Zb", "email": "ada@example.com", "mailed": false, "mail_problem": null, "url": "https://muster.example.com/#/link?token=…"}));
#undef OWNER

#define OWNER struct invitation
SHAPE_BEGIN(invitation_shape)
    { STR(link_id),     .flags = F_REQUIRED, .doc = "Identifies the invitation." },
    { STR(email),       .flags = F_REQUIRED, .doc = "E-mail address of the person." },
    { STR(role),        .flags = F_REQUIRED | F_NULL, .choices = platform_roles_shown, .doc = "Platform role. Null: only the roles in tenants." },
    { LIST(tenants, tenant_membership_shape), .flags = F_REQUIRED, .doc = "The roles that the person gets." },
    { STR(made_by),     .flags = F_REQUIRED, .doc = "E-mail address of the user who invites; operator: a command." },
    { TIME(created_at), .flags = F_REQUIRED, .doc = "When it was created." },
    { TIME(expires_at), .flags = F_REQUIRED, .doc = "When it stops working." },
STATIC_SHAPE_END(invitation_shape, "Invitation", .doc = "An invitation that can still be accepted.",
          .example = EXAMPLE({"link_id": "lnk_8sYt0KcPq2mWx4Zb", "email": "ada@example.com", "role": null, "made_by": "bob@example.com"}));
#undef OWNER

#define OWNER struct invitation_list
SHAPE_BEGIN(invitation_list_shape)
    { LIST(invitations, invitation_shape), .flags = F_REQUIRED, .doc = "The invitations, newest first." },
SHAPE_END(invitation_list_shape, "InvitationList", .doc = "Invitations that can still be accepted.");
#undef OWNER

#define OWNER struct link_token
SHAPE_BEGIN(link_token_shape)
    { STR(token), .max = 256, .flags = F_REQUIRED, .doc = TOKEN_DOC },
SHAPE_END(link_token_shape, "LinkToken", .doc = "The token of a link.", .secret = true,
          .example = EXAMPLE({"token": "n0tAReal1inkT0ken"}));
#undef OWNER

#define OWNER struct link_accept
SHAPE_BEGIN(link_accept_shape)
    { STR(token),    .max = 256, .flags = F_REQUIRED, .doc = TOKEN_DOC },
    { STR(password), .min = PASSWORD_LEAST, .max = PASSWORD_MAX, .flags = F_REQUIRED, .doc = "At least 12 characters, and not a commonly used password." },
SHAPE_END(link_accept_shape, "LinkAccept", .doc = "The password that the person of the link chooses.", .secret = true,
          .example = EXAMPLE({"token": "n0tAReal1inkT0ken", "password": "seven green teapots"}));
#undef OWNER

#define OWNER struct link_shown
SHAPE_BEGIN(link_shown_shape)
    { STR(kind),        .flags = F_REQUIRED, .choices = link_kind_names, .doc = "An invitation creates the user; a reset sets the password of one." },
    { STR(email),       .flags = F_REQUIRED, .doc = "E-mail address of the person." },
    { STR(role),        .flags = F_REQUIRED | F_NULL, .choices = platform_roles_shown, .doc = "Platform role that an invitation gives. Null: none." },
    { LIST(tenants, tenant_membership_shape), .flags = F_REQUIRED, .doc = "The roles that an invitation gives." },
    { TIME(expires_at), .flags = F_REQUIRED, .doc = "When it stops working." },
SHAPE_END(link_shown_shape, "LinkShown", .doc = "What a link is for.",
          .example = EXAMPLE({"kind": "invitation", "email": "ada@example.com", "role": null}));
#undef OWNER

#define OWNER struct link_accepted
SHAPE_BEGIN(link_accepted_shape)
    { STR(email), .flags = F_REQUIRED, .doc = "E-mail address to sign in with." },
SHAPE_END(link_accepted_shape, "LinkAccepted", .doc = "The password is set.",
          .example = EXAMPLE({"email": "ada@example.com"}));
#undef OWNER

#define OWNER struct platform_link_path
SHAPE_BEGIN(platform_link_path_shape)
    { STR(link_id), .flags = F_REQUIRED, .doc = "Identifies the invitation." },
SHAPE_END(platform_link_path_shape, "PlatformLinkPath", .example = EXAMPLE({"link_id": "lnk_8sYt0KcPq2mWx4Zb"}));
#undef OWNER

#define OWNER struct tenant_link_path
SHAPE_BEGIN(tenant_link_path_shape)
    { STR(slug),    .flags = F_REQUIRED, .doc = "Slug of the tenant." },
    { STR(link_id), .flags = F_REQUIRED, .doc = "Identifies the invitation." },
SHAPE_END(tenant_link_path_shape, "TenantLinkPath", .example = EXAMPLE({"slug": "acme", "link_id": "lnk_8sYt0KcPq2mWx4Zb"}));
#undef OWNER
/* clang-format on */
