/* request.c - a command's path, query and body, the request that carries them, and its reply: the
 * answer, or a sentence of what is wrong. */
#include "cli/request.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/route.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/template.h"
#include "shape/problems.h"
#include "shape/shape.h"
#include "shape/table.h"

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

/* The part of a 422 that people want to read. */
struct problem_item {
    struct str loc, msg;
};

struct problem_list {
    struct list detail;
};

/* clang-format off */
SHAPE_TABLE(static, problem_shape, struct problem_item, "Problem", (),
    JSON(loc, .flags = F_REQUIRED),
    STR(msg, .flags = F_REQUIRED));
STATIC_SHAPE(problem_list, "Problems", (),
    LIST(detail, problem_shape, .flags = F_REQUIRED));
/* clang-format on */

enum { UNPROCESSABLE = 422 };

int request_read(const struct client_reply *reply, const struct shape *shape, struct arena *arena,
                 void *ret, struct error *err)
{
    struct problems *problems = problems_new(arena, "body");

    if (reply->status < 400)
        problems->may_miss = true;
    if (shape_read_json(shape, reply->body, arena, ret, problems) == 0)
        return 0;
    return err_set(err, ERR_INTERNAL, "the server's answer cannot be read (status %d)",
                   reply->status);
}

/* ["body","prices",3,"model"] as "prices 3 model": the body, path or query is named only where no
 * member of it is. */
static struct str place_text(struct str loc, struct arena *arena)
{
    char *text = arena_alloc(arena, loc.len + 1);
    struct str rest = loc;
    size_t n = 0;

    (void)str_split(&rest, ',');
    if (str_starts(rest, STR_LIT("\"")))
        loc = rest;
    for (size_t i = 0; i < loc.len; i++)
        if (loc.data[i] != '"' && loc.data[i] != '[' && loc.data[i] != ']')
            text[n++] = (char)(loc.data[i] == ',' ? ' ' : loc.data[i]);
    return str_from(text, n);
}

/* A sentence of ours stands after what pydantic puts before it. */
static struct str sentence_of(struct str msg)
{
    const struct str before = STR_LIT("Value error, ");

    return str_starts(msg, before) ? str_from(msg.data + before.len, msg.len - before.len) : msg;
}

static int problem_error(const struct problem_item *problem, struct arena *arena, struct error *err)
{
    struct str place = place_text(problem->loc, arena), msg = sentence_of(problem->msg);

    return err_set(err, ERR_FORBIDDEN, "%.*s: %.*s", STR_ARG(place), STR_ARG(msg));
}

/* Of another program, or of a port that speaks TLS: what it says first. */
static int refuse_foreign(const struct client_reply *reply, struct error *err)
{
    enum { LINE_MAX_BYTES = 200 };
    struct str rest = reply->body, line = str_trim(str_split(&rest, '\n'));

    if (line.len > 0 && line.data[line.len - 1] == '\r')
        line.len--;
    if (line.len > LINE_MAX_BYTES)
        line.len = LINE_MAX_BYTES;
    return err_set(err, ERR_INTERNAL, "the answer is not one of muster (status %d): %.*s",
                   reply->status, STR_ARG(line));
}

/* An error body is ERR_FORBIDDEN. */
int request_check(const struct client_reply *reply, struct arena *arena, struct error *err)
{
    struct error_answer answer;
    struct problem_list list;

    if (reply->status >= 200 && reply->status < 300)
        return 0;
    if (reply->status == UNPROCESSABLE &&
        request_read(reply, &problem_list_shape, arena, &list, NULL) == 0 && list.detail.n > 0)
        return problem_error(list.detail.items, arena, err);
    if (request_read(reply, &error_answer_shape, arena, &answer, NULL) != 0)
        return refuse_foreign(reply, err);
    return err_set(err, ERR_FORBIDDEN, "%.*s", STR_ARG(answer.detail));
}

