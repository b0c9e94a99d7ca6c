/* commands.c - the audit log on the command line. */
#include "features/audit/commands.h"

#include <stdio.h>

#include "cli/request.h"
#include "features/access/shapes.h"
#include "features/audit/shapes.h"

/* Verifies one chain, the tenant's or the platform's (NULL), and adds the result to the output; -1
 * when the chain is broken or could not be verified. */
static int verify_chain(struct invocation *in, const char *tenant, struct buf *out,
                        struct error *err)
{
    const char *name =
        tenant == NULL ? "the platform" : arena_printf(&in->arena, "tenant '%s'", tenant).data;
    struct client_request request = { .method = METHOD_GET,
                                      .path = STR_LIT("/api/v1/platform/audit/verify") };
    struct audit_verdict verdict;
    struct client_reply reply;

    if (tenant != NULL)
        request.path = arena_printf(&in->arena, "/api/v1/tenants/%s/audit/verify", tenant);
    if (request_send(in, &request, &reply, err) != 0 ||
        request_read(&reply, &audit_verdict_shape, &in->arena, &verdict, err) != 0)
        return -1;
    if (in->json)
        buf_printf(out, "%s{\"tenant\":%s%s%s,\"verdict\":%.*s}", out->len > 0 ? "," : "",
                   tenant == NULL ? "" : "\"", tenant == NULL ? "null" : tenant,
                   tenant == NULL ? "" : "\"", STR_ARG(reply.body));
    if (!verdict.ok)
        return err_set(err, ERR_CONFLICT, "audit log of %s: %.*s (entry %lld)", name,
                       STR_ARG(verdict.problem), (long long)verdict.seq.value);
    if (!in->json)
        buf_printf(out, "%s: %lld entries, all intact\n", name, (long long)verdict.entries);
    return 0;
}

/* A broken chain does not keep the others from being verified. */
static int verify_and_say(struct invocation *in, const char *tenant, struct buf *out)
{
    struct error err = { 0 };

    return verify_chain(in, tenant, out, &err) == 0 ? EXIT_DONE : command_fail(&err);
}

static int verify_all(struct invocation *in, struct buf *out)
{
    int failed = verify_and_say(in, NULL, out);
    const struct tenant *tenants;
    struct tenant_list list;
    struct error err = { 0 };

    if (request_get(in, "/api/v1/tenants", &tenant_list_shape, &list, &err) != 0)
        return command_fail(&err);
    tenants = list.tenants.items;
    for (size_t i = 0; i < list.tenants.n; i++)
        failed |= verify_and_say(in, arena_cstr(&in->arena, tenants[i].slug), out);
    return failed;
}

static int audit_verify_run(struct invocation *in)
{
    const char *tenant = command_value(in, "tenant");
    struct buf out;
    int failed;

    buf_init(&out, SIZE_MAX);
    failed = tenant == NULL ? verify_all(in, &out) : verify_and_say(in, tenant, &out);
    (void)printf(in->json ? "{\"chains\":[%.*s]}\n" : "%.*s", STR_ARG(out));
    buf_done(&out);
    return failed;
}

/* clang-format off */
const struct command audit_commands[] = {
    { "audit", "list",
      .options = OPTIONS({ "tenant", OPTION_TENANT, .help = "the tenant's log; without it the platform's" },
                         { "action", OPTION_TEXT, "NOUN.VERB", .help = "only this action, such as key.add" },
                         { "actor", OPTION_TEXT, "ACTOR", .help = "only this actor: operator, person:EMAIL or key:KEY_ID" },
                         { "since", OPTION_TEXT, "TIME", .help = "date-time, or a span back from now such as 7d" },
                         { "until", OPTION_TEXT, "TIME", .help = "date-time, or a span back from now such as 1h" },
                         { "limit", OPTION_TEXT, "N", .help = "at most this many entries; 50 unless given" }),
      .help = "list the newest entries of the audit log",
      .examples = "muster audit list --tenant acme --since 7d\n"
                  "muster audit list --action tenant.add",
      .method = METHOD_GET, .path = "/api/v1/{tenant?tenants/{tenant}|platform}/audit",
      .answer = &audit_page_shape, .list = "entries",
      .line = "{seq:-6} {at:-27} {actor:-24} {action:-14} {origin:-15} {target} {detail}" },
    { "audit", "verify",
      .options = OPTIONS({ "tenant", OPTION_TENANT, .help = "the tenant's log; without it the platform's and every tenant's" }),
      .help = "check that the audit log has not been altered",
      .examples = "muster audit verify",
      .run = audit_verify_run },
    { 0 },
};
/* clang-format on */
