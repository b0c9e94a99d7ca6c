/* login_commands.c - signing in for the commands of this machine, and out again.
 *
 * A sign-in opens a session as the portal does, creates a personal access token with it and ends
 * the session. What stays is the token, in the file of cli/client.h and never on a terminal.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/print.h"
#include "cli/prompt.h"
#include "cli/request.h"
#include "cli/template.h"
#include "features/users/routes.h"
#include "features/users/shapes.h"
#include "shape/table.h"

enum { DAYS_INITIAL = 30, HOST_NAME_BYTES = 65 };

struct login_answer {
    struct str server, user, token_id, role;
    int64_t expires_at;
};

/* clang-format off */
STATIC_SHAPE(login_answer, "Login", (),
    STR(server,      .flags = F_REQUIRED),
    STR(user,        .flags = F_REQUIRED),
    STR(token_id,    .flags = F_REQUIRED),
    STR(role,        .flags = F_REQUIRED),
    TIME(expires_at, .flags = F_REQUIRED));
/* clang-format on */

/* Sends a request without a struct client, which would need a token: there is none before the
 * sign-in. */
static int send_to(struct invocation *in, const struct remote *to,
                   const struct client_request *request, struct client_reply *ret,
                   struct error *err)
{
    if (remote_call(to, request, NULL, &in->arena, ret, err) != 0)
        return -1;
    return request_check(ret, &in->arena, err);
}

/* What was given, or what a person types at the terminal. */
static int given_or_asked(struct invocation *in, const char *given, const char *option,
                          const char *question, struct str *ret, struct error *err)
{
    *ret = given == NULL || given[0] == '\0' ? STR_NULL : str_of(given);
    return str_is_null(*ret) ? prompt_terminal(question, option, &in->arena, ret, err) : 0;
}

/* Signs in; when the user has a second factor and no code was given, asks for it and tries again.
 */
static int send_sign_in(struct invocation *in, const struct remote *to, struct sign_in *body,
                        struct client_reply *ret, struct error *err)
{
    enum { UNPROCESSABLE = 422 };
    struct client_request request = { METHOD_POST, STR_LIT("/api/v1/auth/login"),
                                      request_body(in, &sign_in_shape, body) };

    if (send_to(in, to, &request, ret, err) == 0)
        return 0;
    if (ret->status != UNPROCESSABLE || !str_is_null(body->code) ||
        prompt_terminal("Code of your authenticator app", "code", &in->arena, &body->code, NULL) !=
            0)
        return -1;
    request.body = request_body(in, &sign_in_shape, body);
    return send_to(in, to, &request, ret, err);
}

/* From here on *to sends the session's cookie. */
static int open_session(struct invocation *in, struct remote *to, struct session_answer *ret,
                        struct error *err)
{
    const char *code = command_value(in, "code");
    struct sign_in body = { .code = code == NULL ? STR_NULL : str_of(code) };
    struct client_reply reply = { 0 };

    if (given_or_asked(in, command_value(in, "user"), "user", "E-mail", &body.email, err) != 0 ||
        prompt_password(command_value(in, "password-stdin") != NULL, false, &in->arena,
                        &body.password, err) != 0)
        return -1;
    if (send_sign_in(in, to, &body, &reply, err) != 0 ||
        request_read(&reply, &session_answer_shape, &in->arena, ret, err) != 0)
        return -1;
    if (str_is_null(reply.cookie))
        return err_set(err, ERR_INTERNAL, "the service at '%s' opened no session", to->server);
    to->cookie = reply.cookie;
    to->csrf_token = ret->csrf_token;
    return 0;
}

static void end_session(struct invocation *in, const struct remote *to)
{
    const struct client_request request = { METHOD_POST, STR_LIT("/api/v1/auth/logout"), STR_NULL };
    struct client_reply reply;

    if (!str_is_null(to->cookie)) /* it would expire by itself */
        (void)send_to(in, to, &request, &reply, NULL);
}

