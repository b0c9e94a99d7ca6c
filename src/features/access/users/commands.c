/* commands.c - users and their roles, on the command line. */
#include <stdio.h>

#include "base/datetime.h"
#include "cli/ask.h"
#include "cli/ask_password.h"
#include "cli/command.h"
#include "cli/print.h"
#include "features/access/users/shapes.h"

#define USERS "/api/v1/platform/users"

/* The row of a user among all; NULL: there is none. */
static int find_user(struct invocation *in, const char *email, bool *ret, struct error *err)
{
    const struct client_request request = { METHOD_GET, STR_LIT(USERS), STR_NULL };
    struct str wanted = user_email_normal(str_of(email), &in->arena);
    const struct user *users;
    struct client_reply reply;
    struct user_list list;

    if (ask_send(in, &request, &reply, err) != 0 ||
        command_read(&reply, &user_list_shape, &in->arena, &list, err) != 0)
        return -1;
    users = list.users.items;
    *ret = false;
    for (size_t i = 0; i < list.users.n; i++)
        *ret |= str_eq(users[i].email, wanted);
    return 0;
}

/* The place of `name` in a list that ends in NULL. ERR_INVALID. */
static int read_role(const char *name, const char *const *names, const char *what, int *ret,
                     struct error *err)
{
    for (int i = 0; name != NULL && names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0) {
            *ret = i;
            return 0;
        }
    return err_set(err, ERR_INVALID, "--role: %s", what);
}

static int add_to_platform(struct invocation *in, struct client_request *request, struct error *err)
{
    static const char *const roles[] = { "platform_admin", NULL };
    struct user_create create = { .email = str_of(in->names[0]) };

    if (read_role(command_flag(in, "role"), roles,
                  "platform_admin is expected, or --tenant SLUG with admin or member", &create.role,
                  err) != 0 ||
        ask_password(in, &create.password, err) != 0)
        return -1;
    request->path = STR_LIT(USERS);
    request->body = ask_body(in, &user_create_shape, &create);
    return 0;
}

/* A user who is there keeps their password: none is asked for. */
static int add_to_tenant(struct invocation *in, struct client_request *request, struct error *err)
{
    struct tenant_user_create create = { .email = str_of(in->names[0]) };
    bool exists;

    if (read_role(command_flag(in, "role"), tenant_role_names, "admin or member is expected",
                  &create.role, err) != 0 ||
        ask_tenant_path(in, command_flag(in, "tenant"), "/users", &request->path, err) != 0 ||
        find_user(in, in->names[0], &exists, err) != 0 ||
        (!exists && ask_password(in, &create.password, err) != 0))
        return -1;
    request->body = ask_body(in, &tenant_user_create_shape, &create);
    return 0;
}

int run_user_add(struct invocation *in)
{
    struct client_request request = { .method = METHOD_POST };
    bool in_tenant = command_flag(in, "tenant") != NULL;
    struct tenant_user_added added = { .created = true };
    struct client_reply reply;
    struct error err = { 0 };

    if ((in_tenant ? add_to_tenant : add_to_platform)(in, &request, &err) != 0 ||
        ask_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (in_tenant && command_read(&reply, &tenant_user_added_shape, &in->arena, &added, &err) != 0)
        return command_fail(&err);
    (void)printf("user '%s' is %s%s\n", in->names[0], command_flag(in, "role"),
                 added.created ? "" : "; they were there already, with the password they have");
    return EXIT_DONE;
}

static void print_last(int64_t last_login_at)
{
    char text[DATETIME_TEXT_MAX];

    if (last_login_at == TIME_NULL)
        (void)printf(" never logged in\n");
    else
        (void)printf(" last logged in %s\n", datetime_format(last_login_at, text).data);
}

static void print_user(const struct user *user)
{
    const struct tenant_membership *tenants = user->tenants.items;

    say(stdout, "%-32.*s %-14.*s", STR_ARG(user->email), STR_ARG(user->role));
    for (size_t i = 0; i < user->tenants.n; i++)
        (void)printf(" %.*s:%.*s", STR_ARG(tenants[i].slug), STR_ARG(tenants[i].role));
    print_last(user->last_login_at);
}

static int list_tenant(struct invocation *in, const struct client_reply *reply, struct error *err)
{
    const struct tenant_user *users;
    struct tenant_user_list list;

    if (command_read(reply, &tenant_user_list_shape, &in->arena, &list, err) != 0)
        return -1;
    users = list.users.items;
    for (size_t i = 0; i < list.users.n; i++) {
        say(stdout, "%-32.*s %-14.*s", STR_ARG(users[i].email), STR_ARG(users[i].role));
        print_last(users[i].last_login_at);
    }
    return 0;
}

static int list_all(struct invocation *in, const struct client_reply *reply, struct error *err)
{
    const struct user *users;
    struct user_list list;

    if (command_read(reply, &user_list_shape, &in->arena, &list, err) != 0)
        return -1;
    users = list.users.items;
    for (size_t i = 0; i < list.users.n; i++)
        print_user(&users[i]);
    return 0;
}

int run_user_list(struct invocation *in)
{
    struct client_request request = { METHOD_GET, STR_LIT(USERS), STR_NULL };
    const char *slug = command_flag(in, "tenant");
    struct client_reply reply;
    struct error err = { 0 };

    if ((slug != NULL && ask_tenant_path(in, slug, "/users", &request.path, &err) != 0) ||
        ask_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if ((slug != NULL ? list_tenant : list_all)(in, &reply, &err) != 0)
        return command_fail(&err);
    return EXIT_DONE;
}

int run_user_passwd(struct invocation *in)
{
    struct user_patch patch = { .role = -1 };
    struct client_request request = { .method = METHOD_PATCH };
    struct client_reply reply;
    struct error err = { 0 };

    if (ask_password(in, &patch.password, &err) != 0)
        return command_fail(&err);
    request.path = arena_printf(&in->arena, USERS "/%s", ask_segment(in, in->names[0]));
    request.body = ask_body(in, &user_patch_shape, &patch);
    if (ask_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    (void)printf("the password of '%s' is set; their sessions are over\n", in->names[0]);
    return EXIT_DONE;
}

int run_user_rm(struct invocation *in)
{
    const char *slug = command_flag(in, "tenant"), *email = ask_segment(in, in->names[0]);
    struct client_request request = { .method = METHOD_DELETE };
    struct client_reply reply;
    struct error err = { 0 };

    request.path = arena_printf(&in->arena, USERS "/%s", email);
    if ((slug != NULL &&
         ask_tenant_path(in, slug, arena_printf(&in->arena, "/users/%s", email).data, &request.path,
                         &err) != 0) ||
        ask_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (slug != NULL)
        (void)printf("'%s' has no role in tenant '%s' any more\n", in->names[0], slug);
    else
        (void)printf("user '%s' is removed\n", in->names[0]);
    return EXIT_DONE;
}
