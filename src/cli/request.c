/* request.c - a command's path, query and body, and the request that carries them. */
#include "cli/request.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/print.h"
#include "cli/template.h"
#include "shape/shape.h"

const char *request_field(struct invocation *in, const struct option *option)
{
    const char *name = option->field != NULL ? option->field : option->name;
    char *text = arena_alloc(&in->arena, strlen(name) + 1);

    for (size_t i = 0; i <= strlen(name); i++)
        text[i] = (char)(name[i] == '-' ? '_' : name[i]);
    return text;
}

bool request_in_path(const struct command *c, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = c->path; at != NULL && *at != '\0'; at++)
        if (*at == '{' && strncmp(at + 1, name, n) == 0 && at[1 + n] == '}')
            return true;
    return false;
}

static bool is_sent(const struct command *c, const struct option *option)
{
    return !(option->field != NULL && option->field[0] == '\0') && option->type != OPTION_FILE &&
           option->type != OPTION_BODY && !request_in_path(c, option->name);
}

struct str request_path(struct invocation *in)
{
    const struct command *c = in->command;
    BUF_SCOPED(out, MIB(1));
    bool first;

    template_write_path(in, c->path, &out);
    first = memchr(out.data, '?', out.len) == NULL;
    for (size_t i = 0; i < in->n_given && c->body == NULL && c->bind == NULL; i++) {
        if (!is_sent(c, in->given[i].option))
            continue;
        buf_printf(&out, "%c%s=", first ? '?' : '&', request_field(in, in->given[i].option));
        print_encoded(&out, in->given[i].option->type == OPTION_FLAG ? STR_LIT("true")
                                                                     : str_of(in->given[i].value));
        first = false;
    }
    return buf_take(&out, &in->arena);
}

/* A list of words, separated by commas. */
static void add_words(struct str rest, struct buf *out)
{
    buf_add_char(out, '[');
    for (bool first = true; rest.len > 0; first = false) {
        buf_add_c(out, first ? "" : ",");
        buf_add_json(out, str_split(&rest, ','));
    }
    buf_add_char(out, ']');
}

/* What was given, as the JSON that a member of this type takes. */
static void add_value(const struct field *field, const struct given *given, struct buf *out)
{
    bool is_bool = field->type == T_BOOL || field->type == T_OPT_BOOL;

    if (is_bool)
        buf_add_c(out, strcmp(given->value, "no") == 0 ? "false" : "true");
    else if (field->type == T_INT || field->type == T_OPT_INT)
        buf_add_c(out, given->value);
    else if (field->type == T_LIST_STR)
        add_words(str_of(given->value), out);
    else
        buf_add_json(out, str_of(given->value));
}

/* Only what was given: the service has the defaults. */
struct str request_bind(struct invocation *in, const struct shape *shape)
{
    BUF_SCOPED(out, MIB(16)); /* more than any route takes */

    buf_add_char(&out, '{');
    for (size_t i = 0; i < in->n_given; i++) {
        const struct given *given = &in->given[i];
        const char *name = request_field(in, given->option);
        const struct field *field = template_field(shape, str_of(name));

        if (!is_sent(in->command, given->option))
            continue;
        assert(field != NULL);
        buf_printf(&out, "%s\"%s\":", out.len > 1 ? "," : "", name);
        add_value(field, given, &out);
    }
    buf_add_char(&out, '}');
    return buf_take(&out, &in->arena);
}

/* The file that is the body, if the command takes one. */
static int bind_file(struct invocation *in, struct str *ret, struct error *err)
{
    for (size_t i = 0; i < in->n_given; i++)
        if (in->given[i].option->type == OPTION_BODY)
            return request_file(in, in->given[i].value, MIB(1), ret, err);
    return 0;
}

int request_make(struct invocation *in, struct client_request *ret, struct error *err)
{
    const struct command *c = in->command;
    struct client_request request = { .method = c->method, .path = request_path(in) };

    if (c->bind != NULL) {
        if (c->bind(in, &request.body, err) != 0)
            return -1;
    } else if (c->body != NULL) {
        request.body = request_bind(in, c->body);
    } else if (c->body_text != NULL) {
        request.body = str_of(c->body_text);
    } else if (bind_file(in, &request.body, err) != 0) {
        return -1;
    }
    *ret = request;
    return 0;
}

struct str request_body(struct invocation *in, const struct shape *shape, const void *value)
{
    BUF_SCOPED(text, MIB(16)); /* more than any route takes */

    shape_write_json(shape, value, &text);
    return buf_take(&text, &in->arena);
}

int request_file(struct invocation *in, const char *path, size_t bytes_max, struct str *ret,
                 struct error *err)
{
    FILE *file = fopen(path, "re");
    char *bytes;
    size_t n;
    int failed;

    if (file == NULL)
        return err_set(err, ERR_NOT_FOUND, "cannot open '%s': %s", path, strerror(errno));
    bytes = arena_alloc(&in->arena, bytes_max + 1);
    n = fread(bytes, 1, bytes_max + 1, file);
    failed = ferror(file);
    (void)fclose(file);
    if (failed)
        return err_set(err, ERR_IO, "cannot read '%s'", path);
    if (n > bytes_max)
        return err_set(err, ERR_FORBIDDEN, "'%s' is too large: at most %zu bytes", path, bytes_max);
    *ret = str_from(bytes, n);
    return 0;
}
