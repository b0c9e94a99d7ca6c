/* commands.c - runs on the command line. */
#include "features/events/routes.h"

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

#define RUNS "/api/v1/tenants/{tenant}/dashboard/runs"
#define RUN  "/api/v1/tenants/{tenant}/runs/{run}/events?limit=1000"
#define RUN_ARG                                                                                    \
    { "run", OPTION_NAME, "RUN_ID", .field = "", .help = "id of the run, as `run list` shows it" }

/* clang-format off */
const struct command event_commands[] = {
    { "run", "list",
      .options = OPTIONS(TENANT_OPTION,
                         { "agent", OPTION_NAME, .field = "agent_name", .help = "only runs of this agent" },
                         { "status", OPTION_WORD, "in_progress|completed|failed", .help = "only runs with this status" },
                         { "since", OPTION_TEXT, "TIME", .help = "only runs that started at or after this: a date-time, or a span back from now (90m, 24h, 7d)" },
                         { "until", OPTION_TEXT, "TIME", .help = "only runs that started before this" },
                         { "limit", OPTION_NUMBER, .help = "runs to list, newest first; without it 50" }),
      .help = "list a tenant's newest runs",
      .examples = "muster run list --tenant acme --status failed --since 24h",
      .method = METHOD_GET, .path = RUNS, .answer = &run_list_shape, .list = "runs",
      .columns = COLUMNS({ "RUN ID", .cell = "{run_id}" }, { "STATUS", .cell = "{status}" }, { "STARTED", .cell = "{started_at}" },
                         { "MS", .cell = "{duration_ms}" }, { "EVENTS", .cell = "{event_count}" }, { "AGENT", .cell = "{agent_name}" },
                         { "ERROR", .cell = "{error_type}" }, { "MESSAGE", .cell = "{message}" }) },
    { "run", "show", .args = { RUN_ARG }, .options = OPTIONS(TENANT_OPTION),
      .help = "show a run and its events",
      .examples = "muster run show 3f2b8c1e-7a54-4d0e-9b1f-0c5d8e6a7b21 --tenant acme",
      .method = METHOD_GET, .path = RUN, .run = run_show_run },
    { "run", "tail", .args = { RUN_ARG }, .options = OPTIONS(TENANT_OPTION),
      .help = "print a run's events as they arrive, until the run ends",
      .examples = "muster run tail 3f2b8c1e-7a54-4d0e-9b1f-0c5d8e6a7b21 --tenant acme",
      .method = METHOD_GET, .path = RUN, .run = run_tail_run },
    { "run", "rebuild", .options = OPTIONS(TENANT_OPTION),
      .help = "rebuild run states from their events",
      .examples = "muster run rebuild --tenant acme",
      .path = "/api/v1/tenants/{tenant}/runs/rebuild", .run = run_rebuild_run },
    { 0 },
};
/* clang-format on */
