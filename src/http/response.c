/* response.c - prints the head of a reply. */
#include "http/response.h"

#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/datetime.h"

/* clang-format off */
static const struct {
    int status;
    struct str line;
} status_lines[] = {
    { 200, STR_INIT("HTTP/1.1 200 OK\r\n") },
    { 202, STR_INIT("HTTP/1.1 202 Accepted\r\n") },
    { 201, STR_INIT("HTTP/1.1 201 Created\r\n") },
    { 204, STR_INIT("HTTP/1.1 204 No Content\r\n") },
    { 301, STR_INIT("HTTP/1.1 301 Moved Permanently\r\n") },
    { 302, STR_INIT("HTTP/1.1 302 Found\r\n") },
    { 303, STR_INIT("HTTP/1.1 303 See Other\r\n") },
    { 304, STR_INIT("HTTP/1.1 304 Not Modified\r\n") },
    { 307, STR_INIT("HTTP/1.1 307 Temporary Redirect\r\n") },
    { 308, STR_INIT("HTTP/1.1 308 Permanent Redirect\r\n") },
    { 400, STR_INIT("HTTP/1.1 400 Bad Request\r\n") },
    { 401, STR_INIT("HTTP/1.1 401 Unauthorized\r\n") },
    { 402, STR_INIT("HTTP/1.1 402 Payment Required\r\n") },
    { 403, STR_INIT("HTTP/1.1 403 Forbidden\r\n") },
    { 404, STR_INIT("HTTP/1.1 404 Not Found\r\n") },
    { 405, STR_INIT("HTTP/1.1 405 Method Not Allowed\r\n") },
    { 406, STR_INIT("HTTP/1.1 406 Not Acceptable\r\n") },
    { 408, STR_INIT("HTTP/1.1 408 Request Timeout\r\n") },
    { 409, STR_INIT("HTTP/1.1 409 Conflict\r\n") },
    { 410, STR_INIT("HTTP/1.1 410 Gone\r\n") },
    { 412, STR_INIT("HTTP/1.1 412 Precondition Failed\r\n") },
    { 413, STR_INIT("HTTP/1.1 413 Content Too Large\r\n") },
    { 414, STR_INIT("HTTP/1.1 414 URI Too Long\r\n") },
    { 415, STR_INIT("HTTP/1.1 415 Unsupported Media Type\r\n") },
    { 417, STR_INIT("HTTP/1.1 417 Expectation Failed\r\n") },
    { 422, STR_INIT("HTTP/1.1 422 Unprocessable Content\r\n") },
    { 428, STR_INIT("HTTP/1.1 428 Precondition Required\r\n") },
    { 429, STR_INIT("HTTP/1.1 429 Too Many Requests\r\n") },
    { 431, STR_INIT("HTTP/1.1 431 Request Header Fields Too Large\r\n") },
    { 500, STR_INIT("HTTP/1.1 500 Internal Server Error\r\n") },
    { 502, STR_INIT("HTTP/1.1 502 Bad Gateway\r\n") },
    { 503, STR_INIT("HTTP/1.1 503 Service Unavailable\r\n") },
    { 504, STR_INIT("HTTP/1.1 504 Gateway Timeout\r\n") },
};
/* clang-format on */

static void add_status_line(struct buf *out, int status)
{
    for (size_t i = 0; i < COUNT_OF(status_lines); i++) {
        if (status_lines[i].status == status) {
            buf_add(out, status_lines[i].line);
            return;
        }
    }
    buf_printf(out, "HTTP/1.1 %d \r\n", status); /* the reason may be empty (RFC 9112 4) */
}

static void add_date(struct buf *out, struct http_date *date)
{
    static const char days[][4] = { "Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed" };
    static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    int64_t now_us = clock_wall_us();
    int64_t second = now_us / USEC_PER_SEC;

    if (second != date->second) {
        struct datetime_parts t = datetime_split(now_us);

        date->second = second;
        (void)snprintf(date->line, sizeof(date->line),
                       "Date: %s, %02u %s %04u %02u:%02u:%02u GMT\r\n", days[second / 86400 % 7],
                       (unsigned)t.day % 100, months[(t.month - 1) % 12], (unsigned)t.year % 10000,
                       (unsigned)t.hour % 100, (unsigned)t.minute % 100, (unsigned)t.second % 100);
    }
    buf_add(out, str_from(date->line, sizeof(date->line) - 1));
}

static void add_value(struct buf *out, struct str value)
{
    size_t from = 0;

    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.data[i];

        if (LIKELY((c >= ' ' && c != 0x7f) || c == '\t'))
            continue;
        buf_add(out, str_from(value.data + from, i - from));
        buf_add_char(out, '?');
        from = i + 1;
    }
    if (value.len > from)
        buf_add(out, str_from(value.data + from, value.len - from));
}

void http_response_fields(struct buf *out, const struct http_header *headers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        add_value(out, headers[i].name);
        buf_add(out, STR_LIT(": "));
        add_value(out, headers[i].value);
        buf_add(out, STR_LIT("\r\n"));
    }
}

bool http_status_has_body(int status)
{
    return status >= 200 && status != 204 && status != 304;
}

void http_response_head(struct buf *out, struct http_date *date, const struct http_reply *reply,
                        const struct http_reply_frame *frame)
{
    assert(reply->status >= 200 && reply->status <= 599);
    add_status_line(out, reply->status);
    add_date(out, date);
    if (http_status_has_body(reply->status)) {
        if (reply->content_type != NULL) {
            buf_add(out, STR_LIT("Content-Type: "));
            buf_add_c(out, reply->content_type);
            buf_add(out, STR_LIT("\r\n"));
        }
        if (frame->framing == FRAMING_LENGTH) {
            buf_add(out, STR_LIT("Content-Length: "));
            buf_add_int(out, (int64_t)reply->body.len);
            buf_add(out, STR_LIT("\r\n"));
        } else if (frame->framing == FRAMING_CHUNKED) {
            buf_add(out, STR_LIT("Transfer-Encoding: chunked\r\n"));
        }
    }
    buf_add(out, STR_LIT("X-Request-Id: "));
    buf_add(out, frame->request_id);
    if (frame->close)
        buf_add(out, STR_LIT("\r\nConnection: close\r\n"));
    else if (frame->keep_alive)
        buf_add(out, STR_LIT("\r\nConnection: keep-alive\r\n"));
    else
        buf_add(out, STR_LIT("\r\n"));
}
