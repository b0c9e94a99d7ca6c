/* shapes.c - the shapes of invitations and reset links. */
#include "features/users/links/links.h"

#include "features/users/shapes.h"
#include "shape/table.h"

const char *const link_kind_names[] = { "invitation", "reset", NULL };

static const char *const platform_roles_shown[] = { "platform_admin", NULL };

#define EMAIL_PATTERN "^ *[^@ :]+@[^@ ]+ *$"
#define ROLE_DOC      "An admin changes settings and keys, a member reads."
#define SHOW_DOC      "True: answer the link instead of sending it by e-mail."
#define TOKEN_DOC     "What follows `token=` in the link."

/* clang-format off */
STATIC_SHAPE(invited_role, "InvitedRole", (.doc = "A role that an invitation gives.",
      .example = EXAMPLE({"slug": "acme", "role": "member"})),
    STR(slug,  .max = 63, .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    ENUM(role, .flags = F_REQUIRED, .choices = tenant_role_names, .doc = ROLE_DOC));

SHAPE(platform_invite, "PlatformInvite", (.doc = "A person to invite.", .row_rules = true,
      .example = EXAMPLE({"email": "ada@example.com", "role": "none", "tenants": [{"slug": "acme", "role": "admin"}]})),
    STR(email,      .rule = user_rule_email, .pattern = EMAIL_PATTERN, .flags = F_REQUIRED, .doc = "E-mail address of the person, which no user has yet."),
    ENUM(role,      .absent = "\"none\"", .choices = platform_role_names, .doc = "Platform role; none: only the roles in tenants."),
    LIST(tenants, invited_role_shape, .max = LINK_TENANTS_MAX, .absent = "[]", .doc = "Roles in tenants."),
    BOOL(show_link, .absent = "false", .doc = SHOW_DOC));

SHAPE(tenant_invite, "TenantInvite", (.doc = "A person to invite to a tenant.", .row_rules = true,
      .example = EXAMPLE({"email": "ada@example.com", "role": "member"})),
    STR(email,      .rule = user_rule_email, .pattern = EMAIL_PATTERN, .flags = F_REQUIRED, .doc = "E-mail address of the person, which no user has yet."),
    ENUM(role,      .flags = F_REQUIRED, .choices = tenant_role_names, .doc = ROLE_DOC),
    BOOL(show_link, .absent = "false", .doc = SHOW_DOC));

SHAPE(reset_request, "ResetRequest", (.doc = "A link to reset a password.",
      .example = EXAMPLE({"show_link": false})),
    BOOL(show_link, .absent = "false", .doc = SHOW_DOC));

SHAPE(forgot_request, "ForgotRequest", (.doc = "A user who forgot the password.", .row_rules = true,
      .example = EXAMPLE({"email": "ada@example.com"})),
    STR(email, .rule = user_rule_email, .pattern = EMAIL_PATTERN, .flags = F_REQUIRED, .doc = "E-mail address that the user signs in with."));

SHAPE(forgot_answer, "ForgotAnswer", (.doc = "The request was taken.",
      .example = EXAMPLE({"status": "ok"})),
    STR(status, .flags = F_REQUIRED, .doc = "Always `ok`, whether there is such a user or not."));

SHAPE(link_created, "LinkCreated", (.doc = "A new link.",
      .example = EXAMPLE({"link_id": "lnk_8sYt0KcPq2mWx4Zb", "email": "ada@example.com", "mailed": false, "mail_problem": null, "url": "https://muster.example.com/#/link?token=…"})),
    STR(link_id,      .flags = F_REQUIRED, .doc = "Identifies the link."),
    STR(email,        .flags = F_REQUIRED, .doc = "E-mail address of the person."),
    BOOL(mailed,      .flags = F_REQUIRED, .doc = "True: the mail server accepted an e-mail with the link."),
    STR(mail_problem, .flags = F_REQUIRED | F_NULL, .doc = "Why the e-mail could not be sent. Null: it was sent, or none was wanted."),
    STR(url,          .flags = F_REQUIRED | F_NULL, .doc = "The link, shown only once; pass it on yourself. Null: it was sent by e-mail, or must not be passed on in another way: there is an account whose e-mail address is not confirmed."),
    STR(url_note,     .flags = F_NULL | F_OMIT, .doc = "Why the address of `url` may be wrong elsewhere, and which setting names the right one. Left out when it is the one that people use."),
    TIME(expires_at,  .flags = F_REQUIRED, .doc = "When it stops working."));

STATIC_SHAPE(invitation, "Invitation", (.doc = "An invitation that can still be accepted.",
      .example = EXAMPLE({"link_id": "lnk_8sYt0KcPq2mWx4Zb", "email": "ada@example.com", "role": null, "made_by": "bob@example.com"})),
    STR(link_id,     .flags = F_REQUIRED, .doc = "Identifies the invitation."),
    STR(email,       .flags = F_REQUIRED, .doc = "E-mail address of the person."),
    STR(role,        .flags = F_REQUIRED | F_NULL, .choices = platform_roles_shown, .doc = "Platform role. Null: only the roles in tenants."),
    LIST(tenants, tenant_membership_shape, .flags = F_REQUIRED, .doc = "The roles that the person gets."),
    STR(made_by,     .flags = F_REQUIRED, .doc = "E-mail address of the user who invites; operator: a command."),
    TIME(created_at, .flags = F_REQUIRED, .doc = "When it was created."),
    TIME(expires_at, .flags = F_REQUIRED, .doc = "When it stops working."));

LIST_SHAPE(invitation_list, "InvitationList", (.doc = "Invitations that can still be accepted."),
    ITEMS("invitations", invitation_shape, .flags = F_REQUIRED, .doc = "The invitations, newest first."));

SHAPE(link_token, "LinkToken", (.doc = "The token of a link.", .secret = true,
      .example = EXAMPLE({"token": "n0tAReal1inkT0ken"})),
    STR(token, .max = 256, .flags = F_REQUIRED, .doc = TOKEN_DOC));

SHAPE(link_accept, "LinkAccept", (.doc = "The password that the person of the link chooses.", .secret = true,
      .example = EXAMPLE({"token": "n0tAReal1inkT0ken", "password": "seven green teapots"})),
    STR(token,    .max = 256, .flags = F_REQUIRED, .doc = TOKEN_DOC),
    STR(password, .min = PASSWORD_LEAST, .max = PASSWORD_MAX, .flags = F_REQUIRED, .doc = "At least 12 characters, and not a commonly used password."));

SHAPE(link_shown, "LinkShown", (.doc = "What a link is for.",
      .example = EXAMPLE({"kind": "invitation", "email": "ada@example.com", "role": null})),
    STR(kind,        .flags = F_REQUIRED, .choices = link_kind_names, .doc = "An invitation creates the user; a reset sets the password of one."),
    STR(email,       .flags = F_REQUIRED, .doc = "E-mail address of the person."),
    STR(role,        .flags = F_REQUIRED | F_NULL, .choices = platform_roles_shown, .doc = "Platform role that an invitation gives. Null: none."),
    LIST(tenants, tenant_membership_shape, .flags = F_REQUIRED, .doc = "The roles that an invitation gives."),
    TIME(expires_at, .flags = F_REQUIRED, .doc = "When it stops working."));

SHAPE(link_accepted, "LinkAccepted", (.doc = "The password is set.",
      .example = EXAMPLE({"email": "ada@example.com"})),
    STR(email, .flags = F_REQUIRED, .doc = "E-mail address to sign in with."));

SHAPE(platform_link_path, "PlatformLinkPath", (.example = EXAMPLE({"link_id": "lnk_8sYt0KcPq2mWx4Zb"})),
    STR(link_id, .flags = F_REQUIRED, .doc = "Identifies the invitation."));

SHAPE(tenant_link_path, "TenantLinkPath", (.example = EXAMPLE({"slug": "acme", "link_id": "lnk_8sYt0KcPq2mWx4Zb"})),
    STR(slug,    .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    STR(link_id, .flags = F_REQUIRED, .doc = "Identifies the invitation."));
/* clang-format on */
