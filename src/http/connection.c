/* connection.c - the state machine of one connection: bytes in, requests out.
 *
 *   HANDSHAKE --> IDLE, of a connection with TLS; then for all:
 *
 *         first byte       head          complete             reply
 *   IDLE ------------> HEAD ----> BODY ------------> BUSY ----------> IDLE
 *                        \          \                  \
 *                         \          +-- too large --+  +-- queued --> WRITE --+
 *                          +-- answered by on_head --+-- SKIP ---------------- IDLE
 *   any refusal, or an answer with too much unread: LINGER, then CLOSING.
 *
 * Invariants:
 * 1. `call` is set in HEAD, BODY, BUSY and WRITE, and NULL otherwise. In BUSY
 *    (complete, or waiting before its body) the application owns it: it outlives a connection that
 *    ends, and is freed when it is answered. In WRITE libuv has it, until written(). A stream goes
 *    from BUSY (nothing to send) to WRITE (waiting for the client) and back, and is the
 *    application's in both.
 * 2. Input is parsed in IDLE, HEAD, BODY and SKIP only. What arrives in BUSY and WRITE
 *    is stashed and reading stops, so at most one read is held. If there is no room
 *    for it, the reply in progress is the connection's last.
 * 3. The stash is empty whenever reading resumes.
 * 4. Only the outermost pump() advances through the input: a reply inside it
 *    changes the state and returns.
 * 5. Only on_closed() frees a connection, from the event loop; every
 *    function here may therefore read `state` after any call it makes.
 */
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/internal.h"

enum {
    BODY_RATE = 64 * 1024,    /* bytes per second that a body may take, after body_ms */
    WRITE_RATE_MIN = 16384,   /* bytes per second that a client must read, in every write_ms */
    LINGER_MAX = 256 * 1024,  /* bytes drained before closing */
    LINGER_STEP = 128 * 1024, /* after as many the time of LINGER starts again */
    LINGER_BODIES = 4, /* drained besides, when a body was too large: times the largest body */
};

/* The lists of connections by state, and the moves between them: the one place where the state of a
 * connection changes. */

#define TO(state) (1U << (state))

/* A state in its own row: the connection makes progress, and its time starts again. */
static const unsigned allowed[CONN_STATES] = {
    [CONN_IDLE] = TO(CONN_HEAD) | TO(CONN_HANDSHAKE) | TO(CONN_CLOSING),
    [CONN_HEAD] = TO(CONN_BODY) | TO(CONN_BUSY) | TO(CONN_WRITE) | TO(CONN_SKIP) | TO(CONN_LINGER) |
                  TO(CONN_CLOSING),
    [CONN_BODY] =
        TO(CONN_BODY) | TO(CONN_BUSY) | TO(CONN_WRITE) | TO(CONN_LINGER) | TO(CONN_CLOSING),
    [CONN_SKIP] = TO(CONN_IDLE) | TO(CONN_CLOSING),
    [CONN_BUSY] = TO(CONN_BODY) | TO(CONN_IDLE) | TO(CONN_SKIP) | TO(CONN_WRITE) | TO(CONN_LINGER) |
                  TO(CONN_CLOSING),
    [CONN_WRITE] = TO(CONN_WRITE) | TO(CONN_BUSY) | TO(CONN_IDLE) | TO(CONN_SKIP) |
                   TO(CONN_LINGER) | TO(CONN_CLOSING),
    [CONN_HANDSHAKE] = TO(CONN_IDLE) | TO(CONN_CLOSING),
    [CONN_LINGER] = TO(CONN_LINGER) | TO(CONN_CLOSING),
    [CONN_CLOSING] = 0,
};

static void list_remove(struct http_conn *c)
{
    struct http_conn_list *list = &c->loop->lists[c->state];

    assert(http_loop_is_mine(c->loop));
    assert((c->previous == NULL) == (list->first == c));
    assert((c->next == NULL) == (list->last == c));
    if (c->previous != NULL)
        c->previous->next = c->next;
    else
        list->first = c->next;
    if (c->next != NULL)
        c->next->previous = c->previous;
    else
        list->last = c->previous;
}

