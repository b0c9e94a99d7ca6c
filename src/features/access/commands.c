/* commands.c - tenants and keys on the command line. */
#include "features/access/routes.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/print.h"
#include "cli/prompt.h"
#include "cli/request.h"
#include "features/access/registry.h"
#include "features/access/shapes.h"

static const char *key_state(const void *item)
{
    const struct key *key = item;

    if (key->revoked_at != TIME_NULL)
        return "revoked";
    if (key->expires_at != TIME_NULL && key->expires_at <= clock_wall_us())
        return "expired";
    if (key->rotated_at != TIME_NULL && key->rotated_at + KEY_GRACE_US <= clock_wall_us())
        return "rotated";
    return "valid";
}

static void say_revoked(const void *item)
{
    const struct keys_revoked *answer = item;
    const struct str *ids = answer->revoked.items;

    for (size_t i = 0; i < answer->revoked.n; i++)
        say(stdout, "key '%.*s' revoked\n", STR_ARG(ids[i]));
    if (answer->revoked.n == 0)
        say(stdout, "nothing to revoke: the key was revoked before\n");
}

/* Asks for the slug unless it was given twice. Without a terminal to ask on, the error names the
 * option. */
static int tenant_delete_bind(struct invocation *in, struct str *ret, struct error *err)
{
    struct tenant_confirm confirm = { str_of(command_value(in, "confirm")) };
    const char *slug = command_value(in, "slug");
    const struct str question =
        arena_printf(&in->arena, "This erases all data of '%s'. Type its slug to go on", slug);

    if (str_is_null(confirm.confirm) &&
        prompt_input(question.data, false, SLUG_MAX + 1, &in->arena, &confirm.confirm, err) != 0)
        return isatty(STDIN_FILENO) == 1
                   ? -1
                   : err_set(err, ERR_INVALID,
                             "no terminal to ask whether to erase all data of '%s': use "
                             "--confirm %s",
                             slug, slug);
    if (!str_eq_c(confirm.confirm, slug))
        return err_set(err, ERR_INVALID, "not confirmed: '%.*s' is not '%s'",
                       STR_ARG(confirm.confirm), slug);
    *ret = request_body(in, &tenant_confirm_shape, &confirm);
    return 0;
}

#define TENANTS "/api/v1/tenants"
#define KEYS    TENANTS "/{tenant}/keys"
#define KEY_ARG { "key_id", OPTION_NAME, "KEY_ID", .help = "id of the key, as `key list` shows it" }

#define PLAN_OPTIONS                                                                               \
    { "name", OPTION_TEXT, .help = "name that people see" },                                       \
        { "max-agents", OPTION_NUMBER, .help = "agents that the tenant may have" },                \
        { "rate-limit", OPTION_NUMBER, .help = "requests per minute per key" },                    \
        { "max-bytes", OPTION_AMOUNT, .help = "bytes that stored reports may take; 0: no quota" }

