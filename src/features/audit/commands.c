/* commands.c - the audit log on the command line. */
#include <stdio.h>

#include "base/datetime.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/print.h"
#include "features/access/shapes.h"
#include "features/audit/shapes.h"
#include "shape/shape.h"

/* The path of the tenant's chain, or of the platform's (NULL), and what follows. */
static int audit_path(struct invocation *in, const char *tenant, const char *rest, struct str *ret,
                      struct error *err)
{
    struct str path = arena_printf(&in->arena, "/audit%s", rest);

    if (tenant != NULL)
        return ask_tenant_path(in, tenant, path.data, ret, err);
    *ret = arena_printf(&in->arena, "/api/v1/platform%s", path.data);
    return 0;
}

/* The command's flags as a query string. */
static const char *audit_filters(struct invocation *in)
{
    static const char *const names[] = { "action", "actor", "since", "until", "limit" };
    const char *query = "";

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *value = command_flag(in, names[i]);

        if (value != NULL)
            query = arena_printf(&in->arena, "%s%c%s=%s", query, query[0] == '\0' ? '?' : '&',
                                 names[i], ask_segment(in, value))
                        .data;
    }
    return query;
}

int run_audit_list(struct invocation *in)
{
    struct client_request request = { .method = METHOD_GET };
    char at[DATETIME_TEXT_MAX];
    const struct audit_item *items;
    struct client_reply reply;
    struct audit_page page;
    struct error err = { 0 };

    if (audit_path(in, command_flag(in, "tenant"), audit_filters(in), &request.path, &err) != 0 ||
        ask_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &audit_page_shape, &in->arena, &page, &err) != 0)
        return command_fail(&err);
    items = page.entries.items;
    for (size_t i = 0; i < page.entries.n; i++)
        say(stdout, "%-6lld %-27s %-24.*s %-14.*s %-15.*s %.*s %.*s\n", (long long)items[i].seq,
            datetime_format(items[i].at, at).data, STR_ARG(items[i].actor),
            STR_ARG(items[i].action), STR_ARG(items[i].origin), STR_ARG(items[i].target),
            STR_ARG(items[i].detail));
    return EXIT_DONE;
}

/* What people call a chain. */
static struct str chain_name(struct invocation *in, const char *tenant)
{
    return tenant == NULL ? STR_LIT("the platform")
                          : arena_printf(&in->arena, "tenant '%s'", tenant);
}

static void add_json(struct invocation *in, const char *tenant, struct str verdict, struct buf *out)
{
    struct str name = tenant == NULL ? STR_LIT("null") : arena_printf(&in->arena, "\"%s\"", tenant);

    buf_printf(out, "%s{\"tenant\":%.*s,\"verdict\":%.*s}", out->len > 0 ? "," : "", STR_ARG(name),
               STR_ARG(verdict));
}

/* Asks for the verdict on one chain and adds it to what is printed; -1 when it is not good, or
 * could not be had. */
static int verify_chain(struct invocation *in, struct client *client, const char *tenant,
                        struct buf *out, struct error *err)
{
    struct client_request request = { .method = METHOD_GET };
    struct str name = chain_name(in, tenant);
    struct audit_verdict verdict;
    struct client_reply reply;

    if (audit_path(in, tenant, "/verify", &request.path, err) != 0 ||
        client_call(client, &request, &in->arena, &reply, err) != 0 ||
        command_check(&reply, &in->arena, err) != 0 ||
        command_read(&reply, &audit_verdict_shape, &in->arena, &verdict, err) != 0)
        return -1;
    if (in->json)
        add_json(in, tenant, reply.body, out);
    if (!verdict.ok)
        return err_set(err, ERR_CONFLICT, "audit log of %.*s: %.*s (entry %lld)", STR_ARG(name),
                       STR_ARG(verdict.problem), (long long)verdict.seq.value);
    if (!in->json)
        buf_printf(out, "%.*s: %lld entries, all good\n", STR_ARG(name),
                   (long long)verdict.entries);
    return 0;
}

/* Every chain is looked at, also after one that is not good: 1 when one was not. */
static int verify_and_say(struct invocation *in, struct client *client, const char *tenant,
                          struct buf *out)
{
    struct error err = { 0 };

    return verify_chain(in, client, tenant, out, &err) == 0 ? 0 : command_fail(&err);
}

static int verify_all(struct invocation *in, struct client *client, struct buf *out)
{
    const struct client_request request = { METHOD_GET, STR_LIT("/api/v1/tenants"), STR_NULL };
    int failed = verify_and_say(in, client, NULL, out);
    const struct tenant *tenants;
    struct client_reply reply;
    struct tenant_list list;
    struct error err = { 0 };

    if (client_call(client, &request, &in->arena, &reply, &err) != 0 ||
        command_check(&reply, &in->arena, &err) != 0 ||
        command_read(&reply, &tenant_list_shape, &in->arena, &list, &err) != 0)
        return command_fail(&err);
    tenants = list.tenants.items;
    for (size_t i = 0; i < list.tenants.n; i++)
        failed |= verify_and_say(in, client, arena_cstr(&in->arena, tenants[i].slug), out);
    return failed;
}

int run_audit_verify(struct invocation *in)
{
    const char *tenant = command_flag(in, "tenant");
    struct client *client;
    struct error err = { 0 };
    struct buf out;
    int failed;

    if (client_new(&in->settings, &client, &err) != 0)
        return command_fail(&err);
    buf_init(&out, SIZE_MAX);
    failed =
        tenant == NULL ? verify_all(in, client, &out) : verify_and_say(in, client, tenant, &out);
    client_free(client);
    if (in->json)
        (void)printf("{\"chains\":[%.*s]}\n", STR_ARG(buf_str(&out)));
    else
        (void)printf("%.*s", STR_ARG(buf_str(&out)));
    buf_done(&out);
    return failed;
}
