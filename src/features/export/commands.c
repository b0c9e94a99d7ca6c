/* commands.c - exports to standard output or a file. */
#include "features/export/shapes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/request.h"

struct target {
    const char *path; /* NULL: standard output */
    FILE *file;
    bool failed;
};

static bool target_take(void *ctx, struct str bytes)
{
    struct target *target = ctx;

    target->failed |= fwrite(bytes.data, 1, bytes.len, target->file) != bytes.len;
    return !target->failed;
}

static int open_target(struct target *target, struct error *err)
{
    target->file = target->path == NULL ? stdout : fopen(target->path, "we");
    if (target->file != NULL)
        return 0;
    return err_set(err, ERR_FORBIDDEN, "cannot write '%s': %s", target->path, strerror(errno));
}

/* A short file is an error. */
static int close_target(struct target *target, struct error *err)
{
    bool failed = fflush(target->file) != 0 || target->failed;

    if (target->path != NULL)
        failed |= fclose(target->file) != 0;
    if (!failed)
        return 0;
    return err_set(err, ERR_FORBIDDEN, "cannot write %s: %s",
                   target->path == NULL ? "to standard output" : target->path, strerror(errno));
}

static int export_run(struct invocation *in)
{
    struct target target = { .path = command_value(in, "output") };
    const struct client_sink sink = { target_take, &target };
    struct client_request request = { .method = METHOD_GET, .path = request_path(in) };
    struct error err = { 0 }, late = { 0 };
    int r;

    if (open_target(&target, &err) != 0)
        return command_fail(&err);
    r = request_pour(in, &request, &sink, &err);
    if (close_target(&target, &late) != 0)
        return command_fail(&late);
    return r == 0 ? EXIT_DONE : command_fail(&err);
}

#define EXPORT(what) .path = "/api/v1/tenants/{tenant}/export/" what, .run = export_run
#define EXPORT_OPTIONS(...)                                                                        \
    OPTIONS(                                                                                       \
        TENANT_OPTION, ##__VA_ARGS__,                                                              \
        { "format", OPTION_TEXT, "ndjson|csv", .help = "ndjson unless given" },                    \
        { "range", OPTION_TEXT, "RANGE", .help = "7d, last_month, all, ...; 30d unless given",     \
          .field = "time_range" },                                                                 \
        { "damaged", OPTION_WORD, "fail|skip", .help = "at a damaged row end, or leave it out" },  \
        { "output", OPTION_FILE, "FILE", .help = "file to write; without it standard output" })

/* clang-format off */
const struct command export_commands[] = {
    { "export", "events", .options = EXPORT_OPTIONS({ "run", OPTION_TEXT, "RUN_ID", .help = "only the events of this run, of all times unless --range is given", .field = "run_id" }), EXPORT("events"),
      .help = "export all events of a time range or run, one per line",
      .examples = "muster export events --tenant acme --range 7d --output events.ndjson" },
    { "export", "business", .options = EXPORT_OPTIONS(), EXPORT("business"),
      .help = "export all business values and breakdowns of a time range",
      .examples = "muster export business --tenant acme --format csv" },
    { "export", "llm", .options = EXPORT_OPTIONS(), EXPORT("llm"),
      .help = "export all LLM usage of a time range",
      .examples = "muster export llm --tenant acme --range last_month --format csv" },
    { 0 },
};
/* clang-format on */