static void list_add(struct http_conn *c, enum http_conn_state state)
{
    struct http_conn_list *list = &c->loop->lists[state];

    assert(http_loop_is_mine(c->loop));
    c->state = state;
    c->since_us = c->loop->now_us;
    c->previous = list->last;
    c->next = NULL;
    if (list->last != NULL)
        list->last->next = c;
    else
        list->first = c;
    list->last = c;
}

void http_conn_enter(struct http_conn *c, enum http_conn_state state)
{
    assert((allowed[c->state] & TO(state)) != 0);
    (void)allowed; /* in release */
    list_remove(c);
    list_add(c, state);
}

/* The end */

bool http_conn_has_leftover(const struct http_conn *c)
{
    return c->pumping ? c->input->len > 0 : c->stash_at < c->stash_len;
}

void http_conn_drop_stash(struct http_conn *c)
{
    if (c->stash != NULL)
        http_admission_kept(c->loop->admission, c->address, c->stash_len);
    free(c->stash);
    c->stash = NULL;
    c->stash_at = c->stash_len = 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct http_conn *c = handle->data;
    struct http_loop *loop = c->loop;

    assert(c->state == CONN_CLOSING && c->call == NULL && c->stash == NULL);
    http_transport_done(c);
    list_remove(c);
    if (c->admitted)
        http_admission_leave(loop->admission, c->address, c->peer.kind);
    if (c->over)
        loop->n_over--;
    free(c);
    http_loop_conn_gone(loop);
}

void http_conn_part(struct http_conn *c)
{
    struct http_call *call = c->call;

    assert(call->conn == c && (call->address == NULL || c->address == NULL));
    if (call->address == NULL) {
        http_admission_hold(c->loop->admission, c->address); /* what it holds may count for it */
        call->address = c->address;
    }
    c->call = NULL;
    call->conn = NULL;
}

/* Lets go of the request, if there is one and libuv does not have it. */
static void let_go(struct http_conn *c)
{
    struct http_call *call = c->call;

    if (call == NULL || (c->state == CONN_WRITE && !call->streams))
        return;
    http_conn_part(c);
    if (call->streams)
        http_stream_lost(call);
    else if (c->state != CONN_BUSY)
        http_loop_free_call(call);
}

void http_conn_close(struct http_conn *c)
{
    if (c->state == CONN_CLOSING)
        return;
    let_go(c);
    http_conn_drop_stash(c);
    http_transport_say_end(c);
    http_conn_enter(c, CONN_CLOSING);
    uv_close(&c->h.handle, on_closed);
}

void http_conn_reset(struct http_conn *c)
{
    if (c->h.handle.type == UV_TCP && c->state != CONN_CLOSING) {
        let_go(c);
        http_conn_drop_stash(c);
        if (uv_tcp_close_reset(&c->h.tcp, on_closed) == 0) {
            http_conn_enter(c, CONN_CLOSING);
            return;
        }
    }
    http_conn_close(c);
}

/* Bytes in */

static bool takes_input(const struct http_conn *c)
{
    return c->state <= CONN_SKIP;
}

static void begin_request(struct http_conn *c)
{
    struct http_call *call = http_loop_new_call(c->loop);

    assert(c->state == CONN_IDLE && c->call == NULL); /* 1 */
    call->conn = c;
    memcpy(call->peer_address, c->peer.text, sizeof(call->peer_address));
    call->x.request.peer = c->peer.kind;
    call->x.request.peer_address = str_of(call->peer_address);
    call->x.request.began_us = c->loop->now_us;
    if (c->peer.kind != PEER_OPERATOR)
        call->x.charge.budget =
            c->address != NULL ? &c->address->budget : &c->loop->admission->budgets->open;
    c->call = call;
    c->refused = c->cut_short = false;
    c->linger_left = LINGER_MAX;
    http_parser_begin(&c->parser, c->loop->limits, &call->x, &call->body);
    http_conn_enter(c, CONN_HEAD);
}

