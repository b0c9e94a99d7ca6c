/* commands.c - users and their roles, on the command line. */
#include <stdio.h>
#include <string.h>

#include "cli/print.h"
#include "cli/prompt.h"
#include "cli/request.h"
#include "cli/template.h"
#include "features/users/links/links.h"
#include "features/users/routes.h"
#include "features/users/shapes.h"

#define USERS       "/api/v1/platform/users"
#define THOSE_USERS "/api/v1/{tenant?tenants/{tenant}|platform}/users"
#define TOKENS      "/api/v1/platform/users/{user}/tokens"
#define SESSIONS    "/api/v1/platform/users/{user}/sessions"
#define USER_OPTION                                                                                \
    { "user", OPTION_NAME, "EMAIL", .required = true, .help = "e-mail address of the user" }
#define EMAIL_ARG { "email", OPTION_NAME, "EMAIL", .help = "e-mail address of the user" }
#define PASSWORD_OPTION                                                                            \
    { "password-stdin", OPTION_FLAG, .field = "",                                                  \
      .help = "read the password from standard input instead of the terminal" }

/* The user with that e-mail address, or NULL. */
static int find_user(struct invocation *in, const struct user **ret, struct error *err)
{
    struct str wanted = user_email_normal(str_of(command_value(in, "email")), &in->arena);
    const struct user *users;
    struct listing answer;

    if (request_get(in, USERS, &user_list_shape, &answer, err) != 0)
        return -1;
    users = answer.list.items;
    *ret = NULL;
    for (size_t i = 0; i < answer.list.n; i++)
        if (str_eq(users[i].email, wanted))
            *ret = &users[i];
    return 0;
}

/* Asks for the password and adds it to the body. */
static int add_password(struct invocation *in, struct error *err)
{
    static const struct option option = { .name = "password" };
    struct str password;

    if (prompt_password(command_value(in, "password-stdin") != NULL, true, &in->arena, &password,
                        err) != 0)
        return -1;
    in->given[in->n_given++] = (struct given){ &option, arena_cstr(&in->arena, password) };
    return 0;
}

/* An existing user keeps the password, so none is asked for. */
static int user_add_bind(struct invocation *in, struct str *ret, struct error *err)
{
    const bool in_tenant = command_value(in, "tenant") != NULL;
    const struct user *user = NULL;

    if (in_tenant == (strcmp(command_value(in, "role"), "platform_admin") == 0))
        return err_set(err, ERR_INVALID,
                       "--role is platform_admin without --tenant, and admin or member with it");
    if (in_tenant && find_user(in, &user, err) != 0)
        return -1;
    request_hang_up(in); /* typing the password may take long */
    if (user == NULL && add_password(in, err) != 0)
        return -1;
    *ret = request_bind(in, in_tenant ? &tenant_user_create_shape : &user_create_shape);
    return 0;
}

