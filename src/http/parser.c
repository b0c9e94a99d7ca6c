/* parser.c - framing: what is one request, and which bytes are its body.
 *
 * 1. llhttp alone would take a bare LF for the end of a line, a request line without version, and
 *    versions 0.9 and 2.0 (measured with 9.2.1). So lines are found here, each must end in CRLF,
 *    and the request line is read here. llhttp gets a request line of ours instead, so that it
 *    neither guesses at methods nor turns to other protocols, and then the header lines in one
 *    piece.
 * 2. A body has Content-Length or is chunked, never both; nothing else frames
 *    a request. llhttp takes chunks apart; a length is counted here.
 * 3. Nothing is fed past the end of a message: what follows belongs to the
 *    next one, which begins with a fresh parser.
 */
#include "http/parser.h"

#include <assert.h>

enum {
    EXTENSION_MAX = 256, /* bytes of chunk extensions in a request */
    GAP_MAX = 4096,      /* of framing between bytes of a body: sizes, extensions, trailers */
    GATHER_STEP = 4096,  /* bytes scanned at a time when a head arrives in pieces */
    GATHER_FIRST = 1024, /* first allocation for such a head */
};

static enum http_parse refuse(struct http_parser *p, int status, const char *detail)
{
    p->stage = STAGE_OVER;
    p->status = status;
    p->detail = detail;
    return PARSE_REFUSED;
}

/* The head: the order of the checks at a position is fixed (length, then CRLF, then content), and a
 * line that is too long is refused at the byte that makes it so, whether or not its end has
 * arrived. So the verdict is a function of the bytes alone, not of how they were split. */

enum { METHOD_MAX = 32, VERSION_LEN = sizeof("HTTP/1.1") - 1 };

/* clang-format off */
static const struct {
    struct str name;
    enum http_method method;
} methods[] = {
    { STR_INIT("GET"),    METHOD_GET },
    { STR_INIT("POST"),   METHOD_POST },
    { STR_INIT("HEAD"),   METHOD_HEAD },
    { STR_INIT("PUT"),    METHOD_PUT },
    { STR_INIT("PATCH"),  METHOD_PATCH },
    { STR_INIT("DELETE"), METHOD_DELETE },
};
/* clang-format on */

static const char bad_line[] = "The request line is not well formed";
static const char bad_target[] = "The request target is not well formed";

static bool is_token_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

/* The length of the method at the start of `line`; 0 when none ends within METHOD_MAX. */
static size_t method_length(struct str line)
{
    size_t n = 0;

    while (n < line.len && n <= METHOD_MAX && is_token_char(line.data[n]))
        n++;
    return n <= METHOD_MAX && n < line.len && line.data[n] == ' ' ? n : 0;
}

static enum http_method method_of(struct str name)
{
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        if (str_eq(name, methods[i].name))
            return methods[i].method;
    }
    return METHOD_OTHER;
}

/* Past "http://host" in absolute form; `target` itself in origin form; STR_NULL in any other. */
static struct str origin_form(struct str target)
{
    static const struct str schemes[] = { STR_INIT("http://"), STR_INIT("https://") };

    if (target.len > 0 && target.data[0] == '/')
        return target;
    for (size_t i = 0; i < COUNT_OF(schemes); i++) {
        size_t at = schemes[i].len;

        if (target.len <= at || !str_eq_nocase(str_from(target.data, at), schemes[i]))
            continue;
        while (at < target.len && target.data[at] != '/' && target.data[at] != '?')
            at++;
        if (at == schemes[i].len)
            return STR_NULL; /* no host */
        return str_from(target.data + at, target.len - at);
    }
    return STR_NULL;
}

static bool target_is_clean(struct str target)
{
    for (size_t i = 0; i < target.len; i++) {
        unsigned char c = (unsigned char)target.data[i];

        if (c <= ' ' || c >= 0x7f || c == '#')
            return false;
    }
    return true;
}

static enum http_parse check_target(struct http_parser *p, struct str target)
{
    if (target.len > p->limits->target_max)
        return refuse(p, 414, "The request target is too long");
    if (!target_is_clean(target) || str_is_null(origin_form(target)))
        return refuse(p, 400, bad_target);
    return PARSE_MORE;
}

/* What a line may measure without its end: the longest method and target, and the version. */
static size_t line_max(const struct http_parser *p)
{
    return METHOD_MAX + 1 + p->limits->target_max + 1 + VERSION_LEN;
}

static enum http_parse refuse_long_line(struct http_parser *p, struct str line)
{
    if (method_length(line) == 0)
        return refuse(p, 400, bad_line);
    return refuse(p, 414, "The request target is too long");
}

