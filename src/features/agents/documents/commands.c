/* commands.c - agents' documents on the command line. */
#include <stdio.h>

#include "base/datetime.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/print.h"
#include "features/agents/documents/shapes.h"
#include "shape/utf8.h"

/* "…/agents/<agent>/document" and what follows. */
static int document_path(struct invocation *in, const char *rest, struct str *ret,
                         struct error *err)
{
    const char *agent = command_flag(in, "agent");

    if (agent == NULL || agent[0] == '\0')
        return err_set(err, ERR_INVALID, "--agent NAME is missing");
    return ask_tenant_path(
        in, command_flag(in, "tenant"),
        arena_printf(&in->arena, "/agents/%s/document%s", ask_segment(in, agent), rest).data, ret,
        err);
}

static int send(struct invocation *in, struct client_request *request, const char *rest,
                struct client_reply *ret, struct error *err)
{
    if (document_path(in, rest, &request->path, err) != 0)
        return -1;
    return ask_send(in, request, ret, err);
}

/* A number of a version, as one of the command's names or flags. */
static int read_version(const char *text, int64_t *ret, struct error *err)
{
    if (str_to_int(str_of(text), ret) && *ret >= 1)
        return 0;
    return err_set(err, ERR_INVALID, "'%s' is not the number of a version", text);
}

/* As --format says, else as the ending of the file's name does. */
static int read_format(struct invocation *in, int *ret, struct error *err)
{
    static const struct {
        const char *ending;
        enum document_format format;
    } endings[] = { { ".md", DOCUMENT_MARKDOWN },
                    { ".markdown", DOCUMENT_MARKDOWN },
                    { ".json", DOCUMENT_JSON },
                    { ".yaml", DOCUMENT_YAML },
                    { ".yml", DOCUMENT_YAML } };
    const char *given = command_flag(in, "format"), *dot = strrchr(in->names[0], '.');

    *ret = DOCUMENT_TEXT;
    for (size_t i = 0; given == NULL && dot != NULL && i < COUNT_OF(endings); i++)
        if (strcmp(dot, endings[i].ending) == 0)
            *ret = (int)endings[i].format;
    if (given == NULL)
        return 0;
    for (int i = 0; document_format_names[i] != NULL; i++)
        if (strcmp(given, document_format_names[i]) == 0) {
            *ret = i;
            return 0;
        }
    return err_set(err, ERR_INVALID, "--format: '%s' is not text, markdown, json or yaml", given);
}

/* Sends a change and says which version there is then. */
static int change(struct invocation *in, struct client_request *request, const char *rest)
{
    struct document document;
    struct client_reply reply;
    struct error err = { 0 };

    if (send(in, request, rest, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &document_shape, &in->arena, &document, &err) != 0)
        return command_fail(&err);
    (void)printf("version %lld (%.*s, %zu bytes)\n", (long long)document.version,
                 STR_ARG(document.format), document.document.len);
    return EXIT_DONE;
}

int run_document_set(struct invocation *in)
{
    struct client_request request = { .method = METHOD_PUT };
    struct document_set set = { 0 };
    struct error err = { 0 };

    if (read_format(in, &set.format, &err) != 0 ||
        ask_file(in, in->names[0], DOCUMENT_MAX_BYTES, &set.document, &err) != 0)
        return command_fail(&err);
    if (utf8_valid_len(set.document) < set.document.len ||
        memchr(set.document.data, '\0', set.document.len) != NULL) {
        err_set(&err, ERR_FORBIDDEN, "'%s' is no text in UTF-8", in->names[0]);
        return command_fail(&err);
    }
    request.body = ask_body(in, &document_set_shape, &set);
    return change(in, &request, "");
}

int run_document_restore(struct invocation *in)
{
    struct client_request request = { .method = METHOD_POST };
    struct error err = { 0 };
    int64_t version;

    if (read_version(in->names[0], &version, &err) != 0)
        return command_fail(&err);
    return change(in, &request,
                  arena_printf(&in->arena, "/versions/%lld/restore", (long long)version).data);
}

int run_document_show(struct invocation *in)
{
    const char *given = command_flag(in, "version"), *rest = "";
    struct client_request request = { .method = METHOD_GET };
    struct document document;
    struct client_reply reply;
    struct error err = { 0 };
    int64_t version;

    if (given != NULL) {
        if (read_version(given, &version, &err) != 0)
            return command_fail(&err);
        rest = arena_printf(&in->arena, "/versions/%lld", (long long)version).data;
    }
    if (send(in, &request, rest, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &document_shape, &in->arena, &document, &err) != 0)
        return command_fail(&err);
    (void)fwrite(document.document.data, 1, document.document.len, stdout);
    return EXIT_DONE;
}

static void say_version(const struct document_version *version)
{
    char at[DATETIME_TEXT_MAX];

    say(stdout, "%6lld  %.*s  %-8.*s %8lld bytes  %.*s\n", (long long)version->version,
        STR_ARG(datetime_format(version->updated_at, at)), STR_ARG(version->format),
        (long long)version->bytes, STR_ARG(version->author));
}

int run_document_history(struct invocation *in)
{
    struct client_request request = { .method = METHOD_GET };
    struct document_history history = { .next = { false, 0 } };
    struct client_reply reply;
    struct error err = { 0 };
    const char *rest = "/versions?limit=1000";

    do {
        if (send(in, &request, rest, &reply, &err) != 0)
            return command_fail(&err);
        if (in->json)
            return ask_say_json(&reply);
        if (command_read(&reply, &document_history_shape, &in->arena, &history, &err) != 0)
            return command_fail(&err);
        for (size_t i = 0; i < history.versions.n; i++)
            say_version((const struct document_version *)history.versions.items + i);
        rest = arena_printf(&in->arena, "/versions?limit=1000&before=%lld",
                            (long long)history.next.value)
                   .data;
    } while (history.next.has);
    return EXIT_DONE;
}

int run_document_diff(struct invocation *in)
{
    struct client_request request = { .method = METHOD_GET };
    struct document_diff answer;
    struct client_reply reply;
    struct error err = { 0 };
    int64_t from, to;

    if (read_version(in->names[0], &from, &err) != 0 || read_version(in->names[1], &to, &err) != 0)
        return command_fail(&err);
    if (send(in, &request,
             arena_printf(&in->arena, "/diff?from=%lld&to=%lld", (long long)from, (long long)to)
                 .data,
             &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &document_diff_shape, &in->arena, &answer, &err) != 0)
        return command_fail(&err);
    (void)fwrite(answer.diff.data, 1, answer.diff.len, stdout);
    return EXIT_DONE;
}
