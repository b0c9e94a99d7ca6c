/* commands.c - tenants and keys on the command line. */
#include <stdio.h>

#include "base/clock.h"
#include "base/datetime.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/print.h"
#include "features/access/registry.h"
#include "features/access/shapes.h"
#include "features/agents/shapes.h"
#include "features/events/shapes.h"
#include "shape/shape.h"

int run_tenant_add(struct invocation *in)
{
    const char *name = command_flag(in, "name");
    struct tenant_create create = { .slug = str_of(in->names[0]),
                                    .name = name == NULL ? STR_LIT("") : str_of(name) };
    struct client_request request = { METHOD_POST, STR_LIT("/api/v1/tenants"), STR_NULL };
    struct client_reply reply;
    struct error err = { 0 };

    if (command_number(in, "max-agents", 100, &create.max_agents, &err) != 0 ||
        command_number(in, "rate-limit", 100, &create.rate_limit, &err) != 0)
        return command_fail(&err);
    request.body = ask_body(in, &tenant_create_shape, &create);
    if (ask_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    (void)printf("tenant '%s' is made\n", in->names[0]);
    return EXIT_DONE;
}

/* The command's flag as a number to change, or nothing. */
static int optional_number(struct invocation *in, const char *name, struct opt_int *ret,
                           struct error *err)
{
    ret->has = command_flag(in, name) != NULL;
    return command_number(in, name, 0, &ret->value, err);
}

int run_tenant_set(struct invocation *in)
{
    struct tenant_patch patch = { .name = str_of(command_flag(in, "name")) };
    struct client_request request = { .method = METHOD_PATCH };
    struct client_reply reply;
    struct error err = { 0 };

    if (in->n_flags == 0) {
        err_set(&err, ERR_INVALID,
                "nothing to change is named: --name, --max-agents, --rate-limit");
        return command_fail(&err);
    }
    if (optional_number(in, "max-agents", &patch.max_agents, &err) != 0 ||
        optional_number(in, "rate-limit", &patch.rate_limit, &err) != 0 ||
        ask_tenant_path(in, in->names[0], "", &request.path, &err) != 0)
        return command_fail(&err);
    request.body = ask_body(in, &tenant_patch_shape, &patch);
    if (ask_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    (void)printf("tenant '%s' is changed\n", in->names[0]);
    return EXIT_DONE;
}

int run_tenant_list(struct invocation *in)
{
    const struct client_request request = { METHOD_GET, STR_LIT("/api/v1/tenants"), STR_NULL };
    const struct tenant *tenants;
    struct client_reply reply;
    struct tenant_list list;
    struct error err = { 0 };

    if (ask_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &tenant_list_shape, &in->arena, &list, &err) != 0)
        return command_fail(&err);
    tenants = list.tenants.items;
    for (size_t i = 0; i < list.tenants.n; i++)
        say(stdout, "%-24.*s agents <= %-8lld rate <= %-8lld %.*s\n", STR_ARG(tenants[i].slug),
            (long long)tenants[i].max_agents, (long long)tenants[i].rate_limit,
            STR_ARG(tenants[i].name));
    return EXIT_DONE;
}

/* "/api/v1/tenants/<slug>/keys" and what follows, of the tenant that --tenant names. */
static int keys_path(struct invocation *in, const char *rest, struct str *ret, struct error *err)
{
    struct str path = arena_printf(&in->arena, "/keys%s", rest);

    return ask_tenant_path(in, command_flag(in, "tenant"), path.data, ret, err);
}

int run_key_add(struct invocation *in)
{
    const char *label = command_flag(in, "label"), *expires = command_flag(in, "expires");
    struct key_create create = { .agent_name = str_of(command_flag(in, "agent")),
                                 .label = label == NULL ? STR_LIT("") : str_of(label),
                                 .expires_at = TIME_NULL };
    struct client_request request = { .method = METHOD_POST };
    struct key_created created;
    struct client_reply reply;
    struct error err = { 0 };
    const char *problem;

    if (expires != NULL) {
        problem = datetime_parse(str_of(expires), &create.expires_at);
        if (problem != NULL) {
            err_set(&err, ERR_INVALID, "--expires: '%s': %s", expires, problem);
            return command_fail(&err);
        }
    }
    request.body = ask_body(in, &key_create_shape, &create);
    if (keys_path(in, "", &request.path, &err) != 0 || ask_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &key_created_shape, &in->arena, &created, &err) != 0)
        return command_fail(&err);
    (void)printf("%.*s\n", STR_ARG(created.token));
    return EXIT_DONE;
}

static const char *state_of(const struct key *key)
{
    if (key->revoked_at != TIME_NULL)
        return "revoked";
    if (key->expires_at != TIME_NULL && key->expires_at <= clock_wall_us())
        return "expired";
    if (key->rotated_at != TIME_NULL && key->rotated_at + KEY_GRACE_US <= clock_wall_us())
        return "rotated";
    return "valid";
}

