/* commands.c - invitations and reset links, on the command line. */
#include <string.h>

#include "cli/request.h"
#include "cli/template.h"
#include "features/users/links/shapes.h"
#include "features/users/routes.h"

#define INVITATIONS "/api/v1/{tenant?tenants/{tenant}|platform}/invitations"
#define EMAIL_ARG   { "email", OPTION_NAME, "EMAIL", .help = "e-mail address of the person" }
#define SHOW_OPTION                                                                                \
    { "show-link", OPTION_FLAG, .help = "print the link instead of sending it by e-mail" }
#define CREATED_LINE                                                                               \
    "{mailed?link sent to '{email}' by e-mail|{mail_problem?not sent by e-mail: {mail_problem}"    \
    "{url?\n|; the link is not shown, because an account with that address is not confirmed: "     \
    "muster user reset-link {email} gives it to the person}}{url?{url}}}"

static int user_invite_bind(struct invocation *in, struct str *ret, struct error *err)
{
    const bool in_tenant = command_value(in, "tenant") != NULL;

    if (in_tenant == (strcmp(command_value(in, "role"), "platform_admin") == 0))
        return err_set(err, ERR_INVALID,
                       "--role is platform_admin without --tenant, and admin or member with it");
    *ret = request_bind(in, in_tenant ? &tenant_invite_shape : &platform_invite_shape);
    return 0;
}

/* clang-format off */
const struct command link_commands[] = {
    { "user", "invite", .args = { EMAIL_ARG },
      .options = OPTIONS({ "role", OPTION_WORD, "platform_admin|admin|member", .required = true, .help = "platform_admin, or with --tenant admin or member" },
                         { "tenant", OPTION_TENANT, .help = "tenant in which the person gets the role" },
                         SHOW_OPTION),
      .help = "invite a person, who chooses a password by a link that works once and for seven days; it is sent by e-mail if a mail server is set, else printed",
      .examples = "muster user invite ada@example.com --tenant acme --role admin",
      .method = METHOD_POST, .path = INVITATIONS, .bind = user_invite_bind,
      .answer = &link_created_shape, .line = CREATED_LINE, .note = "{url_note}" },
    { "user", "reset-link", .args = { EMAIL_ARG }, .options = OPTIONS(SHOW_OPTION),
      .help = "create a link with which a user chooses a new password, once and within an hour; it is sent by e-mail if a mail server is set, else printed",
      .examples = "muster user reset-link ada@example.com",
      .method = METHOD_POST, .path = "/api/v1/platform/users/{email}/reset-link", .body = &reset_request_shape,
      .answer = &link_created_shape, .line = CREATED_LINE, .note = "{url_note}" },
    { "invitation", "list",
      .options = OPTIONS({ "tenant", OPTION_TENANT, .help = "those of this tenant, not of the platform" }),
      .help = "list the open invitations of the platform or of a tenant",
      .examples = "muster invitation list --tenant acme",
      .method = METHOD_GET, .path = INVITATIONS, .answer = &invitation_list_shape, .list = "invitations",
      .columns = COLUMNS({ "LINK ID", .cell = "{link_id}" }, { "EMAIL", .cell = "{email}" }, { "ROLE", .cell = "{role}" }, { "IN TENANTS", .cell = "{tenants*{slug}:{role} }" },
                         { "INVITED BY", .cell = "{made_by}" }, { "EXPIRES", .cell = "{expires_at}" }) },
    { "invitation", "delete", .args = { { "link_id", OPTION_NAME, "LINK_ID", .help = "id of the invitation, as `invitation list` shows it" } },
      .options = OPTIONS({ "tenant", OPTION_TENANT, .help = "tenant of the invitation; without it one of the platform" }),
      .help = "revoke an invitation: its link stops working at once",
      .examples = "muster invitation delete lnk_8sYt0KcPq2mWx4Zb --tenant acme",
      .method = METHOD_DELETE, .path = INVITATIONS "/{link_id}",
      .line = "invitation '{link_id}' revoked" },
    { 0 },
};
/* clang-format on */
