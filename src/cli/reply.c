/* reply.c - sending a request, and its reply: the answer, or a sentence of what is wrong. */
#include "cli/command.h"
#include "cli/login_file.h"
#include "cli/request.h"
#include "shape/problems.h"
#include "shape/table.h"

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

/* What the service says about a body, with the name of the file it was made of. */
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