int run_key_list(struct invocation *in)
{
    struct client_request request = { .method = METHOD_GET };
    char created[DATETIME_TEXT_MAX], used[DATETIME_TEXT_MAX];
    const struct key *keys;
    struct client_reply reply;
    struct key_list list;
    struct error err = { 0 };

    if (keys_path(in, "", &request.path, &err) != 0 || ask_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &key_list_shape, &in->arena, &list, &err) != 0)
        return command_fail(&err);
    keys = list.keys.items;
    for (size_t i = 0; i < list.keys.n; i++)
        say(stdout, "%-24.*s %-10.*s %-8s made %s used %-27s %.*s %.*s\n", STR_ARG(keys[i].key_id),
            STR_ARG(keys[i].kind), state_of(&keys[i]),
            datetime_format(keys[i].created_at, created).data,
            keys[i].last_used_at == TIME_NULL ? "never"
                                              : datetime_format(keys[i].last_used_at, used).data,
            STR_ARG(keys[i].agent_name), STR_ARG(keys[i].label));
    return EXIT_DONE;
}

int run_key_rotate(struct invocation *in)
{
    struct str rest = arena_printf(&in->arena, "/%s/rotate", ask_segment(in, in->names[0]));
    struct client_request request = { .method = METHOD_POST };
    struct key_refreshed made;
    struct client_reply reply;
    struct error err = { 0 };

    if (keys_path(in, rest.data, &request.path, &err) != 0 ||
        ask_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &key_refreshed_shape, &in->arena, &made, &err) != 0)
        return command_fail(&err);
    (void)printf("%.*s\n", STR_ARG(made.token));
    return EXIT_DONE;
}

int run_key_revoke(struct invocation *in)
{
    struct client_request request = { .method = METHOD_DELETE };
    struct client_reply reply;
    struct error err = { 0 };

    if (keys_path(in, arena_printf(&in->arena, "/%s", ask_segment(in, in->names[0])).data,
                  &request.path, &err) != 0 ||
        ask_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    (void)printf("key '%s' is revoked\n", in->names[0]);
    return EXIT_DONE;
}

static int set_agent(struct invocation *in, bool enabled)
{
    const struct agent_patch patch = { enabled };
    const char *rest = arena_printf(&in->arena, "/agents/%s", ask_segment(in, in->names[0])).data;
    struct client_request request = { .method = METHOD_PATCH };
    struct client_reply reply;
    struct error err = { 0 };

    request.body = ask_body(in, &agent_patch_shape, &patch);
    if (ask_tenant_path(in, command_flag(in, "tenant"), rest, &request.path, &err) != 0 ||
        ask_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    (void)printf("agent '%s' is %s\n", in->names[0], enabled ? "enabled" : "disabled");
    return EXIT_DONE;
}

int run_agent_enable(struct invocation *in)
{
    return set_agent(in, true);
}

int run_agent_disable(struct invocation *in)
{
    return set_agent(in, false);
}

int run_agent_delete(struct invocation *in)
{
    const char *rest = arena_printf(&in->arena, "/agents/%s", ask_segment(in, in->names[0])).data;
    struct client_request request = { .method = METHOD_DELETE };
    struct agent_deleted deleted;
    struct client_reply reply;
    struct error err = { 0 };

    if (ask_tenant_path(in, command_flag(in, "tenant"), rest, &request.path, &err) != 0 ||
        ask_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &agent_deleted_shape, &in->arena, &deleted, &err) != 0)
        return command_fail(&err);
    (void)printf("agent '%s' is removed, keys revoked: %lld\n", in->names[0],
                 (long long)deleted.keys_revoked);
    return EXIT_DONE;
}

int run_run_rebuild(struct invocation *in)
{
    struct runs_rebuild step = { .next = { true, 0 } };
    int64_t runs = 0, changed = 0;
    struct client_reply reply;
    struct error err = { 0 };

    while (step.next.has) {
        struct client_request request = { .method = METHOD_POST };
        struct str rest =
            arena_printf(&in->arena, "/runs/rebuild?after=%lld", (long long)step.next.value);

        if (ask_tenant_path(in, command_flag(in, "tenant"), rest.data, &request.path, &err) != 0 ||
            ask_send(in, &request, &reply, &err) != 0 ||
            command_read(&reply, &runs_rebuild_shape, &in->arena, &step, &err) != 0)
            return command_fail(&err);
        runs += step.runs;
        changed += step.changed;
    }
    if (in->json)
        (void)printf("{\"runs\":%lld,\"changed\":%lld}\n", (long long)runs, (long long)changed);
    else
        (void)printf("%lld runs looked at, %lld set right\n", (long long)runs, (long long)changed);
    return EXIT_DONE;
}
