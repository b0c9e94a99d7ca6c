/* reply.c - the replies of a call: JSON, headers, and what it is refused with. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/api.h"
#include "api/call.h"
#include "base/buf.h"
#include "base/log.h"
#include "http/exchange.h"
#include "shape/problems.h"
#include "shape/table.h"

static const char *const units[] = { "events", "bytes", NULL };

/* clang-format off */
SHAPE(error_answer, "Error", (.doc = "Any error except a validation error.",
      .example = EXAMPLE({"detail": "Not Found"})),
    STR(detail,    .flags = F_REQUIRED, .doc = "What is wrong and how to fix it."),
    OPT_INT(limit, .flags = F_OMIT, .doc = "The limit that was exceeded (413)."),
    STR(unit,      .flags = F_OMIT, .choices = units, .doc = "Unit of the limit (413)."));
/* clang-format on */

enum { RETRY_LEAST_S = 1, RETRY_SPREAD_S = 5 };

/* Random, so that refused clients do not all retry at once. */
static struct str retry_after(struct api_call *call, int status)
{
    int64_t seconds =
        status == 429 ? call->rate.reset_s : RETRY_LEAST_S + digest_random_below(RETRY_SPREAD_S);

    return arena_printf(call->arena, "%lld", (long long)(seconds < 1 ? 1 : seconds));
}

static int note_refusal(struct api_call *call, struct error *err,
                        const struct call_refusal *refusal)
{
    call->refusal = ARENA_NEW(call->arena, struct call_refusal);
    *call->refusal = *refusal;
    return err_set(err, ERR_INVALID, "%.*s", STR_ARG(refusal->body.detail));
}

int call_refuse(struct api_call *call, struct error *err, int status, const char *fmt, ...)
{
    struct call_refusal refusal = { .status = status };
    char sentence[2048];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(sentence, sizeof(sentence), fmt, args);
    va_end(args);
    refusal.body.detail = arena_copy(call->arena, str_of(sentence));
    if (status == 429 || status == 503)
        refusal.header = (struct http_header){ STR_LIT("Retry-After"), retry_after(call, status) };
    return note_refusal(call, err, &refusal);
}

int call_refuse_share(struct api_call *call, struct error *err, const struct budget *full,
                      enum budget_kind kind)
{
    static const char *const what[BUDGET_KINDS] = {
        [BUDGET_BODY_BYTES] = "request bodies in progress",
        [BUDGET_REPLY_BYTES] = "replies that were not read yet",
        [BUDGET_EVENTS] = "events waiting to be stored",
        [BUDGET_WRITER_US] = "time to store data",
        [BUDGET_READS] = "waiting reads",
        [BUDGET_EXPORTS] = "running exports",
        [BUDGET_STREAMS] = "open live update streams",
        [BUDGET_CONNECTIONS] = "open connections",
        [BUDGET_PIPELINED] = "requests sent ahead",
    };
    const struct budget_level *level = full->level;

    if (str_eq_c(STR_LIT("tenant"), level->name))
        return call_refuse(call, err, 503, "Your workspace's share of %s is used up; retry later",
                           what[kind]);
    if (str_eq_c(STR_LIT("service"), level->name))
        return call_refuse(call, err, 503,
                           "The service is overloaded (%s) and stored nothing of this request; "
                           "retry later",
                           what[kind]);
    if (str_eq_c(STR_LIT("open"), level->name))
        return call_refuse(call, err, 503,
                           "The share of %s for all callers without a key is used up; retry later",
                           what[kind]);
    return call_refuse(call, err, 503, "Your %s's share of %s is used up; retry later", level->name,
                       what[kind]);
}

int call_refuse_size(struct api_call *call, struct error *err, size_t limit, const char *unit)
{
    const struct call_refusal refusal = {
        .status = 413,
        .body = { .detail = arena_printf(
                      call->arena, "The request is too large: the limit is %zu %s", limit, unit),
                  .limit = { true, (int64_t)limit },
                  .unit = str_of(unit) },
    };

    return note_refusal(call, err, &refusal);
}

