/* ask.c - one request to the administrative API, and its parts. */
#include "cli/ask.h"

#include <stdio.h>

#include "cli/command.h"
#include "features/access/shapes.h"
#include "shape/shape.h"

int ask_send(struct invocation *in, const struct client_request *request, struct client_reply *ret,
             struct error *err)
{
    struct client *client;
    int r;

    if (client_new(&in->settings, &client, err) != 0)
        return -1;
    r = client_call(client, request, &in->arena, ret, err);
    client_free(client);
    return r == 0 ? command_check(ret, &in->arena, err) : -1;
}

struct str ask_body(struct invocation *in, const struct shape *shape, const void *value)
{
    struct buf text;
    struct str body;

    buf_init(&text, MIB(16)); /* more than any route takes */
    shape_write_json(shape, value, &text);
    body = arena_copy(&in->arena, buf_str(&text));
    buf_done(&text);
    return body;
}

int ask_say_json(const struct client_reply *reply)
{
    (void)printf("%.*s\n", STR_ARG(reply->body));
    return EXIT_DONE;
}

/* The slug is checked first, so that it can stand in a path as it is. */
int ask_tenant_path(struct invocation *in, const char *slug, const char *rest, struct str *ret,
                    struct error *err)
{
    if (slug == NULL)
        return err_set(err, ERR_INVALID, "--tenant SLUG is missing");
    if (!admin_is_slug(str_of(slug)))
        return err_set(err, ERR_INVALID, "'%s' is not the slug of a tenant", slug);
    *ret = arena_printf(&in->arena, "/api/v1/tenants/%s%s", slug, rest);
    return 0;
}

const char *ask_segment(struct invocation *in, const char *name)
{
    struct buf text;
    const char *copy;

    buf_init(&text, KIB(16));
    for (; *name != '\0'; name++)
        buf_printf(&text, "%%%02x", (unsigned char)*name);
    copy = arena_cstr(&in->arena, buf_str(&text));
    buf_done(&text);
    return copy;
}

int ask_file(struct invocation *in, const char *path, size_t bytes_max, struct str *ret,
             struct error *err)
{
    FILE *file = fopen(path, "re");
    char *bytes;
    size_t n;
    int failed;

    if (file == NULL)
        return err_set(err, ERR_NOT_FOUND, "cannot open '%s'", path);
    bytes = arena_alloc(&in->arena, bytes_max + 1);
    n = fread(bytes, 1, bytes_max + 1, file);
    failed = ferror(file);
    (void)fclose(file);
    if (failed || n > bytes_max)
        return err_set(err, ERR_NOT_FOUND, failed ? "cannot read '%s'" : "'%s' is too large", path);
    *ret = str_from(bytes, n);
    return 0;
}