/* `line` with its '\n'. */
static enum http_parse check_request_line(struct http_parser *p, struct str line)
{
    size_t method, target;

    if (line.len > line_max(p) + 2)
        return refuse_long_line(p, line);
    if (line.len < 2 || line.data[line.len - 2] != '\r')
        return refuse(p, 400, "A line must end in CR LF");
    line.len -= 2;
    method = method_length(line);
    if (method == 0 || line.len < method + 1 + 1 + 1 + VERSION_LEN)
        return refuse(p, 400, bad_line);
    target = line.len - method - 2 - VERSION_LEN;
    if (line.data[method + 1 + target] != ' ' ||
        memcmp(line.data + line.len - VERSION_LEN, "HTTP/1.", VERSION_LEN - 1) != 0 ||
        (line.data[line.len - 1] != '0' && line.data[line.len - 1] != '1'))
        return refuse(p, 400, "Only HTTP/1.0 and HTTP/1.1 are spoken here");
    p->version_10 = line.data[line.len - 1] == '0';
    return check_target(p, str_from(line.data + method + 1, target));
}

/* A header line, `end` after its '\n'. */
static enum http_parse check_field_line(struct http_parser *p, const char *bytes, size_t end)
{
    if (end - p->head.fields_at > p->limits->header_max)
        return refuse(p, 431, "The header lines are too long");
    if (++p->head.n_fields > p->limits->header_fields)
        return refuse(p, 431, "There are too many header lines");
    if (bytes[end - 2] != '\r')
        return refuse(p, 400, "A line must end in CR LF");
    return PARSE_MORE;
}

static bool is_empty_line(const char *bytes, size_t at, size_t end)
{
    return end - at == 2 && bytes[at] == '\r';
}

/* The line from head.line_at to `end`, which is after its '\n'. */
static enum http_parse check_line(struct http_parser *p, const char *bytes, size_t end)
{
    size_t at = p->head.line_at;
    enum http_parse r;

    p->head.line_at = end;
    if (p->head.fields_at != 0)
        return is_empty_line(bytes, at, end) ? PARSE_HEAD : check_field_line(p, bytes, end);
    if (at == 0 && is_empty_line(bytes, at, end)) { /* RFC 9112 2.2: some clients add one */
        p->head.request_line = end;
        return PARSE_MORE;
    }
    r = check_request_line(p, str_from(bytes + at, end - at));
    if (r == PARSE_MORE)
        p->head.fields_at = end;
    return r;
}

/* What can be said of a line whose end has not arrived. */
static enum http_parse check_partial_line(struct http_parser *p, const char *bytes, size_t len)
{
    size_t at = p->head.line_at;
    bool maybe_empty = len - at == 1 && bytes[at] == '\r';

    if (len == at || maybe_empty)
        return PARSE_MORE;
    if (p->head.fields_at != 0) {
        if (len - p->head.fields_at > p->limits->header_max)
            return refuse(p, 431, "The header lines are too long");
        return PARSE_MORE;
    }
    if (!is_token_char(bytes[at])) /* TLS spoken to a plain port ends here, at its first byte */
        return refuse(p, 400, bad_line);
    if (len - at > line_max(p) + 1)
        return refuse_long_line(p, str_from(bytes + at, len - at));
    return PARSE_MORE;
}

/* Finds the end of the head in bytes [0, len). PARSE_MORE, PARSE_HEAD (*ret_end is its length) or
 * PARSE_REFUSED. */
static enum http_parse scan_head(struct http_parser *p, const char *bytes, size_t len,
                                 size_t *ret_end)
{
    const char *lf;

    while ((lf = memchr(bytes + p->head.scanned, '\n', len - p->head.scanned)) != NULL) {
        size_t end = (size_t)(lf - bytes) + 1;
        enum http_parse r;

        p->head.scanned = end;
        r = check_line(p, bytes, end);
        if (r != PARSE_MORE) {
            *ret_end = end;
            return r;
        }
    }
    p->head.scanned = len;
    return check_partial_line(p, bytes, len);
}

/* Method, target and version of the request line that scan_head() has found good, as spans of
 * `bytes`. */
static void fill_head(struct http_parser *p, const char *bytes)
{
    struct http_request *request = &p->x->request;
    struct str rest = str_from(bytes + p->head.request_line,
                               p->head.fields_at - p->head.request_line - 2 - 1 - VERSION_LEN);

    request->method_name = str_split(&rest, ' ');
    request->method = method_of(request->method_name);
    request->query = origin_form(rest);
    request->path = str_split(&request->query, '?');
    if (request->path.len == 0) /* "http://host" and "http://host?query" */
        request->path = STR_LIT("/");
}