int call_refuse_caller(struct api_call *call, struct error *err, bool had_token)
{
    static const struct call_refusal refusals[] = {
        { .status = 401,
          .body = { .detail = STR_INIT("Not authenticated") },
          .header = { STR_INIT("WWW-Authenticate"), STR_INIT("Bearer") } },
        { .status = 401,
          .body = { .detail = STR_INIT("Invalid or expired token") },
          .header = { STR_INIT("WWW-Authenticate"), STR_INIT("Bearer error=\"invalid_token\"") } },
    };

    return note_refusal(call, err, &refusals[had_token]);
}

int call_refuse_method(struct api_call *call, struct error *err, struct str allowed)
{
    const struct call_refusal refusal = { .status = 405,
                                          .body = { .detail = STR_LIT("Method Not Allowed") },
                                          .header = { STR_LIT("Allow"), allowed } };

    return note_refusal(call, err, &refusal);
}

int call_refuse_input(struct api_call *call, struct error *err, struct problems *problems)
{
    call->problems = problems;
    return err_set(err, ERR_INVALID, "the input is not valid");
}

int call_refuse_body(struct api_call *call, struct error *err, const char *name, struct str value,
                     const char *sentence)
{
    const struct path_step step = { .name = str_of(name) };
    struct problems *problems = problems_new(call->arena, "body");

    if (str_is_null(value))
        problems_add_rule(problems, &step, 1, STR_NULL, sentence);
    else
        rule_refuse_text(problems, call->arena, name, value, sentence);
    return call_refuse_input(call, err, problems);
}

int call_refuse_query(struct api_call *call, struct error *err, const char *name, struct str value,
                      const char *sentence)
{
    struct problems *problems = problems_new(call->arena, "query");

    rule_refuse_text(problems, call->arena, name, value, sentence);
    return call_refuse_input(call, err, problems);
}

enum {
    SMALL_REPLY = 16 * 1024, /* counts only while it waits for its client */
    HEADERS_MAX = 18,
};

/* On every reply (S16): no framing, no content sniffing. */
static const struct http_header security_headers[] = {
    { STR_INIT("X-Content-Type-Options"), STR_INIT("nosniff") },
    { STR_INIT("Referrer-Policy"), STR_INIT("no-referrer") },
    { STR_INIT("Cross-Origin-Opener-Policy"), STR_INIT("same-origin") },
};

/* An answer of the API is not a page, and must not be cached. */
static const struct http_header data_headers[] = {
    { STR_INIT("Cache-Control"), STR_INIT("no-store") },
    { STR_INIT("Content-Security-Policy"),
      STR_INIT("default-src 'none'; frame-ancestors 'none'; base-uri 'none'") },
};

/* The portal's page loads only resources of this origin, and nothing inline. */
static const struct http_header page_policy = {
    STR_INIT("Content-Security-Policy"),
    STR_INIT("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
             "img-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
             "form-action 'self'")
};

struct headers {
    struct http_header items[HEADERS_MAX];
    size_t n;
    bool secret; /* the body is secret: no copy of it may stay in memory */
};

static void add_header(struct headers *h, struct str name, struct str value)
{
    h->items[h->n++] = (struct http_header){ name, value };
}

static void add_headers(struct headers *h, const struct http_header *more, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add_header(h, more[i].name, more[i].value);
}

/* Cheaper than printf, on every reply. `n` is not negative. */
static struct str decimal(struct arena *arena, int64_t n)
{
    enum { DIGITS_MAX = 20 };
    char *end = (char *)arena_alloc(arena, DIGITS_MAX) + DIGITS_MAX, *at = end;