/* clang-format off */
const struct command access_commands[] = {
    { "tenant", "add", .args = { { "slug", OPTION_TEXT, "SLUG", .help = "lower-case words joined by hyphens" } },
      .options = OPTIONS(PLAN_OPTIONS),
      .help = "create a tenant",
      .examples = "muster tenant add acme --name 'Acme Ltd' --max-agents 20",
      .method = METHOD_POST, .path = TENANTS, .body = &tenant_create_shape,
      .line = "tenant '{slug}' created" },
    { "tenant", "set", .args = { { "slug", OPTION_TENANT, "SLUG", .help = "slug of the tenant" } },
      .options = OPTIONS(PLAN_OPTIONS),
      .help = "change a tenant's name and plan",
      .examples = "muster tenant set acme --rate-limit 600",
      .method = METHOD_PATCH, .path = TENANTS "/{slug}", .body = &tenant_patch_shape, .needs_change = true,
      .line = "tenant '{slug}' changed" },
    { "tenant", "delete", .args = { { "slug", OPTION_TENANT, "SLUG", .help = "slug of the tenant" } },
      .options = OPTIONS({ "confirm", OPTION_TENANT, "SLUG", .help = "the slug once more, for scripts; without it you are asked to type it" }),
      .help = "delete a tenant and erase all of its data, which cannot be restored",
      .examples = "muster tenant delete acme --confirm acme",
      .method = METHOD_DELETE, .path = TENANTS "/{slug}", .bind = tenant_delete_bind,
      .line = "tenant '{slug}' deleted; its data is being erased" },
    { "tenant", "list",
      .help = "list all tenants",
      .examples = "muster tenant list --json",
      .method = METHOD_GET, .path = TENANTS "?limit=10000", .next = "cursor", .json_pages = true,
      .answer = &tenant_list_shape, .list = "tenants",
      .columns = COLUMNS({ "SLUG", .cell = "{slug}" }, { "MAX AGENTS", .cell = "{max_agents}" },
                         { "REQUESTS/MIN", .cell = "{rate_limit}" },
                         { "MAX BYTES", .cell = "{max_bytes}" }, { "NAME", .cell = "{name}" }) },
    { "tenant", "show", .args = { { "slug", OPTION_TENANT, "SLUG", .help = "slug of the tenant" } },
      .help = "show a tenant and its plan",
      .examples = "muster tenant show acme",
      .method = METHOD_GET, .path = TENANTS "/{slug}", .answer = &tenant_plan_shape,
      .line = "slug          {slug}\nname          {name}\nagents        {agents} of {max_agents}\n"
              "requests/min  {rate_limit} per key\nbytes         {stored_bytes}{max_bytes? of {max_bytes}| (no quota)}\ncreated       {created_at}" },
    { "key", "add",
      .options = OPTIONS(TENANT_OPTION,
                         { "agent", OPTION_NAME, .field = "agent_name", .help = "bind the key to this agent" },
                         { "read-only", OPTION_FLAG, .help = "a key that reads what a workspace key reads and reports nothing" },
                         { "label", OPTION_TEXT, .help = "note shown in lists" },
                         { "expires", OPTION_TIME, .field = "expires_at", .help = "expiry time; without it the key never expires" }),
      .help = "create a key and print its token, which is shown only once",
      .examples = "muster key add --tenant acme --agent collector --expires 2030-01-01T00:00:00Z\n"
                  "muster key add --tenant acme --read-only --label prometheus",
      .method = METHOD_POST, .path = KEYS, .body = &key_create_shape,
      .answer = &key_created_shape, .line = "{token}" },
    { "key", "list", .options = OPTIONS(TENANT_OPTION),
      .help = "list a tenant's keys, without their tokens",
      .examples = "muster key list --tenant acme",
      .method = METHOD_GET, .path = KEYS "?limit=1000", .next = "cursor", .json_pages = true,
      .answer = &key_list_shape, .list = "keys",
      .columns = COLUMNS({ "KEY ID", .cell = "{key_id}" }, { "KIND", .cell = "{kind}" }, { "STATE", .cell_of = key_state },
                         { "CREATED", .cell = "{created_at}" }, { "USED", .cell = "{last_used_at?{last_used_at}|never}" },
                         { "AGENT", .cell = "{agent_name}" }, { "LABEL", .cell = "{label}" }) },
    { "key", "rotate", .args = { KEY_ARG }, .options = OPTIONS(TENANT_OPTION),
      .help = "replace a key, which expires five minutes later, and print the new token, which is shown only once",
      .examples = "muster key rotate key_8sYt0KcPq2mWx4Zb --tenant acme",
      .method = METHOD_POST, .path = KEYS "/{key_id}/rotate",
      .answer = &key_refreshed_shape, .line = "{token}" },
    { "key", "delete", .args = { KEY_ARG },
      .options = OPTIONS(TENANT_OPTION,
                         { "only", OPTION_FLAG, .help = "spare the keys that were made from it by rotation" }),
      .help = "revoke a key and all that were made from it by rotation, at once; `key revoke` is the same",
      .examples = "muster key delete key_8sYt0KcPq2mWx4Zb --tenant acme\n"
                  "muster key delete key_8sYt0KcPq2mWx4Zb --tenant acme --only",
      .method = METHOD_DELETE, .path = KEYS "/{key_id}",
      .answer = &keys_revoked_shape, .say = say_revoked },
    { 0 },
};
/* clang-format on */