static struct http_parser *parser_of(llhttp_t *llhttp)
{
    return llhttp->data;
}

/* llhttp's callbacks. Those for header lines also run for trailers, which are dropped. */

/* A span may be reported in several adjacent pieces. */
static void extend(struct str *span, const char *at, size_t len)
{
    if (str_is_null(*span))
        span->data = at;
    span->len = (size_t)(at + len - span->data);
}

static int on_field(llhttp_t *llhttp, const char *at, size_t len)
{
    struct http_parser *p = parser_of(llhttp);

    if (p->stage == STAGE_HEAD)
        extend(&p->fields[p->x->request.n_headers].name, at, len);
    return 0;
}

static int on_value(llhttp_t *llhttp, const char *at, size_t len)
{
    struct http_parser *p = parser_of(llhttp);

    if (p->stage == STAGE_HEAD)
        extend(&p->fields[p->x->request.n_headers].value, at, len);
    return 0;
}

static int on_value_complete(llhttp_t *llhttp)
{
    struct http_parser *p = parser_of(llhttp);
    struct http_header *field;
    char *name;

    if (p->stage != STAGE_HEAD)
        return 0;
    field = &p->fields[p->x->request.n_headers++];
    field->value = str_is_null(field->value) ? STR_LIT("") : str_trim(field->value);
    name = p->head.bytes + (field->name.data - p->head.bytes);
    for (size_t i = 0; i < field->name.len; i++) {
        if (name[i] >= 'A' && name[i] <= 'Z')
            name[i] = (char)(name[i] | 0x20);
    }
    return 0;
}

/* The framing bytes before `at` close a gap; what they add up to is bounded. */
static bool gap_is_bounded(struct http_parser *p, const char *at)
{
    p->gap += (size_t)(at - p->gap_from);
    p->gap_from = at;
    return p->gap <= GAP_MAX;
}

/* Adds bytes to the body and counts them, as sent, for the caller. */
static enum http_body_verdict add_body(struct http_parser *p, struct str bytes)
{
    if (p->x->drops_body)
        return http_body_count(p->body, bytes, p->x->body_max);
    if (http_body_add(p->body, bytes, p->x->body_max) != BODY_FINE)
        return BODY_TOO_LARGE;
    if (http_charge_body(&p->x->charge, bytes.len))
        return BODY_FINE;
    p->x->no_room = true;
    return BODY_TOO_LARGE;
}

static int on_body(llhttp_t *llhttp, const char *at, size_t len)
{
    struct http_parser *p = parser_of(llhttp);

    if (!gap_is_bounded(p, at)) {
        p->verdict = BODY_CORRUPT;
        return -1;
    }
    p->gap = 0;
    p->gap_from = at + len;
    p->verdict = add_body(p, str_from(at, len));
    return p->verdict == BODY_FINE ? 0 : -1;
}

static int on_extension(llhttp_t *llhttp, const char *at, size_t len)
{
    struct http_parser *p = parser_of(llhttp);

    (void)at;
    p->extension_bytes += (unsigned)(len <= EXTENSION_MAX ? len : EXTENSION_MAX + 1);
    return p->extension_bytes <= EXTENSION_MAX ? 0 : -1;
}

static int on_message_complete(llhttp_t *llhttp)
{
    parser_of(llhttp)->message_complete = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_header_field = on_field,
    .on_header_value = on_value,
    .on_header_value_complete = on_value_complete,
    .on_body = on_body,
    .on_chunk_extension_name = on_extension,
    .on_chunk_extension_value = on_extension,
    .on_message_complete = on_message_complete,
};

void http_parser_begin(struct http_parser *p, const struct http_limits *limits,
                       struct http_exchange *x, struct http_body *body)
{
    *p = (struct http_parser){ .limits = limits, .x = x, .body = body };
    x->request = (struct http_request){
        .method = METHOD_OTHER,
        .method_name = STR_LIT(""),
        .path = STR_LIT(""),
        .body = STR_LIT(""),
        .peer = x->request.peer,
        .peer_address = x->request.peer_address,
        .began_us = x->request.began_us,
    };
}

/* Header lines that decide framing, each found at most once. */
struct framing {
    struct str host, length, transfer, expect, coding;
    bool repeated;        /* one that must stand alone came twice */
    bool repeated_coding; /* several codings applied in a row: not supported */
};

static void note(struct str *slot, struct str value, bool *repeated)
{
    if (!str_is_null(*slot))
        *repeated = true;
    *slot = value;
}