    do {
        *--at = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    return str_from(at, (size_t)(end - at));
}

static void add_security_headers(const struct api_call *call, struct headers *h)
{
    add_headers(h, security_headers, COUNT_OF(security_headers));
    if (call->api->secure)
        add_header(h, STR_LIT("Strict-Transport-Security"), STR_LIT("max-age=31536000"));
}

static void add_common_headers(const struct api_call *call, struct headers *h)
{
    struct http_header cors[CORS_HEADERS_MAX];

    add_security_headers(call, h);
    add_headers(h, data_headers, COUNT_OF(data_headers));
    if (!str_is_null(call->set_cookie))
        add_header(h, STR_LIT("Set-Cookie"), call->set_cookie);
    add_headers(h, cors, cors_headers(call, cors));
    if (!call->has_rate)
        return;
    add_header(h, STR_LIT("RateLimit-Limit"), decimal(call->arena, call->rate.limit));
    add_header(h, STR_LIT("RateLimit-Remaining"), decimal(call->arena, call->rate.remaining));
    add_header(h, STR_LIT("RateLimit-Reset"), decimal(call->arena, call->rate.reset_s));
}

static void reply_no_room(struct api_call *call, const struct budget *full);

/* With the headers in `h`. Instead a 503, when what the caller has not read yet leaves no room for
 * more. */
static void send_counted(struct api_call *call, struct http_reply *reply, const struct headers *h)
{
    const struct budget *full = NULL;

    if (reply->body_take != NULL && reply->body.len > SMALL_REPLY)
        full = http_charge_reply(&call->exchange->charge, reply->body.len);
    if (full != NULL) {
        http_reply_free(reply);
        reply_no_room(call, full);
        return;
    }
    reply->headers = h->items;
    reply->n_headers = h->n;
    http_reply(call->exchange, reply);
}

/* With the common headers and those already in `h`. */
static void send_reply(struct api_call *call, struct http_reply *reply, struct headers *h)
{
    add_common_headers(call, h);
    send_counted(call, reply, h);
}

/* Takes ownership of the body. */
static void send_typed(struct api_call *call, int status, const char *type, struct headers *h,
                       struct buf *body)
{
    struct http_reply reply = { .status = status,
                                .content_type = type,
                                .body = buf_str(body),
                                .body_take = body->data,
                                .wipe_bytes = h->secret ? body->len : 0 };

    send_reply(call, &reply, h);
}

static void send_body(struct api_call *call, int status, struct headers *h, struct buf *body)
{
    send_typed(call, status, "application/json", h, body);
}

static int refuse_overflown(struct api_call *call, struct error *err)
{
    return call_refuse(call, err, 500, "The answer is too large to send at once");
}

/* A quoted digest of the body. */
static struct str tag_of(struct api_call *call, struct str body)
{
    static const char hex[] = "0123456789abcdef";
    const struct mark mark = digest_mark(body);
    char *tag = arena_alloc(call->arena, 2 + 2 * MARK_BYTES);

