/* stream.c - replies whose body comes in parts: from the producer's thread to the socket.
 *
 * Invariants:
 * 1. Of a stream the producer touches only what `lock` guards; the rest is the
 *    loop's.
 * 2. A call is among the loop's posted ones at most once: `posted` says so.
 *    While it is set, or the connection lives, the loop may touch the call.
 * 3. The call is freed by the loop once it has seen the producer's end and has
 *    no connection with it, or by the producer when the loop has ended before.
 * 4. One part at a time is libuv's (`sending`); it frees itself when written.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "http/internal.h"

/* A piece of a stream's body. */
struct part {
    struct part *next;
    uv_write_t write;
    struct http_conn *conn; /* once it is libuv's */
    char *data;
    size_t len;
    char line[20]; /* of a chunk: its size */
    size_t line_len;
    bool in_body; /* counts against what the producer may queue */
    bool last;    /* the stream has ended once it is sent */
};

struct parts {
    struct part *first, **last;
};

struct http_stream {
    enum http_stream_kind kind;
    struct parts queue;   /* to be sent */
    struct part *sending; /* being sent by libuv */
    bool chunked;
    bool begun;          /* the head is queued */
    bool closing;        /* the last part is queued */
    bool over;           /* the producer has ended it */
    bool on_done_called; /* on_done was called */
    uint64_t sent;       /* bytes the socket took */
    uint64_t noted;      /* bytes that the client had taken when http_stream_moved() last looked */
    size_t body_sent;

    struct lock lock;
    struct cond moved;
    struct parts given GUARDED_BY(lock);
    size_t waiting GUARDED_BY(lock); /* bytes given and not yet sent */
    bool posted GUARDED_BY(lock);    /* the call is among the loop's posted ones */
    bool unwanted GUARDED_BY(lock);  /* nothing more is sent */
    bool cancelled GUARDED_BY(lock); /* by http_stream_cancel() */
    bool ended GUARDED_BY(lock);     /* by the producer */
    bool whole GUARDED_BY(lock);     /* as it says */
};

/* Takes the data over, heap memory or NULL. The caller owns the part. */
static struct part *part_new(char *data_take, size_t len)
{
    struct part *part = NEW(struct part);

    part->data = data_take;
    part->len = len;
    return part;
}

/* A part of the body; takes its bytes out of `bytes`. */
static struct part *part_of(struct buf *bytes)
{
    struct part *part = part_new(bytes->data, bytes->len);
    size_t max = bytes->max;

    part->in_body = true;
    buf_init(bytes, max);
    return part;
}

static void part_free(struct part *part)
{
    free(part->data);
    free(part);
}

/* Makes a chunk of it: its size before it, an end of line behind. */
static void part_frame(struct part *part)
{
    int n = snprintf(part->line, sizeof(part->line), "%zx\r\n", part->len);

    assert(part->line_len == 0 && part->len > 0); /* once; no bytes would end the stream */
    part->line_len = (size_t)n;
    part->data = mem_resize(part->data, part->len + 2);
    memcpy(part->data + part->len, "\r\n", 2);
    part->len += 2;
}

static void parts_init(struct parts *p)
{
    p->first = NULL;
    p->last = &p->first;
}

static void parts_add(struct parts *p, struct part *part)
{
    part->next = NULL;
    *p->last = part;
    p->last = &part->next;
}

/* The first, or NULL. */
static struct part *parts_take(struct parts *p)
{
    struct part *part = p->first;

    if (part != NULL) {
        p->first = part->next;
        if (p->first == NULL)
            p->last = &p->first;
    }
    return part;
}

/* All of them to the end of another queue. */
static void parts_move(struct parts *from, struct parts *to)
{
    if (from->first == NULL)
        return;
    *to->last = from->first;
    to->last = from->last;
    parts_init(from);
}

static void parts_drop(struct parts *p)
{
    struct part *part;

    while ((part = parts_take(p)) != NULL)
        part_free(part);
}

static void discharge(struct http_exchange *x, size_t bytes)
{
    if (x->charge.budget != NULL)
        budget_give(x->charge.budget, BUDGET_REPLY_BYTES, (int64_t)bytes);
}

