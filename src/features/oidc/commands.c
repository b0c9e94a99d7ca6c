/* commands.c - groups and identities of the identity provider, on the command line. */
#include "features/oidc/routes.h"
#include "features/oidc/shapes.h"

#define GROUPS     "/api/v1/platform/oidc/groups"
#define IDENTITIES "/api/v1/platform/users/{email}/identities"
#define EMAIL_ARG  { "email", OPTION_NAME, "EMAIL", .help = "e-mail address of the user" }

/* clang-format off */
const struct command oidc_commands[] = {
    { "group", "add", .args = { { "group", OPTION_NAME, "GROUP", .help = "name of the group, exactly as the identity provider sends it" } },
      .options = OPTIONS({ "role", OPTION_WORD, "platform_admin|admin|member", .required = true, .help = "platform_admin, or with --tenant admin or member" },
                         { "tenant", OPTION_TENANT, .help = "tenant in which people in the group get the role" }),
      .help = "give a group of the identity provider a role, from each person's next sign-in on",
      .examples = "muster group add acme-operators --tenant acme --role admin",
      .method = METHOD_POST, .path = GROUPS, .body = &oidc_group_create_shape,
      .answer = &oidc_group_shape, .line = "group '{group}' has the role {role}{tenant? in tenant '{tenant}'} ({group_id})" },
    { "group", "list",
      .help = "list the groups of the identity provider that give a role",
      .examples = "muster group list",
      .method = METHOD_GET, .path = GROUPS, .answer = &oidc_group_list_shape, .list = "groups",
      .columns = COLUMNS({ "GROUP ID", .cell = "{group_id}" }, { "GROUP", .cell = "{group}" }, { "ROLE", .cell = "{role}" }, { "TENANT", .cell = "{tenant}" }, { "CREATED", .cell = "{created_at}" }) },
    { "group", "delete", .args = { { "group_id", OPTION_NAME, "GROUP_ID", .help = "id of the row, as `group list` shows it" } },
      .help = "take the role from a group, from each person's next sign-in on",
      .examples = "muster group delete grp_8sYt0KcPq2mWx4Zb",
      .method = METHOD_DELETE, .path = GROUPS "/{group_id}", .line = "group '{group_id}' deleted" },
    { "identity", "add", .args = { EMAIL_ARG, { "subject", OPTION_NAME, "SUBJECT", .help = "subject (sub) of the person at the identity provider" } },
      .help = "link a user to a person at the identity provider, who then signs in as this user",
      .examples = "muster identity add ada@example.com 248289761001",
      .method = METHOD_POST, .path = IDENTITIES, .body = &identity_create_shape,
      .line = "'{email}' signs in by the identity provider as '{subject}'" },
    { "identity", "list", .args = { EMAIL_ARG },
      .help = "show who a user is at the identity provider",
      .examples = "muster identity list ada@example.com",
      .method = METHOD_GET, .path = IDENTITIES, .answer = &identity_list_shape, .list = "identities",
      .columns = COLUMNS({ "ISSUER", .cell = "{issuer}" }, { "SUBJECT", .cell = "{subject}" }, { "CREATED", .cell = "{created_at}" }, { "LAST SIGN-IN", .cell = "{last_login_at}" }) },
    { "identity", "delete", .args = { EMAIL_ARG },
      .help = "unlink a user from the identity provider",
      .examples = "muster identity delete ada@example.com",
      .method = METHOD_DELETE, .path = IDENTITIES, .line = "'{email}' is not linked to the identity provider any longer" },
    { 0 },
};
/* clang-format on */