    tag[0] = tag[1 + 2 * MARK_BYTES] = '"';
    for (size_t i = 0; i < MARK_BYTES; i++) {
        tag[1 + 2 * i] = hex[mark.bytes[i] >> 4];
        tag[2 + 2 * i] = hex[mark.bytes[i] & 15];
    }
    return str_from(tag, 2 + 2 * MARK_BYTES);
}

bool call_knows_tag(const struct api_call *call, struct str tag)
{
    struct str list = http_header_get(&call->exchange->request, "if-none-match");

    while (!str_is_null(list)) {
        struct str one = str_trim(str_split(&list, ','));

        if (str_starts(one, STR_LIT("W/")))
            one = str_from(one.data + 2, one.len - 2);
        if (str_eq(one, tag) || str_eq(one, STR_LIT("*")))
            return true;
    }
    return false;
}

void call_reply_unchanged(struct api_call *call, struct str tag)
{
    struct http_reply unchanged = { .status = 304 };
    struct headers h = { 0 };

    add_header(&h, STR_LIT("ETag"), tag);
    send_reply(call, &unchanged, &h);
}

void call_reply_accepted(struct api_call *call)
{
    struct http_reply accepted = { .status = 202 };
    struct headers h = { 0 };

    send_reply(call, &accepted, &h);
}

void call_reply_empty(struct api_call *call, const struct http_header *headers, size_t n)
{
    struct http_reply empty = { .status = 204 };
    struct headers h = { 0 };

    add_headers(&h, headers, n);
    send_reply(call, &empty, &h);
}

/* Returns the media type. */
static const char *write_answer(const struct api_call *call, struct buf *out)
{
    if (call->route->write != NULL)
        return call->route->write(call, NULL, out);
    shape_write_json(call->route->answer, call->answer, out);
    return "application/json";
}

/* The tag of the same answer in another coding: only a weak one may be shared (RFC 9110 8.8.3.3).
 */
static struct str weak(struct api_call *call, struct str tag)
{
    return arena_printf(call->arena, "W/%.*s", STR_ARG(tag));
}

/* Answers with an ETag are compressed for clients that accept it. They hold no secret next to text
 * that someone else chose, which their length could reveal. */
static void send_tagged(struct api_call *call, const char *type, struct str tag, struct buf *body)
{
    struct headers h = { 0 };
    bool gzip = http_accepts_gzip(&call->exchange->request) && http_gzip(body);

    add_header(&h, STR_LIT("ETag"), gzip ? weak(call, tag) : tag);
    add_header(&h, STR_LIT("Vary"), STR_LIT("Accept-Encoding"));
    if (gzip)
        add_header(&h, STR_LIT("Content-Encoding"), STR_LIT("gzip"));
    send_typed(call, call->route->status, type, &h, body);
}

static void reply_answer(struct api_call *call)
{
    struct headers h = { 0 };
    struct buf body;
    struct str tag;
    const char *type;

    buf_init(&body, API_REPLY_MAX);
    type = write_answer(call, &body);
    if (body.overflown) {
        buf_done(&body);
        call_run_or_reply(call, refuse_overflown);
        return;
    }
    if (call->route->tagged) {
        tag = tag_of(call, buf_str(&body));
        if (call_knows_tag(call, tag)) {
            buf_done(&body);
            call_reply_unchanged(call, tag);
            return;
        }
        send_tagged(call, type, tag, &body);
        return;
    }
    send_typed(call, call->route->status, type, &h, &body);
}

void call_reply_config(struct api_call *call, struct str tag, struct str missing, struct buf *body)
{
    struct headers h = { .secret = true };

    add_header(&h, STR_LIT("ETag"), tag);
    if (!str_is_null(missing))
        add_header(&h, STR_LIT("X-Config-Missing"), missing);
    send_body(call, call->route->status, &h, body);
}

void call_reply_text(struct api_call *call, const char *content_type, struct buf *body)
{
    struct headers h = { 0 };

    send_typed(call, call->route->status, content_type, &h, body);
}

void call_reply_json(struct api_call *call, int status, struct str text)
{
    struct headers h = { 0 };
    struct http_reply reply = { .status = status,
                                .content_type = "application/json",
                                .body = text };

    send_reply(call, &reply, &h);
}

void call_reply_file(struct api_call *call, const struct call_file *file)
{
    struct headers h = { 0 };
    struct http_reply reply = { .status = 200,
                                .content_type = file->type,
                                .body = file->bytes,
                                .body_take = file->bytes_take };

    add_security_headers(call, &h);
    add_headers(&h, &page_policy, 1);
    add_header(&h, STR_LIT("Cache-Control"),
               file->keep ? STR_LIT("public, max-age=31536000, immutable") : STR_LIT("no-cache"));
    add_header(&h, STR_LIT("Vary"), STR_LIT("Accept-Encoding"));
    if (!str_is_null(file->tag))
        add_header(&h, STR_LIT("ETag"), file->tag);
    if (!str_is_null(file->tag) && call_knows_tag(call, file->tag)) {
        free(file->bytes_take);
        reply = (struct http_reply){ .status = 304 };
    } else if (file->gzip) {
        add_header(&h, STR_LIT("Content-Encoding"), STR_LIT("gzip"));
    }
    send_counted(call, &reply, &h);
}

void call_stream_begin(struct api_call *call, const char *content_type,
                       const struct http_header *headers, size_t n, enum http_stream_kind kind)
{
    struct http_reply head = { .status = call->route->status, .content_type = content_type };
    struct headers h = { 0 };

    add_headers(&h, headers, n);
    add_common_headers(call, &h);
    head.headers = h.items;
    head.n_headers = h.n;
    http_stream_begin(call->exchange, &head, kind);
}

static void reply_problems(struct api_call *call)
{
    struct headers h = { 0 };
    struct buf body;

    buf_init(&body, API_REPLY_MAX);
    problems_write(call->problems, &body);
    send_body(call, 422, &h, &body);
}

static void reply_refusal(struct api_call *call)
{
    const struct call_refusal *refusal = call->refusal;
    const char *type = "application/json";
    struct headers h = { 0 };
    struct buf body;

    if (!str_is_null(refusal->header.name))
        add_header(&h, refusal->header.name, refusal->header.value);
    buf_init(&body, API_REPLY_MAX);
    if (call->route != NULL && call->route->write != NULL)
        type = call->route->write(call, refusal, &body);
    else
        shape_write_json(&error_answer_shape, &refusal->body, &body);
    send_typed(call, refusal->status, type, &h, &body);
}

static void reply_no_room(struct api_call *call, const struct budget *full)
{
    (void)call_refuse_share(call, NULL, full, BUDGET_REPLY_BYTES);
    reply_refusal(call);
}

void call_log_failure(const struct api_call *call, const struct error *err)
{
    struct log_line line;

    log_begin(&line, LOG_ERROR, "failure");
    log_str(&line, "request_id", call->exchange->request_id);
    log_str(&line, "code", str_of(err_text(err->code)));
    log_str(&line, "msg", str_of(err->text));
    log_end(&line);
}

static void refuse_unavailable(struct api_call *call)
{
    (void)call_refuse(call, NULL, 503,
                      "Storage is unavailable; this request may not be stored, so retry later");
}

/* The answer to an error for which no step set one. */
static void refuse_by_code(struct api_call *call, const struct error *err)
{
    switch (err->code) {
    case ERR_NOT_FOUND:
        (void)call_refuse(call, NULL, 404, "%s", err->text);
        return;
    case ERR_CONFLICT:
        (void)call_refuse(call, NULL, 409, "%s", err->text);
        return;
    case ERR_UNAUTHORIZED:
        (void)call_refuse_caller(call, NULL, true);
        return;
    case ERR_FORBIDDEN:
        (void)call_refuse(call, NULL, 403, "%s", err->text);
        return;
    case ERR_BUSY:
        (void)call_refuse(
            call, NULL, 503,
            "The service is overloaded and stored nothing of this request; retry later");
        return;
    case ERR_FULL:
    case ERR_UNAVAILABLE:
    case ERR_IO:
        call_log_failure(call, err);
        refuse_unavailable(call);
        return;
    case ERR_DAMAGED:
        call_log_failure(call, err);
        if (call->route->auth != AUTH_READ && call->route->auth != AUTH_READ_KEY)
            refuse_unavailable(call); /* what was sent can be stored once the page is restored */
        else
            (void)call_refuse(
                call, NULL, 500,
                "Stored data that this request needs is damaged; the log has details, and "
                "`muster check` names damaged rows");
        return;
    default:
        call_log_failure(call, err);
        (void)call_refuse(call, NULL, 500,
                          "Internal error; the log has details under this request's id");
    }
}

void call_reply(struct api_call *call, const struct error *err)
{
    if (err == NULL) {
        reply_answer(call);
    } else if (call->problems != NULL) {
        reply_problems(call);
    } else {
        if (call->refusal == NULL)
            refuse_by_code(call, err);
        reply_refusal(call);
    }
}
