/* commands.c - exports to standard output or a file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/ask.h"
#include "cli/command.h"

struct target {
    const char *path; /* NULL: standard output */
    FILE *file;
    bool failed;
};

static bool take(void *ctx, struct str bytes)
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

/* What cannot be written to its end is an error, not a short file. */
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

static int pour(struct invocation *in, const struct client_request *request, struct target *target,
                struct error *err)
{
    const struct client_sink sink = { take, target };
    struct client_reply reply;
    struct client *client;
    int r;

    if (client_new(&in->settings, &client, err) != 0)
        return -1;
    r = client_pour(client, request, &sink, &in->arena, &reply, err);
    client_free(client);
    return r == 0 ? command_check(&reply, &in->arena, err) : -1;
}

static int run_export(struct invocation *in, const char *what)
{
    const char *format = command_flag(in, "format"), *range = command_flag(in, "range");
    struct target target = { .path = command_flag(in, "output") };
    struct client_request request = { .method = METHOD_GET };
    struct error err = { 0 }, late = { 0 };
    struct str rest;
    int r;

    rest = arena_printf(&in->arena, "/export/%s?format=%s&time_range=%s", what,
                        format == NULL ? "ndjson" : ask_segment(in, format),
                        range == NULL ? "30d" : ask_segment(in, range));
    if (ask_tenant_path(in, command_flag(in, "tenant"), rest.data, &request.path, &err) != 0 ||
        open_target(&target, &err) != 0)
        return command_fail(&err);
    r = pour(in, &request, &target, &err);
    if (close_target(&target, &late) != 0)
        return command_fail(&late);
    return r == 0 ? EXIT_DONE : command_fail(&err);
}

int run_export_events(struct invocation *in)
{
    return run_export(in, "events");
}

int run_export_business(struct invocation *in)
{
    return run_export(in, "business");
}

int run_export_llm(struct invocation *in)
{
    return run_export(in, "llm");
}
