/* commands.c - runs on the command line; `run show` and `run tail` read a page at a time. */
#include "features/events/routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/mem.h"
#include "cli/print.h"
#include "cli/request.h"
#include "cli/template.h"
#include "features/events/shapes.h"
#include "shape/shape.h"

#define EVENT_HEADER "TIME                         EVENT        LEVEL     MESSAGE"
#define EVENT_LINE                                                                                 \
    "{timestamp:-27}  {event:-11}  {level:-8}  {category#?[{category}] }"                          \
    "{error_type#?{error_type}: }{error_message#?{error_message}{message#?; }}{message}"
#define RUN_LINES                                                                                  \
    "run      {run_id}\nagent    {agent_name}{agent_version? {agent_version}}\n"                   \
    "status   {status}\nstarted  {started_at}\n"                                                   \
    "ended    {ended_at?{ended_at}|not yet}{duration_ms?, after {duration_ms} ms}\n"               \
    "events   {event_count}{error_type?\nerror    {error_type}: {error_message}}\n"

/* A reader of a run's pages. It has an invocation of its own, so that what a page takes is given
 * back before the next one: a run may be followed for days. */
struct follower {
    struct invocation in;
    char *cursor;   /* of the page to ask for; NULL: the first */
    uint64_t *seen; /* which events of that page were printed */
    size_t n_seen;
    struct run_narrative page;
    struct str body; /* of the page, as it was sent */
};

static void follower_open(struct follower *f, const struct invocation *in)
{
    *f = (struct follower){ .in = *in };
    arena_init(&f->in.arena);
}

static void follower_close(struct follower *f)
{
    request_hang_up(&f->in);
    arena_done(&f->in.arena);
    free(f->cursor);
    free(f->seen);
}

static int read_page(struct follower *f, struct error *err)
{
    struct client_request request = { .method = METHOD_GET };
    struct client_reply reply;
    BUF_SCOPED(path, MIB(1));

    arena_reset(&f->in.arena);
    buf_add(&path, request_path(&f->in));
    if (f->cursor != NULL) {
        buf_add_c(&path, "&cursor=");
        print_encoded(&path, str_of(f->cursor));
    }
    request.path = buf_take(&path, &f->in.arena);
    if (request_send(&f->in, &request, &reply, err) != 0)
        return -1;
    f->body = reply.body;
    return request_read(&reply, &run_narrative_shape, &f->in.arena, &f->page, err);
}

/* Moves to the page after this one; false when this is the last one. */
static bool next_page(struct follower *f)
{
    if (f->page.next.len == 0)
        return false;
    free(f->cursor);
    f->cursor = mem_new(f->page.next.len + 1);
    memcpy(f->cursor, f->page.next.data, f->page.next.len);
    f->cursor[f->page.next.len] = '\0';
    f->n_seen = 0;
    return true;
}

static void print_event(struct follower *f, const struct stored_event *event)
{
    if (f->in.json) {
        struct str text = request_body(&f->in, &stored_event_shape, event);

        (void)printf("%.*s\n", STR_ARG(text));
    } else {
        template_print(&f->in, &stored_event_shape, event, EVENT_LINE);
    }
}

static bool was_seen(const struct follower *f, uint64_t id)
{
    for (size_t i = 0; i < f->n_seen; i++)
        if (f->seen[i] == id)
            return true;
    return false;
}

/* Late events may be inserted before events that were printed already: each event is identified by
 * a digest of all its members. */
static void print_new(struct follower *f)
{
    const struct stored_event *events = f->page.events.items;
    uint64_t *now = mem_new((f->page.events.n + 1) * sizeof(*now));

    for (size_t i = 0; i < f->page.events.n; i++) {
        now[i] = digest_sip(request_body(&f->in, &stored_event_shape, &events[i]));
        if (!was_seen(f, now[i]))
            print_event(f, &events[i]);
    }
    free(f->seen);
    f->seen = now;
    f->n_seen = f->page.events.n;
    (void)fflush(stdout);
}

static int run_show_run(struct invocation *in)
{
    struct error err = { 0 };
    struct follower f;
    bool first = true;
    int r;

    follower_open(&f, in);
    while ((r = read_page(&f, &err)) == 0) {
        const struct stored_event *events = f.page.events.items;

        if (in->json)
            (void)printf("%.*s\n", STR_ARG(f.body));
        else if (first)
            template_print(&f.in, &run_summary_shape, f.page.run, RUN_LINES "\n" EVENT_HEADER);
        for (size_t i = 0; i < f.page.events.n && !in->json; i++)
            print_event(&f, &events[i]);
        first = false;
        if (!next_page(&f))
            break;
    }
    follower_close(&f);
    return r == 0 ? EXIT_DONE : command_fail(&err);
}

static int run_tail_run(struct invocation *in)
{
    const bool embedded = in->settings.database[0] == '\0';
    struct error err = { 0 };
    struct follower f;
    bool first = true;
    int r;

    follower_open(&f, in);
    while ((r = read_page(&f, &err)) == 0) {
        if (first && !in->json)
            (void)puts(EVENT_HEADER);
        first = false;
        print_new(&f);
        if (next_page(&f))
            continue;
        if (!str_eq_c(f.page.run->status, run_status_names[RUN_IN_PROGRESS]))
            break;
        if (embedded)
            request_hang_up(&f.in); /* a server may want to start meanwhile */
        (void)sleep(1);
    }
    follower_close(&f);
    return r == 0 ? EXIT_DONE : command_fail(&err);
}

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