static void free_stream(struct http_exchange *x)
{
    struct http_stream *s = x->stream;

    lock_unshared(&s->lock);
    discharge(x, s->waiting);
    ASSERT_ALWAYS(s->ended); /* 3: else the producer would touch freed memory */
    parts_drop(&s->queue);
    parts_drop(&s->given);
    cond_done(&s->moved);
    lock_done(&s->lock);
    free(s);
}

/* The producer's side */

/* Wakes the loop: parts were given, or the stream has ended. */
static void post(struct http_call *call)
{
    struct http_stream *s = call->x.stream;
    bool ended;

    if (http_loop_is_mine(call->loop)) {
        http_stream_advance(call);
        return;
    }
    if (http_loop_try_post(call))
        return;
    lock_acquire(&s->lock); /* the loop has ended: the call is the producer's alone */
    s->posted = false;
    s->unwanted = true;
    ended = s->ended;
    parts_drop(&s->given);
    lock_release(&s->lock);
    if (ended) {
        free_stream(&call->x);
        http_loop_destroy_call(call);
    }
}

void http_stream_carry(struct http_exchange *x, const struct http_reply *head,
                       enum http_stream_kind kind)
{
    struct http_call *call = CONTAINER_OF(x, struct http_call, x);
    struct http_stream *s = NEW(struct http_stream);

    assert(x->stream == NULL);
    s->kind = kind;
    parts_init(&s->queue);
    parts_init(&s->given);
    lock_init(&s->lock);
    cond_init(&s->moved);
    s->posted = true;
    s->unwanted = x->request.method == METHOD_HEAD;
    x->stream = s;
    call->reply = *head;
    call->reply.body = STR_LIT("");
    http_response_fields(&call->fields, head->headers, head->n_headers);
    post(call);
}

/* Counts a part until it is sent. Who may wait is one of few, and slowed down by that; for all
 * others there must be room. */
static bool charge(struct http_exchange *x, size_t bytes, bool may_wait)
{
    if (x->charge.budget == NULL)
        return true;
    if (!may_wait)
        return budget_take(x->charge.budget, BUDGET_REPLY_BYTES, (int64_t)bytes);
    budget_force(x->charge.budget, BUDGET_REPLY_BYTES, (int64_t)bytes);
    return true;
}

bool http_stream_give(struct http_exchange *x, struct buf *bytes, bool may_wait)
{
    struct http_call *call = CONTAINER_OF(x, struct http_call, x);
    struct http_stream *s = x->stream;
    struct part *part = part_of(bytes);
    bool taken, first = false;

    assert(!may_wait || !http_loop_is_mine(call->loop)); /* a loop never waits */
    lock_acquire(&s->lock);
    assert(!s->ended);
    while (may_wait && s->waiting > HTTP_STREAM_WAITING_MAX && !s->unwanted)
        cond_wait(&s->moved, &s->lock);
    taken = !s->unwanted && s->waiting <= HTTP_STREAM_WAITING_MAX && charge(x, part->len, may_wait);
    if (taken && part->len > 0) { /* a chunk of no bytes would be the last one */
        parts_add(&s->given, part);
        s->waiting += part->len;
        first = !s->posted;
        s->posted = true;
        part = NULL;
    }
    lock_release(&s->lock);
    if (part != NULL)
        part_free(part);
    if (first)
        post(call);
    return taken;
}

void http_stream_cancel(struct http_exchange *x)
{
    struct http_stream *s = x->stream;

    if (s == NULL) /* carried without a socket: no write waits */
        return;
    lock_acquire(&s->lock);
    s->cancelled = s->unwanted = true;
    cond_signal(&s->moved);
    lock_release(&s->lock);
}

void http_stream_finish(struct http_exchange *x, bool whole)
{
    struct http_call *call = CONTAINER_OF(x, struct http_call, x);
    struct http_stream *s = x->stream;
    bool first;

    lock_acquire(&s->lock);
    ASSERT_ALWAYS(!s->ended); /* 3: the loop may free it after the first */
    s->ended = true;
    s->whole = whole;
    first = !s->posted;
    s->posted = true;
    lock_release(&s->lock);
    if (first)
        post(call);
}

/* The loop's side */

/* Nothing more is sent: a producer that waits goes on, and its write returns false. */
static void refuse_more(struct http_stream *s)
{
    lock_acquire(&s->lock);
    s->unwanted = true;
    cond_signal(&s->moved);
    lock_release(&s->lock);
}

