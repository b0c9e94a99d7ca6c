/* loop.h - one thread's event loop and what it owns: connections, requests, time.
 *
 * Everything in a loop is touched by its own thread alone, but for `lock` and
 * what it guards: the replies that other threads hand in, the connections that
 * come from another loop, and the order to stop. A request that the application keeps outlives its
 * connection; the loop outlives both, until http_server_free().
 */
#pragma once
#include <uv.h>

#include "base/lock.h"
#include "http/admission.h"
#include "http/body.h"
#include "http/parser.h"
#include "http/response.h"
#include "http/server.h"

enum { READ_BUFFER = 64 * 1024, REQUEST_ID_LEN = 18, ADDRESS_TEXT_MAX = 56 };

/* What a connection is about; each state is also a list, ordered by when the connection entered
 * it, so that the timer need only look at the front. connection.c has the rules. */
enum http_conn_state {
    CONN_IDLE,   /* between requests */
    CONN_HEAD,   /* some bytes of a head have come */
    CONN_BODY,   /* head complete and not answered, body coming */
    CONN_SKIP,   /* answered early; the rest of the body is read and dropped */
    CONN_BUSY,   /* the application has the request */
    CONN_WRITE,  /* the reply is queued */
    CONN_LINGER, /* answered, our side is closed; reading on so that the client gets the answer */
    CONN_CLOSING,
    CONN_MOVING, /* head complete, on its way to the other loop; after CLOSING, since nobody but
                  * move.c may touch it */
};
enum { CONN_STATES = CONN_MOVING + 1 };

struct http_conn;

/* A request on its way through the application. */
struct http_call {
    struct http_exchange x;
    struct http_loop *loop;
    struct http_conn *conn; /* NULL once the client has gone */
    struct http_call *next; /* in the pool, or among the replies handed in */
    struct arena arena;
    struct http_body body;
    struct http_reply reply; /* once handed in or queued */
    struct buf fields;       /* its own header lines, printed, once handed in */
    http_resume_fn *resume;  /* instead of a reply: what to go on with */
    bool streams;            /* x.stream is known to the loop */
    uv_write_t write;
    char request_id[REQUEST_ID_LEN];
    char peer_address[ADDRESS_TEXT_MAX]; /* its own, since the connection may go first */
};

struct http_conn_list {
    struct http_conn *first, *last;
};

union http_handle {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
};

struct http_loop {
    uv_loop_t uv;
    struct http_admission *admission;
    const struct http_limits *limits;
    const struct http_app *app;
    struct http_loop *other; /* for requests that this one is not for; NULL: it is for all */
    bool is_for_large;       /* bodies; otherwise it is for all else */
    uv_thread_t thread;
    bool started;
    union http_handle tcp_listener, unix_listener;
    bool has_tcp, has_unix;
    uv_async_t wake;
    uv_timer_t tick, deadline;
    int64_t now_us; /* of the current callback */
    struct http_conn_list lists[CONN_STATES];
    unsigned n_conns;
    unsigned n_over; /* connections beyond the limits, being told so */
    struct http_call *pool;
    unsigned n_pool;
    struct buf out; /* the head of the reply being printed */
    struct http_date date;
    char next_id[REQUEST_ID_LEN];
    bool draining, ending;
    bool overdue;   /* the deadline of its stop is over */
    unsigned n_cut; /* connections that the deadline ended */
    char *read_buffer;

    struct lock lock;
    struct http_call *posted GUARDED_BY(lock);
    struct http_conn *arriving GUARDED_BY(lock); /* from the other loop */
    bool closed GUARDED_BY(lock);
    bool stop_asked GUARDED_BY(lock);
    unsigned stop_deadline_ms GUARDED_BY(lock);
};

/* Ready to run, without listeners. */
int http_loop_init(struct http_loop *loop, const struct http_app *app,
                   struct http_admission *admission, struct error *err) MUST_CHECK;

/* The thread, given its loop: returns once the loop was stopped and its last connection is gone. */
void http_loop_run(void *ctx);

/* Frees what http_loop_init() made; for a loop that never ran or has ended. */
void http_loop_done(struct http_loop *loop);

/* Any thread. */
void http_loop_stop(struct http_loop *loop, unsigned deadline_ms);

/* The reply, or what to go on with, stands in `call`. Any thread but the loop's own; the call is no
 * longer the caller's. */
void http_loop_post(struct http_call *call);

/* The same; false when the loop has ended, and then the call is still the caller's. */
bool http_loop_try_post(struct http_call *call);

/* The connection goes on in `to`, and is no longer the caller's; false when that loop has ended. */
bool http_loop_hand_over(struct http_loop *to, struct http_conn *c);

/* Is the caller the thread of this loop? */
bool http_loop_is_mine(const struct http_loop *loop);

/* A fresh request with its own id, from the pool when there is one. */
struct http_call *http_loop_new_call(struct http_loop *loop);
void http_loop_free_call(struct http_call *call);

/* Any thread, once the loop has ended. */
void http_loop_destroy_call(struct http_call *call);

/* Puts a connection at the end of a state's list and notes the time; enter() moves it there. */
void http_loop_add(struct http_loop *loop, struct http_conn *c, enum http_conn_state state);
void http_loop_enter(struct http_loop *loop, struct http_conn *c, enum http_conn_state state);
void http_loop_leave(struct http_loop *loop, struct http_conn *c);

/* Called when a connection has ended: a stopped loop ends with its last. */
void http_loop_conn_gone(struct http_loop *loop);
