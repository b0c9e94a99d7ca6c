/* client.c - choosing between a running server and this process, for which there is an HTTP carrier
 * of one exchange with a condition to wait on. */
#include "cli/client.h"

#include <stdlib.h>
#include <time.h>

#include "api/api.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "cli/files.h"
#include "cli/settings.h"

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

/* False when the bytes do not fit. */
static bool take_bytes(struct local *local, struct str bytes) REQUIRES(local->lock)
{
    if (local->sink != NULL && local->status / 100 == 2)
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

/* Waits until it is answered; whether whole. */
static bool local_wait(struct local *local, int *ret_status)
{
    bool whole;

    lock_acquire(&local->lock);
    while (!local->done)
        cond_wait(&local->answered, &local->lock);
    *ret_status = local->status;
    whole = local->whole;
    lock_release(&local->lock);
    return whole;
}

/* Runs one call as the operator, with the same handlers as the server. */
static int local_call(struct api *api, const struct client_request *request,
                      const struct client_sink *sink, struct arena *arena, struct client_reply *ret,
                      struct error *err)
{
    struct local local = {
        .exchange = { .carrier = &local_carrier, .arena = arena, .request_id = STR_LIT("local") },
        .sink = sink,
    };
    struct http_request *r = &local.exchange.request;
    struct http_app app;
    bool whole;

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
    whole = local_wait(&local, &ret->status);
    ret->cookie = STR_NULL;
    ret->body = buf_take(&local.body, arena);
    cond_done(&local.answered);
    lock_done(&local.lock);
    return whole ? 0 : err_set(err, ERR_INTERNAL, "the answer ended early");
}

enum { WAIT_MAX_S = 10, RETRY_MS = 20 };

struct client {
    struct arena arena;
    struct datadir datadir;
    const struct client_local *local;
    struct api *api;      /* ours when there is no server; else NULL */
    struct remote remote; /* the server */
};

/* The lock is held by a server that answers, by one that is starting or stopping, or by another
 * command: waits until it is clear which. */
static int find_way(struct client *c, const struct settings *settings, struct error *err)
{
    static const struct timespec pause = { .tv_nsec = RETRY_MS * 1000000L };
    const struct client_request probe = { METHOD_GET, STR_LIT("/api/v1/health"), STR_NULL };
    int64_t until = clock_mono_us() + (int64_t)WAIT_MAX_S * USEC_PER_SEC;
    struct client_reply reply;

    /* only `serve` and `restore` create a database: a wrong --data, or that of a service with
     * PostgreSQL, must not take what is meant for another one */
    if (!datadir_is_used(&c->datadir))
        return datadir_check_database(&c->datadir, err);
    for (;;) {
        if (datadir_lock(&c->datadir, err) == 0)
            return datadir_check_database(&c->datadir, err) != 0
                       ? -1
                       : c->local->open(settings, c->datadir.database, &c->api, err);
        if (err->code != ERR_BUSY)
            return -1;
        if (remote_call(&c->remote, &probe, NULL, &c->arena, &reply, NULL) == 0)
            return 0;
        if (clock_mono_us() > until)
            return -1;
        (void)nanosleep(&pause, NULL);
    }
}

int client_new(const struct settings *settings, const struct login *login,
               const struct client_local *local, struct client **ret, struct error *err)
{
    struct client *c = NEW(struct client);
    int r;

    c->local = local;
    arena_init(&c->arena);
    datadir_init(&c->datadir, settings->data, &c->arena);
    c->remote = (struct remote){ .socket = c->datadir.socket, .server = "http://localhost" };
    if (login != NULL) {
        c->remote = login_remote(login);
        r = 0;
    } else if (settings->server[0] != '\0') {
        r = remote_read(settings, &c->arena, &c->remote, err);
    } else if (settings->database[0] != '\0') {
        r = local->open(settings, settings->database, &c->api, err);
    } else {
        r = datadir_ensure(&c->datadir, false, err);
        if (r == 0)
            r = find_way(c, settings, err);
    }
    if (r != 0) {
        client_free(c);
        return -1;
    }
    *ret = c;
    return 0;
}

void client_free(struct client *c)
{
    if (c == NULL)
        return;
    if (c->api != NULL)
        c->local->close(c->api);
    datadir_done(&c->datadir);
    arena_done(&c->arena);
    free(c);
}

int client_call(struct client *c, const struct client_request *request,
                const struct client_sink *sink, struct arena *arena, struct client_reply *ret,
                struct error *err)
{
    if (c->api == NULL)
        return remote_call(&c->remote, request, sink, arena, ret, err);
    return local_call(c->api, request, sink, arena, ret, err);
}
