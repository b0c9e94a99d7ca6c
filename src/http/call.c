/* call.c - requests: taken from the pool, posted from other threads, freed; and what an exchange
 * asks of its connection.
 *
 * Invariants:
 * 1. A call is in one place: with its connection, with the application, among
 *    the posted ones, or in the pool.
 * 2. Only the loop's thread takes from the pool and puts back.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "http/internal.h"

enum {
    POOL_MAX = 128,             /* requests kept for reuse */
    BODY_MAX_DEFAULT = 1 << 20, /* unless on_head changes it */
};

static _Thread_local const struct http_loop *current;

bool http_loop_is_mine(const struct http_loop *loop)
{
    return current == loop;
}

void http_loop_become_mine(const struct http_loop *loop)
{
    assert(current == NULL);
    current = loop;
}

/* The digits behind the random ones count up in base62: unique, and nearly free. */
static void next_request_id(struct http_loop *loop)
{
    for (size_t i = REQUEST_ID_LEN - 1; i >= REQUEST_ID_RANDOM; i--) {
        char *digit = &loop->next_id[i];

        if (*digit != 'z') {
            if (*digit == '9')
                *digit = 'A';
            else if (*digit == 'Z')
                *digit = 'a';
            else
                ++*digit;
            return;
        }
        *digit = '0';
    }
}

struct http_call *http_loop_new_call(struct http_loop *loop)
{
    struct http_call *call = loop->pool;

    assert(http_loop_is_mine(loop)); /* 2 */
    if (call != NULL) {
        assert(call->pooled && call->loop == loop && call->conn == NULL);
        loop->pool = call->next;
        loop->n_pool--;
        call->pooled = false;
    } else {
        call = NEW(struct http_call);
        call->loop = loop;
        arena_init(&call->arena);
        http_body_init(&call->body);
        buf_init(&call->fields, HEAD_MAX);
    }
    memcpy(call->request_id, loop->next_id, REQUEST_ID_LEN);
    next_request_id(loop);
    call->x = (struct http_exchange){
        .carrier = loop->carrier,
        .arena = &call->arena,
        .request_id = str_from(call->request_id, REQUEST_ID_LEN),
        .body_max = BODY_MAX_DEFAULT,
        .charge = { .bodies = &loop->admission->bodies },
    };
    return call;
}

/* Gives back what it holds of the budgets. */
static void settle_accounts(struct http_call *call)
{
    http_charge_drop(&call->x.charge);
    http_admission_release(call->loop->admission, call->address);
    call->address = NULL;
}

void http_loop_destroy_call(struct http_call *call)
{
    settle_accounts(call);
    arena_done(&call->arena);
    http_body_done(&call->body);
    buf_done(&call->fields);
    free(call);
}

void http_loop_free_call(struct http_call *call)
{
    struct http_loop *loop = call->loop;

    assert(http_loop_is_mine(loop)); /* 2 */
    ASSERT_ALWAYS(!call->pooled);    /* 1: a second free would hand one call to two clients */
    assert(call->conn == NULL || call->conn->call != call);
    if (loop->n_pool >= POOL_MAX) {
        http_loop_destroy_call(call);
        return;
    }
    settle_accounts(call);
    arena_reset(&call->arena);
    http_body_reset(&call->body);
    buf_clear(&call->fields);
    call->conn = NULL;
    call->streams = false;
    call->pooled = true;
    call->next = loop->pool;
    loop->pool = call;
    loop->n_pool++;
}

bool http_loop_try_post(struct http_call *call)
{
    struct http_loop *loop = call->loop;
    bool closed, first;

    assert(!http_loop_is_mine(loop));
    assert(!call->pooled);
    lock_acquire(&loop->lock);
    closed = loop->closed;
    first = loop->posted == NULL;
    if (!closed) {
        call->next = loop->posted;
        loop->posted = call;
        if (first) /* under the lock, since the handle goes when the loop is closed */
            (void)uv_async_send(&loop->wake);
    }
    lock_release(&loop->lock);
    return !closed;
}

static void post(struct http_call *call)
{
    if (http_loop_try_post(call))
        return;
    http_reply_free(&call->reply);
    http_loop_destroy_call(call);
}

static enum http_body_verdict unpack(struct http_call *call)
{
    struct buf packed = call->body.bytes;
    enum http_body_verdict verdict;

    call->body.gzip = false;
    buf_init(&call->body.bytes, call->x.body_max);
    verdict = http_inflate(buf_str(&packed), &call->body.bytes, &call->x.charge);
    http_charge_shrink_body(&call->x.charge, packed.len);
    buf_done(&packed);
    call->x.request.body = buf_str(&call->body.bytes);
    return verdict;
}

void http_call_handle(const struct http_app *app, struct http_call *call)
{
    switch (call->body.gzip ? unpack(call) : BODY_FINE) {
    case BODY_FINE:
        app->on_request(app->ctx, &call->x);
        return;
    case BODY_CORRUPT:
        app->on_refused(app->ctx, &call->x, 400, "The body is not valid gzip");
        return;
    case BODY_NO_ROOM:
        call->x.no_room = true;
        break;
    case BODY_TOO_LARGE:
    default:
        break;
    }
    app->on_too_large(app->ctx, &call->x);
}

/* The carrier */

static struct http_call *call_of(struct http_exchange *x)
{
    return CONTAINER_OF(x, struct http_call, x);
}

void http_carrier_posted(struct http_call *call)
{
    struct http_reply reply = call->reply;
    http_resume_fn *resume = call->resume;

    assert(http_loop_is_mine(call->loop));
    assert(!call->pooled);
    call->resume = NULL;
    if (resume != NULL)
        resume(&call->x);
    else if (call->x.stream != NULL)
        http_stream_advance(call);
    else if (call->conn == NULL)
        http_conn_drop_reply(call, &reply);
    else
        http_conn_send(call, &reply, buf_str(&call->fields));
}

static void carrier_reply(struct http_exchange *x, const struct http_reply *reply)
{
    struct http_call *call = call_of(x);

    if (!http_loop_is_mine(call->loop)) {
        call->reply = *reply;
        http_response_fields(&call->fields, reply->headers, reply->n_headers);
        post(call);
    } else if (call->conn == NULL) {
        http_conn_drop_reply(call, reply);
    } else {
        http_conn_send(call, reply, STR_NULL);
    }
}

static void carrier_resume(struct http_exchange *x, http_resume_fn *fn)
{
    struct http_call *call = call_of(x);

    if (http_loop_is_mine(call->loop)) {
        fn(x);
        return;
    }
    call->reply = (struct http_reply){ 0 };
    call->resume = fn;
    post(call);
}

static void carrier_read_on(struct http_exchange *x)
{
    http_conn_read_on(call_of(x));
}

static void carrier_count_for(struct http_exchange *x, const struct address *from)
{
    struct http_call *call = call_of(x);
    const struct http_conn *c = call->conn;

    assert(http_loop_is_mine(call->loop));
    if (c == NULL || c->address != NULL || call->address != NULL || c->peer.kind == PEER_OPERATOR)
        return;
    call->address = http_admission_find(call->loop->admission, from);
    x->charge.budget = &call->address->budget;
}

const struct http_carrier http_conn_carrier = {
    .reply = carrier_reply,
    .resume = carrier_resume,
    .read_on = carrier_read_on,
    .count_for = carrier_count_for,
    .begin = http_stream_carry,
    .write = http_stream_give,
    .end = http_stream_finish,
};