static void call_on_done(struct http_call *call)
{
    const struct http_app *app = call->loop->app;
    struct http_stream *s = call->x.stream;

    if (s->on_done_called)
        return;
    s->on_done_called = true;
    if (call->streams)
        metric_move(GAUGE_STREAMS, -1);
    app->on_done(app->ctx, &call->x, call->reply.status, s->body_sent);
}

static void free_call(struct http_call *call)
{
    free_stream(&call->x);
    http_loop_free_call(call);
}

void http_stream_lost(struct http_call *call)
{
    struct http_stream *s = call->x.stream;

    call_on_done(call);
    parts_drop(&s->queue);
    if (s->over)
        free_call(call);
    else
        refuse_more(s);
}

/* Everything is sent: the connection goes on without the call, which may still be the
 * producer's. */
static void leave(struct http_call *call)
{
    struct http_conn *c = call->conn;
    struct http_stream *s = call->x.stream;
    bool whole, by_close = !s->chunked;

    lock_acquire(&s->lock);
    whole = !s->ended || s->whole;
    lock_release(&s->lock);
    http_conn_part(c);
    http_stream_lost(call);
    if (whole)
        http_conn_sent(c);
    else if (by_close)
        http_conn_reset(c);
    else
        http_conn_close(c);
}

/* The caller lost the right to what is queued. */
static void abandon(struct http_call *call)
{
    struct http_conn *c = call->conn;

    c->call = NULL;
    call->conn = NULL;
    http_stream_lost(call);
    http_conn_reset(c);
}

static void part_sent(struct http_exchange *x, struct part *part)
{
    struct http_stream *s = x->stream;

    s->sent += part->line_len + part->len;
    if (part->in_body) {
        s->body_sent += part->len - (s->chunked ? 2 : 0);
        lock_acquire(&s->lock);
        assert(s->waiting >= part->len - (s->chunked ? 2 : 0));
        s->waiting -= part->len - (s->chunked ? 2 : 0);
        discharge(x, part->len - (s->chunked ? 2 : 0));
        cond_signal(&s->moved);
        lock_release(&s->lock);
    }
    part_free(part);
}

static void send_parts(struct http_call *call);

static void part_written(uv_write_t *write, int status)
{
    struct part *part = CONTAINER_OF(write, struct part, write);
    struct http_conn *c = part->conn;
    struct http_call *call = c->call;
    struct http_stream *s;

    c->loop->now_us = clock_mono_us();
    if (call == NULL) { /* the connection is closing, without the call */
        part_free(part);
        return;
    }
    s = call->x.stream;
    s->sending = NULL;
    if (status != 0) {
        part_free(part);
        http_conn_close(c);
        return;
    }
    if (part->last) {
        part_sent(&call->x, part);
        leave(call);
        return;
    }
    part_sent(&call->x, part);
    send_parts(call);
}

/* Queues in libuv what is left of the part after its first `n` bytes. */
static void queue_rest(struct http_call *call, struct part *part, size_t n)
{
    struct http_stream *s = call->x.stream;
    struct http_conn *c = call->conn;
    size_t of_line = n < part->line_len ? n : part->line_len;
    uv_buf_t bufs[2];

    bufs[0] = http_conn_buf(str_from(part->line + of_line, part->line_len - of_line));
    bufs[1] = http_conn_buf(str_from(part->data + (n - of_line), part->len - (n - of_line)));
    assert(s->sending == NULL); /* 4 */
    part->conn = c;
    s->sending = part;
    if (c->state != CONN_WRITE) {
        s->noted = s->sent - http_conn_in_kernel(c);
        http_conn_enter(c, CONN_WRITE);
    }
    if (http_transport_write(c, &part->write, bufs, part_written) != 0) {
        s->sending = NULL;
        part_free(part);
        http_conn_close(c);
    }
}

/* How much of the part the socket took; negative when the connection is broken. */
static ssize_t try_part(struct http_conn *c, const struct part *part)
{
    uv_buf_t bufs[2] = { http_conn_buf(str_from(part->line, part->line_len)),
                         http_conn_buf(str_from(part->data, part->len)) };
    int n;

    if (part->line_len + part->len == 0)
        return 0;
    n = http_transport_try_write(c, bufs, 2);
    return n == UV_EAGAIN ? 0 : n;
}

