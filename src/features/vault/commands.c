/* commands.c - secrets and their vault on the command line. */
#include <stdio.h>

#include "base/datetime.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/prompt.h"
#include "features/vault/shapes.h"
#include "shape/utf8.h"

static int send(struct invocation *in, struct client_request *request, const char *name,
                struct client_reply *ret, struct error *err)
{
    struct str rest = name == NULL ? STR_LIT("/secrets")
                                   : arena_printf(&in->arena, "/secrets/%s", ask_segment(in, name));

    if (ask_tenant_path(in, command_flag(in, "tenant"), rest.data, &request->path, err) != 0)
        return -1;
    return ask_send(in, request, ret, err);
}

/* What is wrong with the command line is said before anybody types a secret. */
static int check_names(struct invocation *in, struct error *err)
{
    struct str path;

    if (!secret_is_name(str_of(in->names[0])))
        return err_set(err, ERR_INVALID,
                       "'%s' is no name for a secret: letters, digits, '_', '.' and '-'",
                       in->names[0]);
    if (command_flag(in, "shared") != NULL && command_flag(in, "not-shared") != NULL)
        return err_set(err, ERR_INVALID, "--shared and --not-shared exclude each other");
    return ask_tenant_path(in, command_flag(in, "tenant"), "", &path, err);
}

int run_secret_set(struct invocation *in)
{
    struct client_request request = { .method = METHOD_PUT };
    bool shared = command_flag(in, "shared") != NULL;
    struct secret_set set = {
        .shared = { shared || command_flag(in, "not-shared") != NULL, shared },
    };
    struct client_reply reply;
    struct secret secret;
    struct error err = { 0 };

    if (check_names(in, &err) != 0 ||
        prompt_secret("Value", SECRET_MAX_BYTES, &in->arena, &set.value, &err) != 0)
        return command_fail(&err);
    if (utf8_valid_len(set.value) < set.value.len ||
        memchr(set.value.data, '\0', set.value.len) != NULL) {
        err_set(&err, ERR_FORBIDDEN, "the value is no text in UTF-8; encode it, as in base64");
        return command_fail(&err);
    }
    request.body = ask_body(in, &secret_set_shape, &set);
    if (send(in, &request, in->names[0], &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &secret_shape, &in->arena, &secret, &err) != 0)
        return command_fail(&err);
    (void)printf("secret '%s' is set, version %lld%s\n", in->names[0], (long long)secret.version,
                 secret.shared ? ", shared" : "");
    return EXIT_DONE;
}

int run_secret_list(struct invocation *in)
{
    struct client_request request = { .method = METHOD_GET };
    char at[DATETIME_TEXT_MAX];
    const struct secret *secrets;
    struct client_reply reply;
    struct secret_list list;
    struct error err = { 0 };

    if (send(in, &request, NULL, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &secret_list_shape, &in->arena, &list, &err) != 0)
        return command_fail(&err);
    secrets = list.secrets.items;
    for (size_t i = 0; i < list.secrets.n; i++)
        (void)printf("%-32.*s %-6s version %-4lld set %.*s\n", STR_ARG(secrets[i].name),
                     secrets[i].shared ? "shared" : "", (long long)secrets[i].version,
                     STR_ARG(datetime_format(secrets[i].updated_at, at)));
    return EXIT_DONE;
}

int run_secret_rm(struct invocation *in)
{
    struct client_request request = { .method = METHOD_DELETE };
    struct client_reply reply;
    struct error err = { 0 };

    if (check_names(in, &err) != 0 || send(in, &request, in->names[0], &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    (void)printf("secret '%s' is removed\n", in->names[0]);
    return EXIT_DONE;
}

int run_vault_rotate(struct invocation *in)
{
    const struct client_request request = { METHOD_POST, STR_LIT("/api/v1/platform/vault/rotate"),
                                            STR_NULL };
    struct vault_rotated rotated;
    struct client_reply reply;
    struct error err = { 0 };

    if (ask_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &vault_rotated_shape, &in->arena, &rotated, &err) != 0)
        return command_fail(&err);
    (void)printf("there is a new master key: back up its file; data keys wrapped with it: %lld\n",
                 (long long)rotated.data_keys);
    if (!rotated.old_key_removed)
        (void)fputs("the old key is still in the file; the next start takes it out\n", stdout);
    return EXIT_DONE;
}