/* Nothing ends for a user who was confirmed before, which the answer does not tell. */
static int user_confirm_run(struct invocation *in)
{
    const struct user *user = NULL;
    struct client_request request;
    struct client_reply reply;
    struct error err = { 0 };

    if (request_make(in, &request, &err) != 0 || find_user(in, &user, &err) != 0 ||
        request_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        (void)printf("%.*s\n", STR_ARG(reply.body));
    else if (user != NULL && user->email_confirmed)
        say(stdout, "user '%s' was confirmed already; nothing has changed\n",
            command_value(in, "email"));
    else
        say(stdout,
            "user '%s' confirmed; the password, second factor, sessions and tokens of the account "
            "have ended: give the person a reset link (muster user reset-link %s)\n",
            command_value(in, "email"), command_value(in, "email"));
    return EXIT_DONE;
}

static int user_passwd_bind(struct invocation *in, struct str *ret, struct error *err)
{
    if (add_password(in, err) != 0)
        return -1;
    *ret = request_bind(in, &user_patch_shape);
    return 0;
}

static int user_set_bind(struct invocation *in, struct str *ret, struct error *err)
{
    const bool in_tenant = command_value(in, "tenant") != NULL;
    const char *role = command_value(in, "role");

    if (in_tenant == (strcmp(role, "platform_admin") == 0 || strcmp(role, "none") == 0))
        return err_set(err, ERR_INVALID,
                       "--role is platform_admin or none without --tenant, and admin or member "
                       "with it");
    *ret = request_bind(in, in_tenant ? &tenant_user_patch_shape : &user_patch_shape);
    return 0;
}

/* The answers for a tenant's users and for all users differ, but not in the printed fields. */
static const struct shape *user_add_answer(const struct invocation *in)
{
    return command_value(in, "tenant") != NULL ? &tenant_user_added_shape : &user_shape;
}

static const struct shape *user_list_answer(const struct invocation *in)
{
    return command_value(in, "tenant") != NULL ? &tenant_user_list_shape : &user_list_shape;
}

/* clang-format off */
const struct command user_commands[] = {
    { "user", "add", .args = { EMAIL_ARG },
      .options = OPTIONS({ "role", OPTION_WORD, "platform_admin|admin|member", .required = true, .help = "platform_admin, or with --tenant admin or member" },
                         { "tenant", OPTION_TENANT, .help = "tenant in which the user gets the role" },
                         PASSWORD_OPTION),
      .help = "create a user, or give a user a role in a tenant; asks for the password of a new user",
      .examples = "muster user add ada@example.com --role platform_admin\n"
                  "muster user add bob@example.com --tenant acme --role member --password-stdin < file",
      .method = METHOD_POST, .path = THOSE_USERS, .bind = user_add_bind,
      .answer_of = user_add_answer,
      .line = "user '{email}' is {role}{tenant? in tenant '{tenant}'{created?|; the user exists and keeps the password}}" },
    { "user", "set", .args = { EMAIL_ARG },
      .options = OPTIONS({ "role", OPTION_WORD, "platform_admin|none|admin|member", .required = true, .help = "platform_admin or none, or with --tenant admin or member" },
                         { "tenant", OPTION_TENANT, .help = "tenant in which the user has a role" }),
      .help = "change a user's platform role, or the role in a tenant",
      .examples = "muster user set ada@example.com --role platform_admin\n"
                  "muster user set bob@example.com --tenant acme --role admin",
      .method = METHOD_PATCH, .path = THOSE_USERS "/{email}", .bind = user_set_bind,
      .line = "role of '{email}'{tenant? in tenant '{tenant}'}: {role}" },
    { "user", "list",
      .options = OPTIONS({ "tenant", OPTION_TENANT, .help = "only users with a role in this tenant" }),
      .help = "list all users, or a tenant's",
      .examples = "muster user list --tenant acme",
      .method = METHOD_GET, .path = THOSE_USERS, .answer_of = user_list_answer, .list = "users",
      .columns = COLUMNS({ "EMAIL", .cell = "{email}" }, { "ROLE", .cell = "{role}" }, { "IN TENANTS", .cell = "{tenants*{slug}:{role} }" },
                         { "LAST SIGNED IN", .cell = "{last_login_at?{last_login_at}|never}" },
                         { "CONFIRMED", .cell = "{email_confirmed?yes|no}" }) },
    { "user", "passwd", .args = { EMAIL_ARG }, .options = OPTIONS(PASSWORD_OPTION),
      .help = "set a user's password and end the user's sessions",
      .examples = "muster user passwd ada@example.com",
      .method = METHOD_PATCH, .path = USERS "/{email}", .bind = user_passwd_bind,
      .line = "password of '{email}' set; all sessions ended" },
    { "user", "confirm", .args = { EMAIL_ARG },
      .help = "say that an account belongs to the owner of its e-mail address, so that other tenants can give it a role; its password, second factor, sessions and tokens end, so give the person a reset link",
      .examples = "muster user confirm bob@example.com",
      .method = METHOD_PATCH, .path = USERS "/{email}", .body_text = "{\"email_confirmed\":true}",
      .run = user_confirm_run },
    { "user", "delete", .args = { EMAIL_ARG },
      .options = OPTIONS({ "tenant", OPTION_TENANT, .help = "remove only the role in this tenant" }),
      .help = "delete a user, or remove the user's role in a tenant",
      .examples = "muster user delete bob@example.com --tenant acme",
      .method = METHOD_DELETE, .path = THOSE_USERS "/{email}",
      .line = "{tenant?'{email}' no longer has a role in tenant '{tenant}'|user '{email}' deleted}" },
    { "user", "sign-out", .args = { EMAIL_ARG },
      .help = "end all sessions of a user, who has to sign in again",
      .examples = "muster user sign-out bob@example.com",
      .method = METHOD_DELETE, .path = USERS "/{email}/sessions",
      .line = "all sessions of '{email}' ended" },
    { "session", "list", .options = OPTIONS(USER_OPTION),
      .help = "list a user's sessions: when and from where the user signed in",
      .examples = "muster session list --user ada@example.com",
      .method = METHOD_GET, .path = SESSIONS, .answer = &session_list_shape, .list = "sessions",
      .columns = COLUMNS({ "SESSION ID", .cell = "{session_id}" }, { "SIGNED IN", .cell = "{created_at}" }, { "LAST USED", .cell = "{last_used_at~}" },
                         { "ADDRESS", .cell = "{address}" }, { "BROWSER", .cell = "{user_agent}" }) },
    { "session", "delete", .args = { { "session_id", OPTION_NAME, "SESSION_ID", .help = "id of the session, as `session list` shows it" } },
      .options = OPTIONS(USER_OPTION),
      .help = "end one of a user's sessions, at once",
      .examples = "muster session delete ses_8sYt0KcPq2mWx4Zb --user ada@example.com",
      .method = METHOD_DELETE, .path = SESSIONS "/{session_id}",
      .line = "session '{session_id}' of '{user}' ended" },
    { "token", "add", .args = { { "name", OPTION_NAME, "NAME", .help = "what the token is for" } },
      .options = OPTIONS(USER_OPTION,
                         { "role", OPTION_WORD, "platform_admin|admin|member", .help = "what it allows at most; default: member, which reads, acknowledges and mutes" },
                         { "expires-in-days", OPTION_NUMBER, "DAYS", .help = "days until it stops working, up to 366; default: 90" }),
      .help = "create a personal access token, which acts as the user, and print it; it is shown only once",
      .examples = "muster token add laptop --user ada@example.com --role admin --expires-in-days 30",
      .method = METHOD_POST, .path = TOKENS, .body = &personal_create_shape,
      .answer = &personal_created_shape, .line = "{token}" },
    { "token", "list", .options = OPTIONS(USER_OPTION),
      .help = "list a user's personal access tokens, without the tokens themselves",
      .examples = "muster token list --user ada@example.com",
      .method = METHOD_GET, .path = TOKENS, .answer = &personal_list_shape, .list = "tokens",
      .columns = COLUMNS({ "TOKEN ID", .cell = "{token_id}" }, { "ROLE", .cell = "{role}" }, { "CREATED", .cell = "{created_at}" },
                         { "EXPIRES", .cell = "{expires_at}" }, { "NAME", .cell = "{name}" }) },
    { "token", "delete", .args = { { "token_id", OPTION_NAME, "TOKEN_ID", .help = "id of the token, as `token list` shows it" } },
      .options = OPTIONS(USER_OPTION),
      .help = "delete a user's personal access token, at once",
      .examples = "muster token delete pat_8sYt0KcPq2mWx4Zb --user ada@example.com",
      .method = METHOD_DELETE, .path = TOKENS "/{token_id}",
      .line = "token '{token_id}' of '{user}' deleted" },
    { 0 },
};
/* clang-format on */

#define INVITATIONS "/api/v1/{tenant?tenants/{tenant}|platform}/invitations"
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