/* Without --role the token allows what the user may do. */
static int token_role(const struct invocation *in, const struct session_answer *session)
{
    const char *given = command_value(in, "role");

    for (int role = 0; given != NULL && token_role_names[role] != NULL; role++)
        if (str_eq_c(str_of(given), token_role_names[role]))
            return role;
    return str_is_null(session->role) ? TOKEN_ROLE_ADMIN : TOKEN_ROLE_PLATFORM_ADMIN;
}

static const char *token_name(struct invocation *in)
{
    const char *given = command_value(in, "name");
    char host[HOST_NAME_BYTES] = "";

    if (given != NULL)
        return given;
    if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0')
        return "muster login";
    return arena_printf(&in->arena, "muster login on %s", host).data;
}

static int create_token(struct invocation *in, const struct remote *to,
                        const struct session_answer *session, struct personal_created *ret,
                        struct error *err)
{
    const char *days = command_value(in, "expires-in-days");
    const struct personal_create body = {
        .name = str_of(token_name(in)),
        .role = token_role(in, session),
        .expires_in_days = days == NULL ? DAYS_INITIAL : strtol(days, NULL, 10),
    };
    const struct client_request request = { METHOD_POST, STR_LIT("/api/v1/auth/tokens"),
                                            request_body(in, &personal_create_shape, &body) };
    struct client_reply reply;

    if (send_to(in, to, &request, &reply, err) != 0)
        return -1;
    return request_read(&reply, &personal_created_shape, &in->arena, ret, err);
}

/* Deletes the token on the service: as itself, or with a session. */
static int delete_token(struct invocation *in, const struct remote *to, const char *token_id,
                        struct client_reply *reply, struct error *err)
{
    const struct client_request request = {
        METHOD_DELETE, arena_printf(&in->arena, "/api/v1/auth/tokens/%s", token_id), STR_NULL
    };

    return send_to(in, to, &request, reply, err);
}

/* The login that this one replaces leaves no token behind, if its service can be reached. */
static void end_replaced(struct invocation *in, const struct login *old)
{
    const struct remote to = login_remote(old);
    struct client_reply reply = { 0 };
    struct error err = { 0 };

    if (delete_token(in, &to, old->token_id, &reply, &err) != 0 && reply.status != 401)
        say(stderr, "muster: token '%s' of the login before, at %s, is not deleted: %s\n",
            old->token_id, old->server, err.text);
}

/* The path stays right wherever a command runs; NULL: the system's authorities. */
static int absolute_ca(struct invocation *in, const char **ret, struct error *err)
{
    const char *given = in->settings.server_ca;
    char path[PATH_MAX];

    *ret = NULL;
    if (given[0] == '\0')
        return 0;
    if (realpath(given, path) == NULL)
        return err_set(err, ERR_INVALID, "server_ca: cannot find '%s'", given);
    *ret = arena_cstr(&in->arena, str_of(path));
    return 0;
}

static int find_server(struct invocation *in, struct remote *ret, struct error *err)
{
    struct str url;

    if (login_file_path(&in->arena) == NULL)
        return err_set(err, ERR_INVALID, "HOME is not set, so there is no place for the login");
    if (given_or_asked(in, in->settings.server, "server", "Server (https://…)", &url, err) != 0 ||
        remote_url(url, &in->arena, &ret->server, err) != 0)
        return -1;
    return absolute_ca(in, &ret->ca, err);
}

/* Creates the token and stores it, or leaves neither behind. */
static int keep_token(struct invocation *in, const struct remote *to,
                      const struct session_answer *session, struct personal_created *ret,
                      struct error *err)
{
    struct client_reply reply;
    struct login login;

