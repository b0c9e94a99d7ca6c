/* head.c - finds the end of a request's head and reads its first line, byte-exactly.
 *
 * llhttp alone would take a bare LF for the end of a line, a request line
 * without version, and versions 0.9 and 2.0 (measured with 9.2.1). So lines
 * are found here, each must end in CRLF, and the request line is read here.
 *
 * The order of the checks at a position is fixed (length, then CRLF, then
 * content), and a line that is too long is refused at the byte that makes it
 * so, whether or not its end has arrived: the verdict is a function of the
 * bytes alone, not of how they were split.
 */
#include "http/parser.h"

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
        return http_parser_refuse(p, 414, "The request target is too long");
    if (!target_is_clean(target) || str_is_null(origin_form(target)))
        return http_parser_refuse(p, 400, bad_target);
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
        return http_parser_refuse(p, 400, bad_line);
    return http_parser_refuse(p, 414, "The request target is too long");
}

/* `line` with its '\n'. */
static enum http_parse check_request_line(struct http_parser *p, struct str line)
{
    size_t method, target;

    if (line.len > line_max(p) + 2)
        return refuse_long_line(p, line);
    if (line.len < 2 || line.data[line.len - 2] != '\r')
        return http_parser_refuse(p, 400, "A line must end in CR LF");
    line.len -= 2;
    method = method_length(line);
    if (method == 0 || line.len < method + 1 + 1 + 1 + VERSION_LEN)
        return http_parser_refuse(p, 400, bad_line);
    target = line.len - method - 2 - VERSION_LEN;
    if (line.data[method + 1 + target] != ' ' ||
        memcmp(line.data + line.len - VERSION_LEN, "HTTP/1.", VERSION_LEN - 1) != 0 ||
        (line.data[line.len - 1] != '0' && line.data[line.len - 1] != '1'))
        return http_parser_refuse(p, 400, "Only HTTP/1.0 and HTTP/1.1 are spoken here");
    p->version_10 = line.data[line.len - 1] == '0';
    return check_target(p, str_from(line.data + method + 1, target));
}

/* A header line, `end` after its '\n'. */
static enum http_parse check_field_line(struct http_parser *p, const char *bytes, size_t end)
{
    if (end - p->head.fields_at > p->limits->header_max)
        return http_parser_refuse(p, 431, "The header lines are too long");
    if (++p->head.n_fields > p->limits->header_fields)
        return http_parser_refuse(p, 431, "There are too many header lines");
    if (bytes[end - 2] != '\r')
        return http_parser_refuse(p, 400, "A line must end in CR LF");
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
            return http_parser_refuse(p, 431, "The header lines are too long");
        return PARSE_MORE;
    }
    if (!is_token_char(bytes[at])) /* TLS spoken to a plain port ends here, at its first byte */
        return http_parser_refuse(p, 400, bad_line);
    if (len - at > line_max(p) + 1)
        return refuse_long_line(p, str_from(bytes + at, len - at));
    return PARSE_MORE;
}

enum http_parse http_head_scan(struct http_parser *p, const char *bytes, size_t len,
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

void http_head_fill(struct http_parser *p, const char *bytes)
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
