/* loop.c - the thread of an event loop: timers, replies from other threads, the stop. */
#include <signal.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/thread.h"
#include "http/internal.h"

enum {
    LINGER_MS = 2000,  /* for a refused client to read its answer */
    TICK_MIN_MS = 5,   /* precision of the shortest timeouts */
    TICK_MAX_MS = 500, /* and of the longest */
};

/* Time */

static void expire(struct http_loop *loop, enum http_conn_state state, unsigned after_ms)
{
    int64_t before_us = loop->now_us - (int64_t)after_ms * USEC_PER_MSEC;
    struct http_conn *c;

    while ((c = loop->lists[state].first) != NULL && c->since_us <= before_us)
        http_conn_expired(c);
}

/* Bodies have deadlines of their own: all are looked at. */
static void expire_bodies(struct http_loop *loop)
{
    int64_t before_us = loop->now_us - (int64_t)loop->limits->body_ms * USEC_PER_MSEC;
    struct http_conn *c, *next;

    for (c = loop->lists[CONN_BODY].first; c != NULL; c = next) {
        next = c->next;
        if (c->since_us <= before_us || http_conn_body_deadline_us(c) <= loop->now_us)
            http_conn_expired(c);
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct http_loop *loop = timer->data;
    const struct http_limits *limits = loop->limits;

    loop->now_us = clock_mono_us();
    expire(loop, CONN_IDLE, limits->idle_ms);
    expire(loop, CONN_HEAD, limits->header_ms);
    expire_bodies(loop);
    expire(loop, CONN_SKIP, limits->body_ms);
    expire(loop, CONN_WRITE, limits->write_ms);
    expire(loop, CONN_HANDSHAKE, limits->handshake_ms);
    expire(loop, CONN_LINGER, LINGER_MS);
}

static unsigned tick_ms(const struct http_limits *limits)
{
    unsigned shortest = limits->header_ms;

    if (limits->body_ms < shortest)
        shortest = limits->body_ms;
    if (limits->idle_ms < shortest)
        shortest = limits->idle_ms;
    if (limits->write_ms < shortest)
        shortest = limits->write_ms;
    shortest /= 4;
    if (shortest < TICK_MIN_MS)
        return TICK_MIN_MS;
    return shortest > TICK_MAX_MS ? TICK_MAX_MS : shortest;
}

/* Stopping */

/* The last connection has gone. */
static void end(struct http_loop *loop)
{
    struct http_call *call;

    if (loop->ending)
        return;
    assert(loop->draining && loop->n_conns == 0);
    lock_acquire(&loop->lock);
    loop->ending = loop->closed = true;
    call = loop->posted;
    loop->posted = NULL;
    lock_release(&loop->lock);
    while (call != NULL) {
        struct http_call *next = call->next;

        http_carrier_posted(call);
        call = next;
    }
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_close((uv_handle_t *)&loop->tick, NULL);
    uv_close((uv_handle_t *)&loop->deadline, NULL);
}

void http_loop_conn_gone(struct http_loop *loop)
{
    assert(http_loop_is_mine(loop) && loop->n_conns > 0);
    loop->n_conns--;
    if (loop->draining && loop->n_conns == 0)
        end(loop);
}

static void on_deadline(uv_timer_t *timer)
{
    struct http_loop *loop = timer->data;

    loop->now_us = clock_mono_us();
    for (int state = CONN_IDLE; state < CONN_CLOSING; state++) {
        struct http_conn *c;

        while ((c = loop->lists[state].first) != NULL) {
            if (state == CONN_HEAD || state == CONN_BODY || state == CONN_BUSY ||
                state == CONN_WRITE)
                loop->n_cut++;
            http_conn_close(c);
        }
    }
}

static void stop_streams(struct http_loop *loop, enum http_conn_state state)
{
    struct http_conn *c, *next;

    for (c = loop->lists[state].first; c != NULL; c = next) {
        next = c->next;
        if (c->call->streams)
            http_stream_stop(c->call);
    }
}

static void begin_drain(struct http_loop *loop, unsigned deadline_ms)
{
    struct http_conn *c, *next;

    assert(!loop->draining);
    loop->draining = true;
    http_listener_end(loop);
    stop_streams(loop, CONN_WRITE);
    stop_streams(loop, CONN_BUSY);
    for (c = loop->lists[CONN_IDLE].first; c != NULL; c = next) {
        next = c->next;
        http_conn_drain(c);
    }
    if (loop->n_conns == 0)
        end(loop);
    else
        (void)uv_timer_start(&loop->deadline, on_deadline, deadline_ms, 0);
}

void http_loop_stop(struct http_loop *loop, unsigned deadline_ms)
{
    lock_acquire(&loop->lock);
    loop->stop_asked = true;
    loop->stop_deadline_ms = deadline_ms;
    if (!loop->closed)
        (void)uv_async_send(&loop->wake);
    lock_release(&loop->lock);
}

void http_loop_evict(struct http_charge *evicted)
{
    struct http_exchange *x = CONTAINER_OF(evicted, struct http_exchange, charge);
    struct http_loop *loop = CONTAINER_OF(x, struct http_call, x)->loop;

    lock_acquire(&loop->lock);
    loop->evicted = true;
    if (!loop->closed)
        (void)uv_async_send(&loop->wake);
    lock_release(&loop->lock);
}

static void refuse_evicted(struct http_loop *loop)
{
    struct http_conn *c, *next;

    for (c = loop->lists[CONN_BODY].first; c != NULL; c = next) {
        next = c->next;
        if (http_charge_is_evicted(&c->call->x.charge))
            http_conn_evict(c);
    }
}

static struct http_call *oldest_first(struct http_call *call)
{
    struct http_call *reversed = NULL;

    while (call != NULL) {
        struct http_call *next = call->next;

        call->next = reversed;
        reversed = call;
        call = next;
    }
    return reversed;
}

static void on_wake(uv_async_t *async)
{
    struct http_loop *loop = async->data;
    struct http_call *call;
    unsigned deadline_ms;
    bool stop, evicted;

    loop->now_us = clock_mono_us();
    lock_acquire(&loop->lock);
    call = loop->posted;
    loop->posted = NULL;
    evicted = loop->evicted;
    loop->evicted = false;
    stop = loop->stop_asked;
    deadline_ms = loop->stop_deadline_ms;
    lock_release(&loop->lock);
    for (call = oldest_first(call); call != NULL;) {
        struct http_call *next = call->next;

        http_carrier_posted(call);
        call = next;
    }
    if (evicted)
        refuse_evicted(loop);
    if (stop && !loop->draining)
        begin_drain(loop, deadline_ms);
}

/* Start and end */

int http_loop_init(struct http_loop *loop, const struct http_app *app,
                   const struct http_limits *limits, struct http_admission *admission,
                   struct error *err)
{
    int r;

    *loop = (struct http_loop){
        .app = app, .carrier = &http_conn_carrier, .admission = admission, .limits = limits
    };
    buf_init(&loop->out, HEAD_MAX);
    digest_random_base62(loop->next_id, REQUEST_ID_RANDOM);
    memset(loop->next_id + REQUEST_ID_RANDOM, '0', REQUEST_ID_LEN - REQUEST_ID_RANDOM);
    r = uv_loop_init(&loop->uv);
    if (r != 0)
        return err_set(err, ERR_INTERNAL, "cannot create an event loop: %s", uv_strerror(r));
    lock_init(&loop->lock);
    loop->read_buffer = mem_new(READ_BUFFER);
    loop->now_us = clock_mono_us();
    if (uv_async_init(&loop->uv, &loop->wake, on_wake) != 0 ||
        uv_timer_init(&loop->uv, &loop->tick) != 0 ||
        uv_timer_init(&loop->uv, &loop->deadline) != 0)
        err_die("libuv: cannot create handles");
    loop->wake.data = loop->tick.data = loop->deadline.data = loop;
    (void)uv_timer_start(&loop->tick, on_tick, tick_ms(loop->limits), tick_ms(loop->limits));
    return 0;
}

void http_loop_run(void *ctx)
{
    struct http_loop *loop = ctx;
    sigset_t all;

    /* The main thread handles signals; SIGPIPE, which libuv's writes can raise, stays blocked. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, NULL);
    thread_begin("muster-loop", THREAD_PROMPT);
    http_loop_become_mine(loop);
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void http_loop_done(struct http_loop *loop)
{
    struct http_call *call;

    if (!loop->ending) { /* it never ran */
        uv_walk(&loop->uv, close_handle, NULL);
        (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    }
    if (uv_loop_close(&loop->uv) != 0)
        err_die("http: a loop ended with open handles");
    while ((call = loop->pool) != NULL) {
        loop->pool = call->next;
        http_loop_destroy_call(call);
    }
    assert(loop->n_conns == 0);
    buf_done(&loop->out);
    free(loop->read_buffer);
    free(loop->text_buffer);
    free(loop->record_buffer);
    lock_done(&loop->lock);
}
