/* commands.c - what models cost, on the command line. */
#include <stdio.h>

#include "base/datetime.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/print.h"
#include "features/cost/price_shapes.h"

/* A decimal as it was typed, in quotes: the service reads it. */
static struct str amount_flag(struct invocation *in, const char *name)
{
    const char *value = command_flag(in, name);
    struct str text;
    struct buf out;

    if (value == NULL)
        return STR_NULL;
    buf_init(&out, KIB(16));
    buf_add_json(&out, str_of(value));
    text = arena_copy(&in->arena, buf_str(&out));
    buf_done(&out);
    return text;
}

static int time_flag(const struct invocation *in, const char *name, int64_t *ret, struct error *err)
{
    const char *value = command_flag(in, name), *wrong;

    *ret = TIME_NULL;
    if (value == NULL)
        return 0;
    wrong = datetime_parse(str_of(value), ret);
    if (wrong == NULL)
        return 0;
    return err_set(err, ERR_INVALID, "--%s: '%s' is not a date-time: %s", name, value, wrong);
}

static void say_amount(const char *name, struct str amount)
{
    if (!str_is_null(amount))
        (void)printf("  %s %.*s", name, STR_ARG(amount));
}

/* One line: the id, the model, USD for a million tokens, and from when on. */
static void say_price(const struct price *price)
{
    char text[DATETIME_TEXT_MAX];
    struct str from = STR_LIT("since ever");

    if (price->valid_from != TIME_NULL)
        from = datetime_format(price->valid_from, text);
    say(stdout, "%-6lld %-40.*s", (long long)price->price_id, STR_ARG(price->model));
    say_amount("input", price->input);
    say_amount("output", price->output);
    say_amount("cache read", price->cache_read);
    say_amount("cache write", price->cache_write);
    (void)printf("%s  %.*s\n", price->input_includes_cache ? "  input includes cache" : "",
                 STR_ARG(from));
}

static int send_for_price(struct invocation *in, const struct client_request *request)
{
    struct client_reply reply;
    struct error err = { 0 };
    struct price price;

    if (ask_send(in, request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &price_shape, &in->arena, &price, &err) != 0)
        return command_fail(&err);
    say_price(&price);
    return EXIT_DONE;
}

int run_price_set(struct invocation *in)
{
    const char *provider = command_flag(in, "provider");
    struct price_create create = {
        .model = str_of(in->names[0]),
        .provider = str_of(provider == NULL ? "" : provider),
        .input = amount_flag(in, "input"),
        .output = amount_flag(in, "output"),
        .cache_read = amount_flag(in, "cache-read"),
        .cache_write = amount_flag(in, "cache-write"),
        .input_includes_cache = command_flag(in, "input-includes-cache") != NULL,
    };
    struct client_request request = { .method = METHOD_POST,
                                      .path = STR_LIT("/api/v1/platform/prices") };
    struct error err = { 0 };

    if (str_is_null(create.input) || str_is_null(create.output))
        (void)err_set(&err, ERR_INVALID, "--%s USD is missing",
                      str_is_null(create.input) ? "input" : "output");
    else if (time_flag(in, "valid-from", &create.valid_from, &err) == 0) {
        request.body = ask_body(in, &price_create_shape, &create);
        return send_for_price(in, &request);
    }
    return command_fail(&err);
}

int run_price_rm(struct invocation *in)
{
    struct str path =
        arena_printf(&in->arena, "/api/v1/platform/prices/%s", ask_segment(in, in->names[0]));

    return send_for_price(in, &(struct client_request){ .method = METHOD_DELETE, .path = path });
}

int run_price_list(struct invocation *in)
{
    const char *model = command_flag(in, "model");
    struct client_request request = { .method = METHOD_GET,
                                      .path = STR_LIT("/api/v1/platform/prices") };
    struct client_reply reply;
    struct price_list list;
    struct error err = { 0 };

    if (model != NULL)
        request.path =
            arena_printf(&in->arena, "/api/v1/platform/prices?model=%s", ask_segment(in, model));
    if (ask_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &price_list_shape, &in->arena, &list, &err) != 0)
        return command_fail(&err);
    for (size_t i = 0; i < list.prices.n; i++)
        say_price(&((const struct price *)list.prices.items)[i]);
    return EXIT_DONE;
}

/* The whole file, in the arena. */
static int read_file(struct invocation *in, const char *path, struct str *ret, struct error *err)
{
    const size_t bytes_max = MIB(16); /* more than the service takes, which then says so */
    FILE *file = fopen(path, "re");
    char *bytes;
    size_t n;
    int failed;

    if (file == NULL)
        return err_set(err, ERR_NOT_FOUND, "cannot open '%s'", path);
    bytes = arena_alloc(&in->arena, bytes_max);
    n = fread(bytes, 1, bytes_max, file);
    failed = ferror(file);
    (void)fclose(file);
    if (failed || n == bytes_max)
        return err_set(err, ERR_NOT_FOUND, failed ? "cannot read '%s'" : "'%s' is too large", path);
    *ret = str_from(bytes, n);
    return 0;
}

/* Without --format: our own files have "prices" at the top, LiteLLM's have models there. */
static const char *format_of(const struct invocation *in, struct str file)
{
    const char *given = command_flag(in, "format");
    static const char own[] = "\"prices\"";

    if (given != NULL)
        return given;
    return memmem(file.data, file.len, own, sizeof(own) - 1) != NULL ? "muster" : "litellm";
}

/* The file goes into the body as it is: a wrong one is refused there, with its reason. */
static int import_body(struct invocation *in, struct str *ret, struct error *err)
{
    const char *format, *from = command_flag(in, "valid-from");
    struct str file = STR_LIT("");
    struct buf out;

    if (read_file(in, in->names[0], &file, err) != 0)
        return -1;
    format = format_of(in, file);
    buf_init(&out, file.len + KIB(64));
    buf_add_c(&out, "{\"format\":");
    buf_add_json(&out, str_of(format));
    buf_add_c(&out, ",\"valid_from\":");
    if (from == NULL)
        buf_add_c(&out, "null");
    else
        buf_add_json(&out, str_of(from));
    buf_add_c(&out, ",\"prices\":");
    buf_add(&out, file);
    buf_add_char(&out, '}');
    *ret = arena_copy(&in->arena, buf_str(&out));
    buf_done(&out);
    return 0;
}

int run_price_import(struct invocation *in)
{
    struct client_request request = { .method = METHOD_POST,
                                      .path = STR_LIT("/api/v1/platform/prices/import") };
    struct price_imported counts;
    struct client_reply reply;
    struct error err = { 0 };

    if (import_body(in, &request.body, &err) != 0 || ask_send(in, &request, &reply, &err) != 0)
        return command_fail(&err);
    if (in->json)
        return ask_say_json(&reply);
    if (command_read(&reply, &price_imported_shape, &in->arena, &counts, &err) != 0)
        return command_fail(&err);
    (void)printf("%lld added, %lld updated, %lld unchanged, %lld without prices of tokens\n",
                 (long long)counts.added, (long long)counts.updated, (long long)counts.unchanged,
                 (long long)counts.skipped);
    return EXIT_DONE;
}
