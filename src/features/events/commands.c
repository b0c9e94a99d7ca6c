/* commands.c - runs on the command line. */
#include "features/events/commands.h"

#include <stdio.h>

#include "cli/request.h"
#include "features/events/shapes.h"

/* One request per page, so that none takes long. */
static int run_rebuild_run(struct invocation *in)
{
    struct runs_rebuild page = { .next = { true, 0 } };
    struct client_request request = { .method = METHOD_POST };
    int64_t runs = 0, changed = 0, damaged = 0;
    struct client_reply reply;
    struct error err = { 0 };
    struct str path = request_path(in);

    while (page.next.has) {
        request.path =
            arena_printf(&in->arena, "%.*s?after=%lld", STR_ARG(path), (long long)page.next.value);
        if (request_send(in, &request, &reply, &err) != 0 ||
            request_read(&reply, &runs_rebuild_shape, &in->arena, &page, &err) != 0)
            return command_fail(&err);
        runs += page.runs;
        changed += page.changed;
        damaged += page.damaged;
    }
    (void)printf(in->json ? "{\"runs\":%lld,\"changed\":%lld,\"damaged\":%lld}\n"
                          : "%lld runs checked, %lld corrected, %lld with damaged events\n",
                 (long long)runs, (long long)changed, (long long)damaged);
    return damaged > 0 ? EXIT_FAILED : EXIT_DONE;
}

/* clang-format off */
const struct command event_commands[] = {
    { "run", "rebuild", .options = OPTIONS(TENANT_OPTION),
      .help = "rebuild run states from their events",
      .examples = "muster run rebuild --tenant acme",
      .path = "/api/v1/tenants/{tenant}/runs/rebuild", .run = run_rebuild_run },
    { 0 },
};
/* clang-format on */