static struct framing find_framing(const struct http_request *request)
{
    struct framing f = { 0 };

    for (size_t i = 0; i < request->n_headers; i++) {
        struct str name = request->headers[i].name;
        struct str value = request->headers[i].value;

        if (str_eq(name, STR_LIT("host")))
            note(&f.host, value, &f.repeated);
        else if (str_eq(name, STR_LIT("content-length")))
            note(&f.length, value, &f.repeated);
        else if (str_eq(name, STR_LIT("transfer-encoding")))
            note(&f.transfer, value, &f.repeated);
        else if (str_eq(name, STR_LIT("expect")))
            note(&f.expect, value, &f.repeated);
        else if (str_eq(name, STR_LIT("content-encoding")))
            note(&f.coding, value, &f.repeated_coding);
    }
    return f;
}

static bool host_is_clean(struct str host)
{
    for (size_t i = 0; i < host.len; i++) {
        unsigned char c = (unsigned char)host.data[i];

        if (c <= ' ' || c >= 0x7f || strchr(",/@\\?#\"<>", c) != NULL)
            return false;
    }
    return true;
}

static enum http_coding coding_of(const struct framing *f)
{
    if (f->repeated_coding)
        return CODING_OTHER;
    if (f->coding.len == 0 || str_eq_nocase(f->coding, STR_LIT("identity")))
        return CODING_IDENTITY;
    if (str_eq_nocase(f->coding, STR_LIT("gzip")) || str_eq_nocase(f->coding, STR_LIT("x-gzip")))
        return CODING_GZIP;
    return CODING_OTHER;
}

/* NULL, or why these header lines do not frame a request unambiguously. */
static const char *framing_problem(const struct http_parser *p, const struct framing *f)
{
    if (f->repeated)
        return "Host, Content-Length, Transfer-Encoding and Expect must not be repeated";
    if (str_is_null(f->host) && !p->version_10)
        return "HTTP/1.1 needs a Host header";
    if (!host_is_clean(f->host))
        return "The Host header is not well formed";
    if (str_is_null(f->transfer))
        return NULL;
    if (p->version_10)
        return "HTTP/1.0 has no Transfer-Encoding";
    if (!str_is_null(f->length))
        return "Content-Length and Transfer-Encoding exclude each other";
    if (!str_eq(f->transfer, STR_LIT("chunked")))
        return "The only Transfer-Encoding is chunked";
    return NULL;
}

/* The head is complete and llhttp has accepted it. */
static enum http_parse conclude_head(struct http_parser *p)
{
    struct http_request *request = &p->x->request;
    struct framing f = find_framing(request);
    const char *problem = framing_problem(p, &f);

    if (problem != NULL)
        return refuse(p, 400, problem);
    p->chunked = !str_is_null(f.transfer);
    p->keep_alive = llhttp_should_keep_alive(&p->llhttp) != 0;
    request->has_length = !str_is_null(f.length);
    request->length = request->has_length ? p->llhttp.content_length : 0;
    request->has_body = p->chunked || request->length > 0;
    request->coding = coding_of(&f);
    p->unread = request->length;
    if (!str_is_null(f.expect)) {
        if (!str_eq_nocase(f.expect, STR_LIT("100-continue")))
            return refuse(p, 417,
                          "The only expectation that can be met is "
                          "100-continue");
        p->expects_continue = request->has_body && !p->version_10;
    }
    p->stage = STAGE_BODY;
    return PARSE_HEAD;
}

/* head.bytes holds the whole head, of `end` bytes. */
static enum http_parse parse_head(struct http_parser *p, size_t end)
{
    static const char line_10[] = "POST / HTTP/1.0\r\n", line_11[] = "POST / HTTP/1.1\r\n";
    size_t at = p->head.fields_at;
    llhttp_errno_t r;

    fill_head(p, p->head.bytes);
    p->fields = ARENA_ARRAY(p->x->arena, struct http_header, p->head.n_fields + 1);
    p->x->request.headers = p->fields;
    llhttp_init(&p->llhttp, HTTP_REQUEST, &settings);
    p->llhttp.data = p;
    (void)llhttp_execute(&p->llhttp, p->version_10 ? line_10 : line_11, sizeof(line_11) - 1);
    r = llhttp_execute(&p->llhttp, p->head.bytes + at, end - at);
    if (r != HPE_OK && !p->message_complete) {
        p->x->request.n_headers = 0;
        return refuse(p, 400, "The header lines are not well formed");
    }
    return conclude_head(p);
}