static void send_parts(struct http_call *call)
{
    struct http_stream *s = call->x.stream;
    struct http_conn *c = call->conn;
    struct part *part;

    while (s->sending == NULL && (part = parts_take(&s->queue)) != NULL) {
        ssize_t n = try_part(c, part);
        bool last = part->last;

        if (n < 0) {
            part_free(part);
            http_conn_close(c);
            return;
        }
        if ((size_t)n < part->line_len + part->len) {
            queue_rest(call, part, (size_t)n);
            return;
        }
        part_sent(&call->x, part);
        if (last) {
            leave(call);
            return;
        }
    }
    if (s->sending == NULL && c->state == CONN_WRITE)
        http_conn_enter(c, CONN_BUSY);
}

static void queue_bytes(struct http_stream *s, struct str bytes, bool last)
{
    char *copy = bytes.len == 0 ? NULL : mem_new(bytes.len);
    struct part *part;

    if (bytes.len > 0)
        memcpy(copy, bytes.data, bytes.len);
    part = part_new(copy, bytes.len);
    part->last = last;
    parts_add(&s->queue, part);
}

/* False when it has closed the connection. */
static bool queue_head(struct http_call *call)
{
    struct http_stream *s = call->x.stream;
    struct str head;

    s->begun = call->streams = true;
    s->chunked = !call->conn->parser.version_10;
    metric_move(GAUGE_STREAMS, 1);
    head = http_conn_stream_head(call, s->chunked);
    if (call->loop->out.overflown || call->fields.overflown) {
        http_conn_close(call->conn);
        return false;
    }
    queue_bytes(s, head, false);
    return true;
}

static void queue_given(struct http_stream *s, struct parts *given)
{
    struct part *part;

    while ((part = parts_take(given)) != NULL) {
        if (s->chunked)
            part_frame(part);
        parts_add(&s->queue, part);
    }
}

static void queue_last(struct http_call *call, bool whole)
{
    struct http_stream *s = call->x.stream;
    bool has_end = s->chunked && whole && call->x.request.method != METHOD_HEAD;

    if (s->closing)
        return;
    s->closing = true;
    queue_bytes(s, has_end ? STR_LIT("0\r\n\r\n") : STR_LIT(""), true);
}

void http_stream_stop(struct http_call *call)
{
    struct http_stream *s = call->x.stream;

    assert(http_loop_is_mine(call->loop)); /* 1 */
    if (s->kind != STREAM_ENDLESS || s->closing)
        return;
    refuse_more(s);
    call->conn->after = CONN_CLOSING;
    queue_last(call, true);
    send_parts(call);
}

void http_stream_advance(struct http_call *call)
{
    struct http_stream *s = call->x.stream;
    bool gone = call->conn == NULL, ended, whole, cancelled;
    struct parts given;

    assert(http_loop_is_mine(call->loop)); /* 1 */
    parts_init(&given);
    if (gone)
        call_on_done(call);
    lock_acquire(&s->lock);
    assert(s->posted); /* 2 */
    s->posted = false;
    s->unwanted = s->unwanted || gone;
    parts_move(&s->given, &given);
    ended = s->ended;
    whole = s->whole;
    cancelled = s->cancelled;
    lock_release(&s->lock);
    if (gone || s->closing || cancelled)
        parts_drop(&given);
    if (gone && !ended)
        return; /* the producer's alone from here on */
    s->over = ended;
    if (gone) {
        free_call(call);
        return;
    }
    if (ended && cancelled) {
        abandon(call);
        return;
    }
    if (!s->begun && !queue_head(call)) {
        parts_drop(&given);
        return;
    }
    queue_given(s, &given);
    if (ended)
        queue_last(call, whole);
    if (s->kind == STREAM_ENDLESS && !s->closing && (call->loop->draining || call->conn->eof))
        http_stream_stop(call);
    else
        send_parts(call);
}

uint64_t http_stream_moved(struct http_call *call)
{
    struct http_stream *s = call->x.stream;
    uint64_t total = s->sent, moved;

    if (s->sending != NULL)
        total += s->sending->line_len + s->sending->len - http_transport_unsent(call->conn);
    total -=
        http_conn_in_kernel(call->conn); /* may be less than 0: earlier replies are there too */
    moved = total - s->noted;
    s->noted = total;
    return moved;
}
