/* request.c - a command's path, query and body, and the request that carries them. */
#include "cli/request.h"

#include <assert.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/template.h"
#include "shape/shape.h"

/* Means nothing in a URL; a dot does, in "..". */
static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

const char *request_segment(struct invocation *in, const char *name)
{
    struct buf text;
    const char *copy;

    buf_init(&text, KIB(16));
    for (; *name != '\0'; name++)
        buf_printf(&text, is_plain(*name) ? "%c" : "%%%02x", (unsigned char)*name);
    copy = arena_cstr(&in->arena, buf_str(&text));
    buf_done(&text);
    return copy;
}

const char *request_field(struct invocation *in, const struct option *option)
{
    const char *name = option->field != NULL ? option->field : option->name;
    char *text = arena_alloc(&in->arena, strlen(name) + 1);

    for (size_t i = 0; i <= strlen(name); i++)
        text[i] = (char)(name[i] == '-' ? '_' : name[i]);
    return text;
}

/* Does the template have "{name}"? */
static bool has_place(struct str template, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i + n + 2 <= template.len; i++)
        if (template.data[i] == '{' && memcmp(template.data + i + 1, name, n) == 0 &&
            template.data[i + 1 + n] == '}')
            return true;
    return false;
}

bool request_in_path(const struct command *c, const char *name)
{
    return c->path != NULL && has_place(str_of(c->path), name);
}

/* Takes the text up to the next place off `*rest`, and that place's name; STR_NULL: none follows.
 */
static struct str next_place(struct str *rest, struct str *ret_before)
{
    *ret_before = str_split(rest, '{');
    return str_is_null(*rest) ? STR_NULL : str_split(rest, '}');
}

/* The first place of the template that has no value; STR_NULL: all have one. */
static struct str missing_place(struct invocation *in, struct str template)
{
    struct str before, name;

    while (!str_is_null(name = next_place(&template, &before)))
        if (command_value(in, arena_cstr(&in->arena, name)) == NULL)
            return name;
    return STR_NULL;
}

/* Of the row's paths the first whose places all have values: the last always has. */
static struct str choose_path(struct invocation *in)
{
    struct str rest = str_of(in->command->path), path;

    do
        path = str_split(&rest, '|');
    while (!str_is_null(rest) && !str_is_null(missing_place(in, path)));
    return path;
}

/* An option that only another of the paths has needs what that path needs. */
static int check_unused(struct invocation *in, struct str path, const char *name, struct error *err)
{
    struct str rest = str_of(in->command->path), other, missing = STR_NULL;

    if (has_place(path, name) || !request_in_path(in->command, name))
        return 0;
    while (!str_is_null(rest) && str_is_null(missing)) {
        other = str_split(&rest, '|');
        if (has_place(other, name))
            missing = missing_place(in, other);
    }
    return err_set(err, ERR_INVALID, "--%s needs --%.*s", name, STR_ARG(missing));
}

static bool is_sent(const struct command *c, const struct option *option)
{
    return !(option->field != NULL && option->field[0] == '\0') && option->type != OPTION_FILE &&
           option->type != OPTION_BODY && !request_in_path(c, option->name);
}

static void add_query(struct invocation *in, struct buf *out)
{
    bool first = memchr(out->data, '?', out->len) == NULL;

    for (size_t i = 0; i < in->n_given; i++) {
        if (!is_sent(in->command, in->given[i].option))
            continue;
        buf_printf(out, "%c%s=%s", first ? '?' : '&', request_field(in, in->given[i].option),
                   request_segment(in, in->given[i].value));
        first = false;
    }
}

int request_path(struct invocation *in, struct str *ret, struct error *err)
{
    const struct command *c = in->command;
    struct str rest = choose_path(in), path = rest, before, name;
    struct buf out;

    for (size_t i = 0; i < in->n_given; i++)
        if (check_unused(in, path, in->given[i].option->name, err) != 0)
            return -1;
    buf_init(&out, MIB(1));
    do {
        name = next_place(&rest, &before);
        buf_add(&out, before);
        if (!str_is_null(name))
            buf_add_c(&out, request_segment(in, command_value(in, arena_cstr(&in->arena, name))));
    } while (!str_is_null(rest));
    if (c->body == NULL && c->bind == NULL)
        add_query(in, &out);
    *ret = arena_copy(&in->arena, buf_str(&out));
    buf_done(&out);
    return 0;
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
    struct buf out;
    struct str body;

    buf_init(&out, MIB(16)); /* more than any route takes */
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
    body = arena_copy(&in->arena, buf_str(&out));
    buf_done(&out);
    return body;
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
    struct client_request request = { .method = c->method };

    if (request_path(in, &request.path, err) != 0)
        return -1;
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
    struct buf text;
    struct str body;

    buf_init(&text, MIB(16)); /* more than any route takes */
    shape_write_json(shape, value, &text);
    body = arena_copy(&in->arena, buf_str(&text));
    buf_done(&text);
    return body;
}

int request_file(struct invocation *in, const char *path, size_t bytes_max, struct str *ret,
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