static void must_have_answered(const struct http_conn *c, const char *slot)
{
    if (c->call != NULL && !c->call->x.replied)
        err_die("http: %s must answer at once", slot);
}

static void refuse(struct http_conn *c, int status, const char *detail)
{
    const struct http_app *app = c->loop->app;

    assert(c->call != NULL); /* 1 */
    c->refused = true;
    app->on_refused(app->ctx, &c->call->x, status, detail);
    must_have_answered(c, "on_refused");
}

void http_conn_evict(struct http_conn *c)
{
    refuse(c, 503, HTTP_EVICTED);
}

/* The client waits for a 100 before it sends the body. */
static void say_continue(struct http_conn *c)
{
    static char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
    uv_buf_t buf = uv_buf_init(line, sizeof(line) - 1);
    int n = http_transport_try_write(c, &buf, 1);

    c->parser.expects_continue = false;
    /* If nothing was sent, the client stops waiting by itself. Half a line cannot be repaired. */
    if (n != (int)buf.len && n != UV_EAGAIN)
        http_conn_close(c);
}

static void begin_body(struct http_conn *c)
{
    c->body_began_us = c->loop->now_us;
    c->cut_short = false;
    http_conn_enter(c, CONN_BODY);
}

static void head_complete(struct http_conn *c)
{
    const struct http_app *app = c->loop->app;

    assert(c->state == CONN_HEAD && c->call->conn == c); /* 1 */
    app->on_head(app->ctx, &c->call->x);
    if (c->state != CONN_HEAD) /* answered */
        return;
    if (!c->call->x.waits) {
        begin_body(c);
        return;
    }
    c->cut_short = true; /* unless it reads on: its body was not read */
    http_conn_enter(c, CONN_BUSY);
}

void http_conn_read_on(struct http_call *call)
{
    struct http_conn *c = call->conn;

    if (c == NULL) { /* the client has disconnected */
        http_loop_free_call(call);
        return;
    }
    assert(http_loop_is_mine(c->loop));
    assert(c->state == CONN_BUSY && c->call == call);
    begin_body(c);
    http_conn_resume(c);
}

static void request_complete(struct http_conn *c)
{
    if (c->state == CONN_SKIP) {
        assert(c->call == NULL); /* 1 */
        http_conn_enter(c, CONN_IDLE);
        return;
    }
    assert(c->state == CONN_BODY && c->call->conn == c); /* 1 */
    if (!http_charge_unlist(&c->call->x.charge)) {
        http_conn_evict(c);
        return;
    }
    http_conn_enter(c, CONN_BUSY);
    if (!http_large_take(c->loop->large, c->call))
        http_call_handle(c->loop->app, c->call);
}

/* Many clients send all of a body before they read, and must learn that it was too large instead of
 * sending it again. A caller that may send such bodies may have some of this one drained: it holds
 * nothing meanwhile. One whose share is used up may not. */
static void too_large(struct http_conn *c)
{
    const struct http_app *app = c->loop->app;

    c->cut_short = true;
    if (!c->call->x.no_room)
        c->linger_left += LINGER_BODIES * c->call->x.body_max;
    http_conn_enter(c, CONN_BUSY);
    app->on_too_large(app->ctx, &c->call->x);
}

/* One step through the input; false when more input is needed. */
static bool step(struct http_conn *c, struct str *in)
{
    if (c->state == CONN_IDLE) {
        if (in->len == 0)
            return false;
        begin_request(c);
    }
    switch (http_parser_feed(&c->parser, in)) {
    case PARSE_MORE:
        if (c->state == CONN_BODY && c->parser.expects_continue)
            say_continue(c);
        return false;
    case PARSE_HEAD:
        head_complete(c);
        return true;
    case PARSE_COMPLETE:
        request_complete(c);
        return true;
    case PARSE_TOO_LARGE:
        too_large(c);
        return true;
    case PARSE_REFUSED:
        refuse(c, c->parser.status, c->parser.detail);
        return true;
    }
    return false;
}

