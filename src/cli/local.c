/* local.c - an HTTP carrier of one exchange, with a condition to wait on. */

#include <pthread.h>
#include <stdlib.h>

#include "api/api.h"
#include "base/buf.h"
#include "base/clock.h"
#include "cli/client.h"

struct local {
    struct http_exchange exchange;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t answered;
    bool done, whole;
    int status;
    struct buf body;

    const struct client_sink *sink; /* NULL: none */
};

/* With the lock. */
static void finish(struct local *local, bool whole)
{
    local->whole = whole;
    local->done = true;
    pthread_cond_signal(&local->answered);
}

static bool is_good(int status)
{
    return status >= 200 && status < 300;
}

/* With the lock; false when no more bytes fit. */
static bool take_bytes(struct local *local, struct str bytes)
{
    if (local->sink != NULL && is_good(local->status))
        return bytes.len == 0 || local->sink->take(local->sink->ctx, bytes);
    buf_add(&local->body, bytes);
    return !local->body.overflown;
}

static void local_reply(struct http_exchange *x, const struct http_reply *reply)
{
    struct local *local = CONTAINER_OF(x, struct local, exchange);

    pthread_mutex_lock(&local->lock);
    local->status = reply->status;
    finish(local, take_bytes(local, reply->body));
    http_reply_free(reply);
    pthread_mutex_unlock(&local->lock);
}

static void local_begin(struct http_exchange *x, const struct http_reply *head,
                        enum http_stream_kind kind)
{
    struct local *local = CONTAINER_OF(x, struct local, exchange);

    (void)kind;
    pthread_mutex_lock(&local->lock);
    local->status = head->status;
    pthread_mutex_unlock(&local->lock);
}

static bool local_write(struct http_exchange *x, struct buf *part, bool may_wait)
{
    struct local *local = CONTAINER_OF(x, struct local, exchange);
    bool taken;

    (void)may_wait;
    pthread_mutex_lock(&local->lock);
    taken = take_bytes(local, buf_str(part));
    pthread_mutex_unlock(&local->lock);
    buf_clear(part);
    return taken;
}

static void local_end(struct http_exchange *x, bool whole)
{
    struct local *local = CONTAINER_OF(x, struct local, exchange);

    pthread_mutex_lock(&local->lock);
    finish(local, whole);
    pthread_mutex_unlock(&local->lock);
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
    pthread_mutex_lock(&local->lock);
    while (!local->done)
        pthread_cond_wait(&local->answered, &local->lock);
    pthread_mutex_unlock(&local->lock);
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
    pthread_mutex_init(&local.lock, NULL);
    pthread_cond_init(&local.answered, NULL);
    buf_init(&local.body, MIB(256));
    api_app(api, &app);
    app.on_head(app.ctx, &local.exchange);
    if (!local.exchange.replied)
        app.on_request(app.ctx, &local.exchange);
    wait_reply(&local);
    ret->status = local.status;
    ret->body = arena_copy(arena, buf_str(&local.body));
    buf_done(&local.body);
    pthread_cond_destroy(&local.answered);
    pthread_mutex_destroy(&local.lock);
    return local.whole ? 0 : err_set(err, ERR_INTERNAL, "the answer ended early");
}
