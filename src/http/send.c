/* send.c - whole replies, from the application to the socket.
 *
 * Most replies are sent at once: one head printed into the loop's buffer, one
 * writev. What the socket does not take is queued, at most one reply per
 * connection, and times out when the client does not read. By then nothing is
 * left of its request but the reply itself, which counts for the caller.
 */
#include <linux/sockios.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/datetime.h"
#include "http/internal.h"

/* How the client knows the end of the body. */
enum http_framing {
    FRAMING_LENGTH,
    FRAMING_CHUNKED,
    FRAMING_CLOSE, /* by the end of the connection */
};

/* What follows from the connection, not from the reply. */
struct reply_frame {
    struct str request_id;
    bool close;      /* Connection: close */
    bool keep_alive; /* Connection: keep-alive, for clients of HTTP/1.0 */
    enum http_framing framing;
};

/* clang-format off */
static const struct {
    int status;
    struct str line;
} status_lines[] = {
    { 200, STR_INIT("HTTP/1.1 200 OK\r\n") },
    { 202, STR_INIT("HTTP/1.1 202 Accepted\r\n") },
    { 201, STR_INIT("HTTP/1.1 201 Created\r\n") },
    { 204, STR_INIT("HTTP/1.1 204 No Content\r\n") },
    { 304, STR_INIT("HTTP/1.1 304 Not Modified\r\n") },
    { 400, STR_INIT("HTTP/1.1 400 Bad Request\r\n") },
    { 401, STR_INIT("HTTP/1.1 401 Unauthorized\r\n") },
    { 402, STR_INIT("HTTP/1.1 402 Payment Required\r\n") },
    { 403, STR_INIT("HTTP/1.1 403 Forbidden\r\n") },
    { 404, STR_INIT("HTTP/1.1 404 Not Found\r\n") },
    { 405, STR_INIT("HTTP/1.1 405 Method Not Allowed\r\n") },
    { 408, STR_INIT("HTTP/1.1 408 Request Timeout\r\n") },
    { 409, STR_INIT("HTTP/1.1 409 Conflict\r\n") },
    { 413, STR_INIT("HTTP/1.1 413 Content Too Large\r\n") },
    { 414, STR_INIT("HTTP/1.1 414 URI Too Long\r\n") },
    { 415, STR_INIT("HTTP/1.1 415 Unsupported Media Type\r\n") },
    { 417, STR_INIT("HTTP/1.1 417 Expectation Failed\r\n") },
    { 422, STR_INIT("HTTP/1.1 422 Unprocessable Content\r\n") },
    { 429, STR_INIT("HTTP/1.1 429 Too Many Requests\r\n") },
    { 431, STR_INIT("HTTP/1.1 431 Request Header Fields Too Large\r\n") },
    { 500, STR_INIT("HTTP/1.1 500 Internal Server Error\r\n") },
    { 503, STR_INIT("HTTP/1.1 503 Service Unavailable\r\n") },
    { 507, STR_INIT("HTTP/1.1 507 Insufficient Storage\r\n") },
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

/* May a reply with this status have a body? */
static bool has_body(int status)
{
    return status >= 200 && status != 204 && status != 304;
}

/* The head as far as it is the carrier's: the reply's own lines and an empty one follow. */
static void add_head(struct buf *out, struct http_date *date, const struct http_reply *reply,
                     const struct reply_frame *frame)
{
    assert(reply->status >= 200 && reply->status <= 599);
    add_status_line(out, reply->status);
    add_date(out, date);
    if (has_body(reply->status)) {
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

enum {
    SKIP_MAX = 64 * 1024, /* bytes of an unwanted body that are read to keep the connection */
};

/* Half-closes and drains, so that the client gets to read the answer. */
static void linger(struct http_conn *c)
{
    uv_os_fd_t fd;

    http_conn_drop_stash(c);
    http_transport_say_end(c);
    if (c->eof || uv_fileno(&c->h.handle, &fd) != 0 || shutdown(fd, SHUT_WR) != 0) {
        http_conn_close(c);
        return;
    }
    http_conn_enter(c, CONN_LINGER);
}

/* Closing with unread input resets the connection, and the client may lose the answer. */
static void close_cleanly(struct http_conn *c)
{
    char byte;
    uv_os_fd_t fd;

    if (http_conn_has_leftover(c) ||
        (uv_fileno(&c->h.handle, &fd) == 0 && recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0))
        linger(c);
    else
        http_conn_close(c);
}

/* The state of the connection once this reply is out. */
static enum http_conn_state after_reply(const struct http_conn *c)
{
    const struct http_parser *p = &c->parser;
    bool leftover = http_conn_has_leftover(c);
    bool keep = p->keep_alive && (!c->loop->draining || leftover);

    if (c->refused)
        return CONN_LINGER;
    if (c->state == CONN_BUSY && !c->cut_short)
        return keep ? CONN_IDLE : CONN_CLOSING;
    /* Part of the body is still to come; a client that waits for a 100 may not send it. */
    if (p->chunked || p->unread > SKIP_MAX || (p->expects_continue && !leftover))
        return CONN_LINGER;
    if (keep)
        return CONN_SKIP;
    return p->unread == 0 ? CONN_CLOSING : CONN_LINGER;
}

static void call_on_done(struct http_call *call, int status, size_t bytes)
{
    const struct http_app *app = call->loop->app;

    assert(call->x.replied); /* by the application, or by its on_refused */
    app->on_done(app->ctx, &call->x, status, bytes);
}

static void free_call(struct http_call *call)
{
    if (call->conn != NULL)
        call->conn->call = NULL;
    http_loop_free_call(call);
}

/* The reply is out, or lost. */
static void forget_call(struct http_call *call, int status, size_t bytes)
{
    call_on_done(call, status, bytes);
    free_call(call);
}

void http_conn_sent(struct http_conn *c)
{
    assert(c->call == NULL);
    switch (c->after) {
    case CONN_IDLE:
        http_conn_enter(c, CONN_IDLE);
        break;
    case CONN_SKIP:
        http_parser_discard(&c->parser);
        http_conn_enter(c, CONN_SKIP);
        break;
    case CONN_LINGER:
        linger(c);
        break;
    default:
        close_cleanly(c);
        break;
    }
    if (!c->pumping)
        http_conn_resume(c);
}

static void written(uv_write_t *write, int status)
{
    struct http_call *call = write->data;
    struct http_conn *c = call->conn;

    assert(c->state == CONN_WRITE || c->state == CONN_CLOSING);
    c->loop->now_us = clock_mono_us();
    http_reply_free(&call->reply);
    free_call(call);
    if (status != 0)
        http_conn_close(c);
    else
        http_conn_sent(c);
}

uint64_t http_conn_in_kernel(const struct http_conn *c)
{
    uv_os_fd_t fd;
    int n = 0;

    if (uv_fileno(&c->h.handle, &fd) != 0 || ioctl(fd, SIOCOUTQ, &n) != 0 || n < 0)
        return 0;
    return (uint64_t)n;
}

uv_buf_t http_conn_buf(struct str s)
{
    union {
        const char *read_only;
        char *base;
    } bytes = { .read_only = s.data };

    return uv_buf_init(bytes.base, (unsigned)s.len);
}

/* The reply will wait for its client: frees what it does not need. */
static void shed_request(struct http_call *call)
{
    bool in_arena = call->reply.body_take == NULL; /* as far as is known here */

    call_on_done(call, call->reply.status, call->reply.body.len);
    http_charge_drop_body(&call->x.charge);
    http_body_reset(&call->body);
    if (in_arena)
        return;
    http_charge_waiting(&call->x.charge, call->reply.body.len);
    arena_reset(&call->arena);
}

/* Queues what is left after the first `n` bytes of head and body. */
static void queue_rest(struct http_call *call, const struct http_reply *reply, size_t n)
{
    struct http_conn *c = call->conn;
    struct str head = buf_str(&call->loop->out), body = reply->body;
    size_t of_head = n < head.len ? n : head.len;
    uv_buf_t bufs[2];

    buf_clear(&call->fields); /* they are in the head, of which some may be left */
    buf_add(&call->fields, str_from(head.data + of_head, head.len - of_head));
    bufs[0] = http_conn_buf(buf_str(&call->fields));
    bufs[1] = http_conn_buf(str_from(body.data + (n - of_head), body.len - (n - of_head)));
    call->reply = *reply;
    call->write.data = call;
    http_conn_enter(c, CONN_WRITE);
    shed_request(call);
    if (http_transport_write(c, &call->write, bufs, written) != 0) {
        http_reply_free(reply);
        free_call(call);
        http_conn_close(c);
        return;
    }
    c->write_left =
        head.len + body.len; /* the client may have read some of the first `n` already */
}

static void print_head(struct http_call *call, const struct http_reply *reply, struct str fields,
                       enum http_framing framing)
{
    struct http_conn *c = call->conn;
    struct buf *out = &call->loop->out;
    struct reply_frame frame = { .request_id = call->x.request_id, .framing = framing };

    frame.close = c->after == CONN_LINGER || c->after == CONN_CLOSING;
    frame.keep_alive = c->parser.version_10 && framing != FRAMING_CLOSE;
    buf_clear(out);
    add_head(out, &call->loop->date, reply, &frame);
    if (str_is_null(fields))
        http_response_fields(out, reply->headers, reply->n_headers);
    else
        buf_add(out, fields);
    buf_add(out, STR_LIT("\r\n"));
}

struct str http_conn_stream_head(struct http_call *call, bool chunked)
{
    struct http_conn *c = call->conn;

    c->after = chunked ? after_reply(c) : CONN_CLOSING;
    print_head(call, &call->reply, buf_str(&call->fields),
               chunked ? FRAMING_CHUNKED : FRAMING_CLOSE);
    return buf_str(&call->loop->out);
}

void http_conn_send(struct http_call *call, const struct http_reply *reply, struct str fields)
{
    struct http_conn *c = call->conn;
    struct http_reply shown = *reply;
    struct str head;
    uv_buf_t bufs[2];
    size_t total;
    int n;

    assert(http_loop_is_mine(call->loop));
    assert(c->call == call && c->state != CONN_WRITE); /* one reply at a time */
    c->after = after_reply(c);
    print_head(call, &shown, fields, FRAMING_LENGTH);
    if (call->loop->out.overflown || call->fields.overflown) {
        shown = (struct http_reply){ .status = 500,
                                     .body_take = reply->body_take,
                                     .wipe_bytes = reply->wipe_bytes };
        print_head(call, &shown, STR_LIT(""), FRAMING_LENGTH);
    }
    head = buf_str(&call->loop->out);
    if (call->x.request.method == METHOD_HEAD || !has_body(shown.status))
        shown.body = STR_LIT("");
    total = head.len + shown.body.len;
    bufs[0] = http_conn_buf(head);
    bufs[1] = http_conn_buf(shown.body);
    n = http_transport_try_write(c, bufs, shown.body.len > 0 ? 2 : 1);
    if (n == UV_EAGAIN)
        n = 0;
    if (n >= 0 && (size_t)n < total) {
        queue_rest(call, &shown, (size_t)n);
        return;
    }
    http_reply_free(&shown);
    forget_call(call, shown.status, n < 0 ? 0 : shown.body.len);
    if (n < 0)
        http_conn_close(c);
    else
        http_conn_sent(c);
}

void http_conn_drop_reply(struct http_call *call, const struct http_reply *reply)
{
    http_reply_free(reply);
    forget_call(call, reply->status, 0);
}