static void pump(struct http_conn *c, struct str *in)
{
    assert(!c->pumping); /* 4 */
    c->pumping = true;
    c->input = in;
    while (takes_input(c) && step(c, in))
        continue;
    c->input = NULL;
    c->pumping = false;
}

static void stop_reading(struct http_conn *c)
{
    if (c->reading)
        (void)uv_read_stop(&c->h.stream);
    c->reading = false;
}

/* The client has ended its side: a request that is whole is still answered. */
static void ended(struct http_conn *c, ssize_t why)
{
    stop_reading(c);
    c->eof = true;
    if (why != UV_EOF || takes_input(c) || c->state == CONN_LINGER || c->state == CONN_HANDSHAKE)
        http_conn_close(c);
    else if (c->call->streams)
        http_stream_stop(c->call);
}

/* The client has sent requests ahead, and more than can be kept: it has to send them again, on
 * another connection. */
static void forgo_rest(struct http_conn *c)
{
    c->refused = true;
    if (c->state == CONN_WRITE)
        c->after = CONN_LINGER;
}

static void stash(struct http_conn *c, struct str bytes)
{
    /* Part of a body will be read, and count for its caller, when its head is let in. */
    const bool has_body = c->state == CONN_BUSY && c->cut_short;
    const bool must = has_body || c->peer.kind == PEER_OPERATOR;

    assert(c->stash == NULL); /* 3: else bytes would be lost */
    stop_reading(c);
    if (!http_admission_keep(c->loop->admission, c->address, bytes.len, must)) {
        forgo_rest(c);
        return;
    }
    c->stash = mem_new(bytes.len);
    memcpy(c->stash, bytes.data, bytes.len);
    c->stash_at = 0;
    c->stash_len = bytes.len;
}

/* Chunks do not say how many will follow: what has arrived counts. */
int64_t http_conn_body_deadline_us(const struct http_conn *c)
{
    const struct http_call *call = c->call;
    uint64_t size = c->parser.chunked ? call->body.as_sent : call->x.request.length;

    assert(c->state == CONN_BODY && size <= call->x.body_max);
    return c->body_began_us + (int64_t)c->loop->limits->body_ms * USEC_PER_MSEC +
           (int64_t)(size * USEC_PER_SEC / BODY_RATE);
}

static void drain_input(struct http_conn *c, size_t n)
{
    size_t left = c->linger_left;

    if (n >= left) {
        http_conn_close(c);
        return;
    }
    c->linger_left -= n;
    if (left / LINGER_STEP != c->linger_left / LINGER_STEP)
        http_conn_enter(c, CONN_LINGER);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    struct http_conn *c = handle->data;

    (void)suggested;
    *ret = uv_buf_init(c->loop->read_buffer, READ_BUFFER);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);

/* After any change of state: reads or closes as the state demands. */
static void settle(struct http_conn *c)
{
    if (c->state == CONN_LINGER || c->state == CONN_HANDSHAKE || takes_input(c)) {
        if (c->eof) {
            http_conn_close(c);
            return;
        }
        assert(c->stash == NULL); /* 3 */
        if (!c->reading && uv_read_start(&c->h.stream, on_alloc, on_read) != 0) {
            http_conn_close(c);
            return;
        }
        c->reading = true;
    }
    if (c->loop->draining && c->state == CONN_IDLE)
        http_conn_drain(c);
}