    if (create_token(in, to, session, ret, err) != 0)
        return -1;
    login = (struct login){ .server = to->server,
                            .server_ca = to->ca == NULL ? "" : to->ca,
                            .user = arena_cstr(&in->arena, session->email),
                            .token_id = arena_cstr(&in->arena, ret->token_id),
                            .token = arena_cstr(&in->arena, ret->token) };
    if (login_file_write(&login, &in->arena, err) == 0)
        return 0;
    (void)delete_token(in, to, login.token_id, &reply, NULL);
    return -1;
}

static void say_login(struct invocation *in, const struct remote *to,
                      const struct session_answer *session, const struct personal_created *token)
{
    const struct login_answer answer = { str_of(to->server), session->email, token->token_id,
                                         token->role, token->expires_at };
    struct str json;

    if (in->json) {
        json = request_body(in, &login_answer_shape, &answer);
        (void)printf("%.*s\n", STR_ARG(json));
    } else {
        template_print(in, &login_answer_shape, &answer,
                       "signed in to {server} as {user}, with role {role}, until {expires_at}");
    }
}

static int login_run(struct invocation *in)
{
    struct personal_created token;
    struct session_answer session;
    struct login old = { 0 };
    struct remote to = { 0 };
    struct error err = { 0 };
    bool replaces = false;
    int r = -1;

    if (find_server(in, &to, &err) != 0)
        return command_fail(&err);
    if (login_file_read(&in->arena, &old, &replaces, NULL) != 0)
        replaces = false; /* one that cannot be read is overwritten */
    if (open_session(in, &to, &session, &err) == 0)
        r = keep_token(in, &to, &session, &token, &err);
    end_session(in, &to);
    if (r != 0)
        return command_fail(&err);
    if (replaces)
        end_replaced(in, &old);
    say_login(in, &to, &session, &token);
    return EXIT_DONE;
}

static int logout_run(struct invocation *in)
{
    struct client_reply reply = { 0 };
    struct error err = { 0 };
    struct login login;
    struct remote to;
    bool found;

    if (login_file_read(&in->arena, &login, &found, &err) != 0)
        return command_fail(&err);
    if (!found) {
        (void)err_set(&err, ERR_NOT_FOUND, "not signed in; `muster login` signs in");
        return command_fail(&err);
    }
    to = login_remote(&login);
    /* 401: it has expired, or was deleted elsewhere */
    if (delete_token(in, &to, login.token_id, &reply, &err) != 0 && reply.status != 401) {
        (void)err_wrap(&err, "the token is not deleted, and you stay signed in");
        return command_fail(&err);
    }
    if (login_file_delete(&in->arena, &err) != 0)
        return command_fail(&err);
    if (in->json)
        (void)puts("{\"status\":\"ok\"}");
    else
        say(stdout, "signed out of %s; the token is deleted\n", login.server);
    return EXIT_DONE;
}

/* clang-format off */
const struct command login_commands[] = {
    { "login", NULL,
      .options = OPTIONS({ "user", OPTION_NAME, "EMAIL", .help = "e-mail address to sign in with; without it the command asks" },
                         { "password-stdin", OPTION_FLAG, .help = "read the password from standard input instead of the terminal" },
                         { "code", OPTION_NAME, "CODE", .help = "code of your second factor, or a recovery code; without it the command asks if one is needed" },
                         { "name", OPTION_NAME, "NAME", .help = "name of the token; default: names this machine" },
                         { "role", OPTION_WORD, "platform_admin|admin|member", .help = "what commands may do at most; default: what the user may" },
                         { "expires-in-days", OPTION_NUMBER, "DAYS", .help = "days until a new login is needed, up to 366; default: 30" }),
      .help = "sign in to a service, so that commands on this machine reach it; asks for server, e-mail and password",
      .examples = "muster login --server https://muster.example.com\n"
                  "muster login --server https://muster.example.com --user ada@example.com --password-stdin < file",
      .run = login_run },
    { "logout", NULL,
      .help = "delete the token of `muster login`, on the service and on this machine",
      .examples = "muster logout",
      .run = logout_run },
    { 0 },
};
/* clang-format on */
