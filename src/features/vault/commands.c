/* commands.c - secrets and their vault on the command line. */
#include "features/vault/shapes.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/prompt.h"
#include "cli/request.h"

/* Checks the options before the secret is typed. */
static int check_options(struct invocation *in, struct error *err)
{
    const char *name = command_value(in, "name");

    if (!secret_is_name(str_of(name)))
        return err_set(err, ERR_INVALID,
                       "'%s' is not a name for a secret: use letters, digits, '_', '.' and '-'",
                       name);
    if (command_value(in, "shared") != NULL && command_value(in, "not-shared") != NULL)
        return err_set(err, ERR_INVALID, "--shared and --not-shared exclude each other");
    return 0;
}

static int secret_set_bind(struct invocation *in, struct str *ret, struct error *err)
{
    bool shared = command_value(in, "shared") != NULL;
    struct secret_set set = {
        .shared = { shared || command_value(in, "not-shared") != NULL, shared },
    };

    if (check_options(in, err) != 0 ||
        prompt_input("Value", true, SECRET_MAX_BYTES, &in->arena, &set.value, err) != 0)
        return -1;
    if (utf8_valid_len(set.value) < set.value.len ||
        memchr(set.value.data, '\0', set.value.len) != NULL)
        return err_set(err, ERR_FORBIDDEN, "the value is not UTF-8 text; encode it, as in base64");
    *ret = request_body(in, &secret_set_shape, &set);
    return 0;
}

/* Sends nothing: only the name is checked. */
static int secret_delete_bind(struct invocation *in, struct str *ret, struct error *err)
{
    *ret = STR_NULL;
    return check_options(in, err);
}

/* One request per step, so that none takes long. */
static int rotate_data_keys_run(struct invocation *in)
{
    struct data_keys_rotated step = { .next = { true, 0 } };
    struct data_keys_rotated sum = { 0 };
    struct str path = request_path(in);
    struct client_request request = { .method = METHOD_POST };
    struct client_reply reply;
    struct error err = { 0 };

    while (step.next.has) {
        if (step.wait_s > 0)
            (void)sleep((unsigned)step.wait_s);
        request.path =
            arena_printf(&in->arena, "%.*s?after=%lld", STR_ARG(path), (long long)step.next.value);
        if (request_send(in, &request, &reply, &err) != 0 ||
            request_read(&reply, &data_keys_rotated_shape, &in->arena, &step, &err) != 0)
            return command_fail(&err);
        sum.created += step.created;
        sum.re_encrypted += step.re_encrypted;
        sum.destroyed += step.destroyed;
    }
    (void)printf(in->json ? "{\"created\":%lld,\"re_encrypted\":%lld,\"destroyed\":%lld}\n"
                          : "%lld data keys created, %lld secrets re-encrypted, %lld old data keys "
                            "destroyed\n",
                 (long long)sum.created, (long long)sum.re_encrypted, (long long)sum.destroyed);
    return EXIT_DONE;
}

#define SECRETS    "/api/v1/tenants/{tenant}/secrets"
#define SECRET_ARG { "name", OPTION_NAME, "NAME", .help = "name of the secret" }

/* clang-format off */
const struct command vault_commands[] = {
    { "secret", "set", .args = { SECRET_ARG },
      .options = OPTIONS(TENANT_OPTION,
                         { "shared", OPTION_FLAG, .help = "let workspace-wide values refer to it" },
                         { "not-shared", OPTION_FLAG, .help = "let only values of agents refer to it" }),
      .help = "set a secret; its value is read from standard input, or asked for",
      .examples = "muster secret set CRM_TOKEN --tenant acme < token.txt",
      .method = METHOD_PUT, .path = SECRETS "/{name}", .bind = secret_set_bind,
      .answer = &secret_shape, .line = "secret '{name}' set, version {version}{shared?, shared}" },
    { "secret", "list", .options = OPTIONS(TENANT_OPTION),
      .help = "list a tenant's secrets, without their values",
      .examples = "muster secret list --tenant acme",
      .method = METHOD_GET, .path = SECRETS, .answer = &secret_list_shape, .list = "secrets",
      .columns = COLUMNS({ "NAME", .cell = "{name}" }, { "SHARED", .cell = "{shared?yes|no}" }, { "VERSION", .cell = "{version}" }, { "SET", .cell = "{updated_at}" }) },
    { "secret", "delete", .args = { SECRET_ARG }, .options = OPTIONS(TENANT_OPTION),
      .help = "delete a secret",
      .examples = "muster secret delete CRM_TOKEN --tenant acme",
      .method = METHOD_DELETE, .path = SECRETS "/{name}", .bind = secret_delete_bind,
      .line = "secret '{name}' deleted" },
    { "vault", "rotate",
      .help = "replace the master key without downtime",
      .examples = "muster vault rotate",
      .method = METHOD_POST, .path = "/api/v1/platform/vault/rotate", .answer = &vault_rotated_shape,
      .line = "new master key in use, data keys re-encrypted: {data_keys}; back up its file"
              "{old_key_removed?|\nthe old key is still in the file; the next start removes it}" },
    { "vault", "rotate-data-keys",
      .help = "replace the data keys without downtime and re-encrypt all secrets",
      .examples = "muster vault rotate-data-keys",
      .path = "/api/v1/platform/vault/data-keys/rotate", .run = rotate_data_keys_run },
    { 0 },
};
/* clang-format on */