/* Makes head.bytes hold `len` bytes more. */
static void gather(struct http_parser *p, const char *bytes, size_t len)
{
    struct http_head *head = &p->head;

    if (len > head->capacity - head->len) {
        size_t capacity = head->capacity == 0 ? GATHER_FIRST : head->capacity * 2;

        if (capacity < head->len + len)
            capacity = head->len + len;
        head->bytes = arena_resize(p->x->arena, head->bytes, head->capacity, capacity);
        head->capacity = capacity;
    }
    memcpy(head->bytes + head->len, bytes, len);
    head->len += len;
}

/* Refused after the request line: it is kept, for the log. */
static enum http_parse refused_head(struct http_parser *p, const char *bytes)
{
    if (p->head.fields_at != 0)
        fill_head(p, arena_copy(p->x->arena, str_from(bytes, p->head.fields_at)).data);
    return PARSE_REFUSED;
}

static void consume(struct str *input, size_t n)
{
    if (n == 0) /* there may be no input at all */
        return;
    input->data += n;
    input->len -= n;
}

static enum http_parse feed_head(struct http_parser *p, struct str *input)
{
    while (input->len > 0) {
        size_t before = p->head.len, end = 0;
        struct str seen = *input; /* the common case: all of the head in one piece */
        enum http_parse r;

        if (before > 0) {
            gather(p, input->data, input->len < GATHER_STEP ? input->len : GATHER_STEP);
            seen = str_from(p->head.bytes, p->head.len);
        }
        r = scan_head(p, seen.data, seen.len, &end);
        if (r == PARSE_REFUSED)
            return refused_head(p, seen.data);
        if (before == 0)
            gather(p, seen.data, r == PARSE_HEAD ? end : seen.len);
        if (r == PARSE_HEAD) {
            consume(input, end - before);
            return parse_head(p, end);
        }
        consume(input, p->head.len - before);
    }
    return PARSE_MORE;
}

static enum http_parse too_large(struct http_parser *p)
{
    p->stage = STAGE_OVER;
    return PARSE_TOO_LARGE;
}

static enum http_parse complete(struct http_parser *p)
{
    p->stage = STAGE_OVER;
    if (p->discard)
        return PARSE_COMPLETE;
    p->body->gzip =
        p->x->request.has_body && !p->x->drops_body && p->x->request.coding == CODING_GZIP;
    p->x->request.body = buf_str(&p->body->bytes);
    return PARSE_COMPLETE;
}

static enum http_parse feed_counted(struct http_parser *p, struct str *input)
{
    size_t n = p->unread < input->len ? (size_t)p->unread : input->len;

    if (!p->discard) {
        enum http_body_verdict verdict = BODY_TOO_LARGE;

        if (p->x->request.length <= p->x->body_max)
            verdict = add_body(p, str_from(input->data, n));
        if (verdict != BODY_FINE)
            return too_large(p);
    }
    consume(input, n);
    p->unread -= n;
    return p->unread == 0 ? complete(p) : PARSE_MORE;
}

static enum http_parse feed_chunked(struct http_parser *p, struct str *input)
{
    static const char bad_chunks[] = "The chunks of the body are not well formed";
    const char *end = input->data + input->len;
    llhttp_errno_t r;

    if (input->len == 0)
        return PARSE_MORE;
    p->gap_from = input->data;
    p->verdict = BODY_FINE;
    r = llhttp_execute(&p->llhttp, input->data, input->len);
    if (p->verdict == BODY_TOO_LARGE)
        return too_large(p);
    if (r == HPE_PAUSED && p->message_complete)
        end = llhttp_get_error_pos(&p->llhttp);
    else if (r != HPE_OK)
        return refuse(p, 400, bad_chunks);
    if (!gap_is_bounded(p, end))
        return refuse(p, 400, bad_chunks);
    consume(input, (size_t)(end - input->data));
    return p->message_complete ? complete(p) : PARSE_MORE;
}

enum http_parse http_parser_feed(struct http_parser *p, struct str *input)
{
    assert(p->discard == (p->x == NULL));
    switch (p->stage) {
    case STAGE_HEAD:
        return feed_head(p, input);
    case STAGE_BODY:
        return p->chunked ? feed_chunked(p, input) : feed_counted(p, input);
    case STAGE_OVER:
        break;
    }
    return PARSE_MORE;
}

void http_parser_discard(struct http_parser *p)
{
    assert(!p->discard && !p->chunked); /* send.c closes after unread chunks */
    p->discard = true;
    p->stage = STAGE_BODY;
    p->x = NULL;
    p->body = NULL;
}
