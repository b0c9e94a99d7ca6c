/* local.c - an HTTP carrier of one exchange, with a condition to wait on. */

#include <stdlib.h>

#include "api/api.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/lock.h"
#include "cli/client.h"

struct local {
    struct http_exchange exchange;
    struct lock lock;
    struct cond answered;
    bool done GUARDED_BY(lock), whole GUARDED_BY(lock);
    int status GUARDED_BY(lock);
    struct buf body GUARDED_BY(lock);

    const struct client_sink *sink; /* NULL: none */
};

static void finish(struct local *local, bool whole) REQUIRES(local->lock)
{
    local->whole = whole;
    local->done = true;
    cond_signal(&local->answered);
}

static bool is_good(int status)
{
    return status >= 200 && status < 300;
}

/* False when the bytes do not fit. */
static bool take_bytes(struct local *local, struct str bytes) REQUIRES(local->lock)
{
    if (local->sink != NULL && is_good(local->status))
        return bytes.len == 0 || local->sink->take(local->sink->ctx, bytes);
    buf_add(&local->body, bytes);
    return !local->body.overflown;
}

static void local_reply(struct http_exchange *x, const struct http_reply *reply)
{
    struct local *local = CONTAINER_OF(x, struct local, exchange);

    lock_acquire(&local->lock);
    local->status = reply->status;
    finish(local, take_bytes(local, reply->body));
    http_reply_free(reply);
    lock_release(&local->lock);
}

static void local_begin(struct http_exchange *x, const struct http_reply *head,
                        enum http_stream_kind kind)
{
    struct local *local = CONTAINER_OF(x, struct local, exchange);

    (void)kind;
    lock_acquire(&local->lock);
    local->status = head->status;
    lock_release(&local->lock);
}

static bool local_write(struct http_exchange *x, struct buf *part, bool may_wait)
{
    struct local *local = CONTAINER_OF(x, struct local, exchange);
    bool taken;

    (void)may_wait;
    lock_acquire(&local->lock);
    taken = take_bytes(local, buf_str(part));
    lock_release(&local->lock);
    buf_clear(part);
    return taken;
}

static void local_end(struct http_exchange *x, bool whole)
{
    struct local *local = CONTAINER_OF(x, struct local, exchange);

    lock_acquire(&local->lock);
    finish(local, whole);
    lock_release(&local->lock);
}

/* On any thread: the waiting one does nothing else. */
static void local_resume(struct http_exchange *x, http_resume_fn *fn)
{
    fn(x);
}

static const struct http_carrier local_carrier = { .reply = local_reply,
                                                   .resume = local_resume,
                                                   .begin = local_begin,
                                                   .write = local_write,
                                                   .end = local_end };

static void wait_reply(struct local *local)
{
    lock_acquire(&local->lock);
    while (!local->done)
        cond_wait(&local->answered, &local->lock);
    lock_release(&local->lock);
}

int local_call(struct api *api, const struct client_request *request,
               const struct client_sink *sink, struct arena *arena, struct client_reply *ret,
               struct error *err)
{
    struct local local = {
        .exchange = { .carrier = &local_carrier, .arena = arena, .request_id = STR_LIT("local") },
        .sink = sink,
    };
    struct http_request *r = &local.exchange.request;
    struct http_app app;

    r->method = request->method;
    r->peer = PEER_OPERATOR;
    r->peer_address = STR_LIT("local");
    r->body = request->body;
    r->has_body = request->body.len > 0;
    r->began_us = clock_mono_us();
    r->query = request->path;
    r->path = str_split(&r->query, '?');
    lock_init(&local.lock);
    cond_init(&local.answered);
    buf_init(&local.body, MIB(256));
    api_app(api, &app);
    app.on_head(app.ctx, &local.exchange);
    if (!local.exchange.replied)
        app.on_request(app.ctx, &local.exchange);
    wait_reply(&local);
    ret->status = local.status;
    ret->cookie = STR_NULL;
    ret->body = buf_take(&local.body, arena);
    cond_done(&local.answered);
    lock_done(&local.lock);
    return local.whole ? 0 : err_set(err, ERR_INTERNAL, "the answer ended early");
}