/* The argument that names the file the body was made of, or NULL. */
static const struct given *given_file(const struct invocation *in)
{
    const struct option *args = in->command->args;

    for (size_t i = 0; i < in->n_given; i++) {
        const struct option *o = in->given[i].option;

        if ((o->type == OPTION_BODY || o->type == OPTION_FILE) && o >= args &&
            o < args + COMMAND_ARGS_MAX)
            return &in->given[i];
    }
    return NULL;
}

/* Prefixes the service's error about a body with the name of the file that the body came from. */
static int name_file(struct invocation *in, struct error *err)
{
    static const struct str broken = STR_INIT("body ");
    const struct given *file = given_file(in);
    struct str said = arena_copy(&in->arena, str_of(err->text)), rest = said;
    struct str place = str_split(&rest, ':');

    if (file == NULL)
        return -1;
    if (!str_eq_c(str_trim(rest), "JSON decode error") || !str_starts(place, broken))
        return err_set(err, ERR_FORBIDDEN, "'%s': %.*s", file->value, STR_ARG(said));
    if (file->option->type == OPTION_FILE) /* the body has more than the file */
        return err_set(err, ERR_FORBIDDEN, "'%s' is not valid JSON", file->value);
    return err_set(err, ERR_FORBIDDEN, "'%s' is not valid JSON: error at byte %.*s", file->value,
                   (int)(place.len - broken.len), place.data + broken.len);
}

/* The login that the command uses, or NULL: it counts when the command names no service, or names
 * the login's server without a token. */
static int find_login(struct invocation *in, const struct login **ret, struct error *err)
{
    const bool named = settings_name_service(in->settings_given, in->n_settings_given);
    const struct settings *s = &in->settings;
    struct login *login = ARENA_NEW(&in->arena, struct login);
    bool found;

    *ret = NULL;
    if (named && (s->server[0] == '\0' || s->token_file[0] != '\0'))
        return 0;
    if (login_file_read(&in->arena, login, &found, err) != 0)
        return -1;
    if (found && (!named || str_eq_c(str_of(login->server), s->server)))
        *ret = login;
    if (*ret != NULL && named && s->server_ca[0] != '\0')
        login->server_ca = s->server_ca;
    return 0;
}

static int connect_client(struct invocation *in, struct error *err)
{
    if (in->client != NULL)
        return 0;
    if (find_login(in, &in->login, err) != 0)
        return -1;
    if (in->login == NULL &&
        settings_check_open(&in->settings, in->settings_given, in->n_settings_given, err) != 0)
        return -1;
    return client_new(&in->settings, in->login, in->program->local, &in->client, err);
}

static int transfer(struct invocation *in, const struct client_request *request,
                    const struct client_sink *sink, struct client_reply *ret, struct error *err)
{
    if (connect_client(in, err) != 0 ||
        client_call(in->client, request, sink, &in->arena, ret, err) != 0)
        return -1;
    if (request_check(ret, &in->arena, err) == 0)
        return 0;
    if (ret->status == 401 && in->login != NULL)
        return err_set(err, ERR_FORBIDDEN,
                       "the login at %s has expired or was ended: run `muster login` again",
                       in->login->server);
    return ret->status == UNPROCESSABLE ? name_file(in, err) : -1;
}

int request_send(struct invocation *in, const struct client_request *request,
                 struct client_reply *ret, struct error *err)
{
    return transfer(in, request, NULL, ret, err);
}

int request_pour(struct invocation *in, const struct client_request *request,
                 const struct client_sink *sink, struct error *err)
{
    struct client_reply reply;

    return transfer(in, request, sink, &reply, err);
}

int request_get(struct invocation *in, const char *path, const struct shape *shape, void *ret,
                struct error *err)
{
    const struct client_request request = { .method = METHOD_GET, .path = str_of(path) };
    struct client_reply reply;

    if (request_send(in, &request, &reply, err) != 0)
        return -1;
    return request_read(&reply, shape, &in->arena, ret, err);
}

void request_hang_up(struct invocation *in)
{
    client_free(in->client);
    in->client = NULL;
}
