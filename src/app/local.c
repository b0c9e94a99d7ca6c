/* local.c - an HTTP carrier made of one exchange and a condition to wait on. */

#include <pthread.h>
#include <stdlib.h>

#include "api/api.h"
#include "app/client.h"
#include "base/buf.h"
#include "base/clock.h"

struct local {
    struct http_exchange exchange;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t answered;
    bool done;
    int status;
    struct buf body;
};

static void take_reply(struct http_exchange *x, const struct http_reply *reply)
{
    struct local *local = CONTAINER_OF(x, struct local, exchange);

    pthread_mutex_lock(&local->lock);
    local->status = reply->status;
    buf_add(&local->body, reply->body);
    free(reply->body_take);
    local->done = true;
    pthread_cond_signal(&local->answered);
    pthread_mutex_unlock(&local->lock);
}

/* Any thread will do: the one that waits does nothing else. */
static void go_on(struct http_exchange *x, http_resume_fn *fn)
{
    fn(x);
}

static const struct http_carrier local_carrier = { .reply = take_reply, .resume = go_on };

static void wait_reply(struct local *local)
{
    pthread_mutex_lock(&local->lock);
    while (!local->done)
        pthread_cond_wait(&local->answered, &local->lock);
    pthread_mutex_unlock(&local->lock);
}

void local_call(struct api *api, const struct client_request *request, struct arena *arena,
                struct client_reply *ret)
{
    struct local local = {
        .exchange = { .carrier = &local_carrier, .arena = arena, .request_id = STR_LIT("local") },
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
}