/* Text has arrived: plain, or decrypted. */
static void take_in(struct http_conn *c, struct str in)
{
    pump(c, &in);
    if (in.len > 0 && (c->state == CONN_BUSY || c->state == CONN_WRITE))
        stash(c, in);
    if (c->state == CONN_BODY) {
        http_charge_list(&c->call->x.charge, c->loop->now_us);
        http_conn_enter(c, CONN_BODY);
    }
    settle(c);
    if (c->eof && c->call != NULL && c->call->streams)
        http_stream_stop(c->call);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct http_conn *c = stream->data;
    struct str in = str_from(buf->base, n > 0 ? (size_t)n : 0);

    assert(http_loop_is_mine(c->loop));
    c->loop->now_us = clock_mono_us();
    if (n < 0) {
        ended(c, n);
        return;
    }
    if (c->state == CONN_LINGER) {
        drain_input(c, in.len);
        return;
    }
    if (c->session != NULL) {
        int r = http_transport_open(c, &in);

        if (r == UV_EOF) { /* what came before it still counts */
            stop_reading(c);
            c->eof = true;
        } else if (r != 0) {
            ended(c, r);
            return;
        } else if (in.len == 0) { /* part of a record: no progress that counts */
            settle(c);
            return;
        }
    }
    take_in(c, in);
}

void http_conn_resume(struct http_conn *c)
{
    struct str in = STR_LIT("");

    if (c->stash != NULL)
        in = str_from(c->stash + c->stash_at, c->stash_len - c->stash_at);
    if (takes_input(c)) {
        pump(c, &in);
        c->stash_at = c->stash_len - in.len;
    }
    if (c->state == CONN_BODY)
        http_charge_list(&c->call->x.charge, c->loop->now_us);
    if (c->stash != NULL &&
        (c->stash_at >= c->stash_len || c->state == CONN_LINGER || c->state == CONN_CLOSING))
        http_conn_drop_stash(c);
    settle(c);
}

struct http_conn *http_conn_new(struct http_loop *loop, bool is_unix)
{
    struct http_conn *c = NEW(struct http_conn);
    int r = is_unix ? uv_pipe_init(&loop->uv, &c->h.pipe, 0) : uv_tcp_init(&loop->uv, &c->h.tcp);

    if (r != 0)
        err_die("libuv: %s", uv_strerror(r));
    c->h.handle.data = c;
    c->loop = loop;
    loop->n_conns++;
    list_add(c, CONN_IDLE);
    return c;
}

void http_conn_start(struct http_conn *c)
{
    if (c->loop->tls != NULL && c->peer.kind != PEER_OPERATOR) {
        http_conn_enter(c, CONN_HANDSHAKE);
        if (http_transport_secure(c) != 0) {
            http_conn_close(c);
            return;
        }
    }
    settle(c);
}

void http_conn_start_over(struct http_conn *c)
{
    c->over = true;
    c->loop->n_over++;
    begin_request(c);
    refuse(c, 503, "Too many connections; retry later");
}

/* Bytes that the client has read since the write began, or since the last call. */
static uint64_t bytes_taken(struct http_conn *c)
{
    uint64_t before = c->write_left;

    if (c->call->streams)
        return http_stream_moved(c->call);
    c->write_left = http_transport_unsent(c) + http_conn_in_kernel(c);
    return before > c->write_left ? before - c->write_left : 0;
}

void http_conn_expired(struct http_conn *c)
{
    assert(http_loop_is_mine(c->loop) && !c->pumping);
    switch (c->state) {
    case CONN_HEAD:
        refuse(c, 408, "The request head did not arrive in time");
        break;
    case CONN_BODY:
        refuse(
            c, 408,
            "The body did not arrive in time: send it within 30 seconds, or at 64 KiB per second");
        break;
    case CONN_WRITE:
        if (bytes_taken(c) >= (uint64_t)c->loop->limits->write_ms * WRITE_RATE_MIN / 1000)
            http_conn_enter(c, CONN_WRITE);
        else
            http_conn_reset(c);
        break;
    case CONN_IDLE:
    case CONN_SKIP:
    case CONN_HANDSHAKE:
    case CONN_LINGER:
        http_conn_close(c);
        break;
    case CONN_BUSY:
    case CONN_CLOSING:
        break;
    }
}

void http_conn_drain(struct http_conn *c)
{
    char byte;
    uv_os_fd_t fd;

    /* Bytes in the kernel count as a request that was received. */
    if (c->state != CONN_IDLE || http_transport_has_input(c) ||
        (uv_fileno(&c->h.handle, &fd) == 0 && recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0))
        return;
    http_conn_close(c);
}
