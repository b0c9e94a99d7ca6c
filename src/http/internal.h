/* internal.h - the server's own types and the calls between its files; private to http/.
 *
 * Public headers of http/: server.h, exchange.h, charge.h, tls.h.
 *
 * Files, each of which calls only those below it:
 *
 *   server.c        starts and stops the loops
 *   loop.c          the thread of a loop: timers, posted replies, the stop
 *   listener.c      sockets, and from them to connections
 *   large.c         threads that handle requests with large bodies
 *   connection.c    the state machine of one connection: bytes in, its states, its end
 *   stream.c        replies that come in parts
 *   send.c          whole replies
 *   transport.c     bytes to and from the socket: as they are, or in TLS
 *   call.c          requests: pooled, posted from other threads, freed; their carrier
 *   admission.c     connections by address
 *   parser.c, body.c, charge.c, tls.c    know no connection
 *
 * Everything in a loop is touched by its own thread alone, but for what `lock` guards. A request
 * that the application keeps outlives its connection; the loop outlives both, until
 * http_server_free().
 */
#pragma once
#include <assert.h>
#include <uv.h>

#include "base/address.h"
#include "base/lock.h"
#include "base/map.h"
#include "http/parser.h"

/* clang-format off */
/* The only calls that point up, each to continue what the caller has finished:
 *
 *   From                    To                                        When
 *   send.c                  http_conn_resume()                        the reply is sent: parse what follows
 *   send.c, transport.c     http_conn_close()                         the end, or the socket is broken
 *   call.c                  http_conn_send(), http_stream_advance()   a reply was posted
 *   connection.c            http_loop_conn_gone()                     the last connection ends its loop
 */
/* clang-format on */

enum {
    READ_BUFFER = 64 * 1024,
    HEAD_MAX = 64 * 1024, /* bytes of a reply's head */
    REQUEST_ID_LEN = 18,
    REQUEST_ID_RANDOM = 10, /* leading digits that are random; the rest counts */
    ADDRESS_TEXT_MAX = 56,
};

/* What a connection is doing. Each state is also a list, ordered by when the connection entered
 * it, so that a timer checks only the front. connection.c has the rules. */
enum http_conn_state {
    CONN_IDLE, /* between requests */
    CONN_HEAD, /* part of a head has come */
    CONN_BODY, /* head complete and not answered, body coming */
    CONN_SKIP, /* answered early; the rest of the body is read and dropped */
    /* In those above, input is parsed: takes_input(). */
    CONN_BUSY,      /* the application has the request */
    CONN_WRITE,     /* the reply is queued */
    CONN_HANDSHAKE, /* TLS is being set up: no request yet */
    CONN_LINGER,    /* answered and half-closed; reading on so that the client gets the answer */
    CONN_CLOSING,
};
enum { CONN_STATES = CONN_CLOSING + 1 };

struct error;
struct http_conn;
struct http_loop;
struct http_options;
struct http_session; /* transport.c */
struct http_tls;

/* A request on its way through the application. */
struct http_call {
    struct http_exchange x;
    struct http_loop *loop;
    struct http_conn *conn; /* NULL once the client has gone */
    struct http_call *next; /* in the pool, or among the posted ones */
    struct arena arena;
    struct http_body body;
    struct http_reply reply;      /* once posted or queued */
    struct buf fields;            /* its own header lines, printed, once posted */
    http_resume_fn *resume;       /* instead of a reply: what to run on the loop */
    bool streams;                 /* x.stream is known to the loop */
    bool pooled;                  /* free, in the loop's pool */
    struct http_address *address; /* held once the connection has gone, or since a proxy named it;
                                     NULL: none */
    uv_write_t write;
    char request_id[REQUEST_ID_LEN];
    char peer_address[ADDRESS_TEXT_MAX]; /* a copy, since the connection may go first */
};

enum { DATE_LINE_MAX = sizeof("Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n") };

/* The Date line of the current second. */
struct http_date {
    int64_t second;
    char line[DATE_LINE_MAX];
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

/* The other end of a connection. */
struct http_conn_peer {
    enum http_peer kind;
    struct address address; /* ADDRESS_NONE: a unix socket */
    char text[ADDRESS_TEXT_MAX];
};

struct http_conn {
    union http_handle h;
    struct http_loop *loop;
    struct http_conn *previous, *next; /* in the list of its state */
    int64_t since_us;                  /* when it entered its state, or last made progress in it */
    enum http_conn_state state;
    enum http_conn_state after; /* the state after the reply that is being sent */
    struct http_call *call;     /* NULL between requests */
    struct http_parser parser;
    char *stash; /* bytes that came while a request was in progress */
    size_t stash_at, stash_len;
    const struct str *input; /* what is being parsed, while `pumping` */
    int64_t body_began_us;
    uint64_t write_left; /* bytes that the client had not taken when last checked */
    size_t linger_left;  /* bytes still to be drained at most */
    struct http_conn_peer peer;
    struct http_session *session; /* of TLS; NULL: none */
    bool reading, eof;
    bool pumping;   /* its input is being parsed further up the stack */
    bool refused;   /* the end of the current request cannot be found */
    bool cut_short; /* the current request exceeded its limit: the rest was not read */
    bool admitted;  /* counted by admission.c */
    struct http_address *address; /* by which it is counted; NULL: none */
    bool over;                    /* beyond the limits, open only to be answered 503 */
};

/* One for all connections from an address, and for the requests that outlive them. */
struct http_address {
    struct address network; /* by which it is found */
    struct budget budget;   /* of callers there who have shown no key */
    unsigned holders;       /* guarded by the admission's lock */
};

struct http_admission {
    struct budgets *budgets;
    struct budgets unlimited;          /* when the options bring none */
    const struct address_list *exempt; /* NULL: none */
    struct http_bodies bodies;
    struct lock lock;
    struct map addresses GUARDED_BY(lock); /* network -> struct http_address */
};

struct http_loop {
    uv_loop_t uv;
    struct http_admission *admission;
    const struct http_limits *limits;
    const struct http_app *app;
    const struct http_carrier *carrier; /* of the exchanges that it makes */
    struct http_large *large;           /* handles large bodies; NULL: the loop does */
    uv_thread_t thread;
    bool started;
    union http_handle tcp_listener, unix_listener;
    bool has_tcp, has_unix;
    uv_async_t wake;
    uv_timer_t tick, deadline;
    int64_t now_us; /* of the current callback */
    struct http_conn_list lists[CONN_STATES];
    unsigned n_conns;
    unsigned n_over; /* connections beyond the limits, being answered 503 */
    struct http_call *pool;
    unsigned n_pool;
    struct buf out; /* the head of the reply being printed */
    struct http_date date;
    char next_id[REQUEST_ID_LEN];
    bool draining, ending;
    unsigned n_cut; /* connections that the deadline ended */
    char *read_buffer;
    struct http_tls *tls; /* borrowed; NULL: none */
    char *text_buffer;    /* what TLS has read, decrypted */
    char *record_buffer;  /* what becomes one record */

    struct lock lock;
    struct http_call *posted GUARDED_BY(lock); /* newest first */
    bool evicted GUARDED_BY(lock);             /* one of its bodies has lost its room */
    bool closed GUARDED_BY(lock);
    bool stop_asked GUARDED_BY(lock);
    unsigned stop_deadline_ms GUARDED_BY(lock);
};

/* loop.c */

/* Ready to run, without listeners. */
int http_loop_init(struct http_loop *loop, const struct http_app *app,
                   const struct http_limits *limits, struct http_admission *admission,
                   struct error *err) MUST_CHECK;

/* The thread, given its loop: returns once the loop was stopped and its last connection is gone. */
void http_loop_run(void *ctx);

/* Frees what http_loop_init() made; for a loop that never ran or has ended. */
void http_loop_done(struct http_loop *loop);

/* Any thread. */
void http_loop_stop(struct http_loop *loop, unsigned deadline_ms);

/* The body of this request must go: wakes its loop. Any thread. */
void http_loop_evict(struct http_charge *evicted);

/* A connection has ended: a stopped loop ends with its last. */
void http_loop_conn_gone(struct http_loop *loop);

/* admission.c */

void http_admission_init(struct http_admission *a, const struct http_options *options,
                         void (*wake)(struct http_charge *evicted));
void http_admission_done(struct http_admission *a);

/* Counts a connection; false, without counting, when a limit is reached. The operator is always
 * admitted, so that an overloaded server can be repaired. *ret is the address that it counts for;
 * NULL: none, since the peer is the operator or exempt. */
bool http_admission_enter(struct http_admission *a, const struct address *from, enum http_peer kind,
                          struct http_address **ret);

/* Counts bytes that the connection keeps for later, by its address. False when there is no room,
 * and they do not have to be kept. */
bool http_admission_keep(struct http_admission *a, struct http_address *address, size_t n,
                         bool must) MUST_CHECK;
void http_admission_kept(struct http_admission *a, struct http_address *address, size_t n);

/* Gives back what http_admission_enter() gave. */
void http_admission_leave(struct http_admission *a, struct http_address *address,
                          enum http_peer kind);

/* An address that a proxy has named, kept until http_admission_release(). */
struct http_address *http_admission_find(struct http_admission *a, const struct address *from);

/* Keeps an address for a request that outlives its connection, and lets it go. NULL is fine. */
void http_admission_hold(struct http_admission *a, struct http_address *address);
void http_admission_release(struct http_admission *a, struct http_address *address);

/* listener.c */

/* Listens in this loop, which does not run yet, with SO_REUSEPORT, so that each loop can have a
 * socket of its own. *port 0 is replaced by the one chosen. */
int http_listener_tcp(struct http_loop *loop, const char *host, unsigned *port,
                      struct error *err) MUST_CHECK;

/* The same on a socket file that only this user may open; an existing socket is replaced. */
int http_listener_unix(struct http_loop *loop, const char *path, struct error *err) MUST_CHECK;

/* Accepts what already waits, then closes the listeners. */
void http_listener_end(struct http_loop *loop);

extern const struct http_carrier http_conn_carrier;

/* On the loop: sends the reply that was posted, or drops it when the client has gone; or runs what
 * was posted instead. */
void http_carrier_posted(struct http_call *call);

/* large.c */

/* Threads beside the loops, and the complete requests that wait for one. */
struct http_large {
    const struct http_app *app;
    pthread_t *threads;
    unsigned n_threads;
    struct lock lock;
    struct cond changed;
    struct http_call *first GUARDED_BY(lock), **last GUARDED_BY(lock);
    bool ends GUARDED_BY(lock);
};

int http_large_start(struct http_large *large, const struct http_app *app, unsigned n_threads,
                     struct error *err) MUST_CHECK;

/* Takes a request if its body is large; one of the threads then calls the application. NULL takes
 * none. */
bool http_large_take(struct http_large *large, struct http_call *call);

/* Once the loops have ended: joins the threads, and drops the requests that still wait. */
void http_large_stop(struct http_large *large);

/* connection.c */

/* A connection whose handle is initialised but not open yet; its loop owns it. */
struct http_conn *http_conn_new(struct http_loop *loop, bool is_unix);

/* The handle is open: begins to read. */
void http_conn_start(struct http_conn *c);

/* Beyond the limits: answers 503 and closes. */
void http_conn_start_over(struct http_conn *c);

/* Reads the body of a request that has waited after its head. */
void http_conn_read_on(struct http_call *call);

/* Goes on after a reply with what has come meanwhile. */
void http_conn_resume(struct http_conn *c);

/* It has been too long in its state. */
void http_conn_expired(struct http_conn *c);

/* Refuses a body that has lost its room to another. */
void http_conn_evict(struct http_conn *c);

/* When its body must be complete, by its size. */
int64_t http_conn_body_deadline_us(const struct http_conn *c);

/* The server stops: closes the connection unless a request is in progress or has been received. */
void http_conn_drain(struct http_conn *c);

/* At once. What the application has is dropped when it answers. */
void http_conn_close(struct http_conn *c);

/* At once, dropping unsent bytes in the kernel: the client sees a failure. */
void http_conn_reset(struct http_conn *c);

/* The request goes on without its connection, which is in any case no longer its own. */
void http_conn_part(struct http_conn *c);

/* Are there bytes that came after the current request? */
bool http_conn_has_leftover(const struct http_conn *c);
void http_conn_drop_stash(struct http_conn *c);

/* Moves it to another state, or to the end of its own: it has made progress. */
void http_conn_enter(struct http_conn *c, enum http_conn_state state);

/* stream.c */

/* The slots of the carrier. */
void http_stream_carry(struct http_exchange *x, const struct http_reply *head,
                       enum http_stream_kind kind);
bool http_stream_give(struct http_exchange *x, struct buf *part, bool may_wait);
void http_stream_finish(struct http_exchange *x, bool whole);

/* Sends what was given since the last call. */
void http_stream_advance(struct http_call *call);

/* The connection has gone; the producer will see it. */
void http_stream_lost(struct http_call *call);

/* Ends a stream that has no end of its own; others go on. */
void http_stream_stop(struct http_call *call);

/* Bytes that the client has taken since the last call. */
uint64_t http_stream_moved(struct http_call *call);

/* send.c */

/* The reply's own header lines; a control character in a value, which could begin a line of its
 * own, becomes '?'. */
void http_response_fields(struct buf *out, const struct http_header *headers, size_t n);

/* `fields`: the reply's own header lines, already printed; STR_NULL: still to be printed. */
void http_conn_send(struct http_call *call, const struct http_reply *reply, struct str fields);

/* Drops the reply: the client has gone. */
void http_conn_drop_reply(struct http_call *call, const struct http_reply *reply);

/* The reply is out, or all of the stream: enters c->after. */
void http_conn_sent(struct http_conn *c);

/* The head of a stream's reply, in the loop's buffer; decides c->after. */
struct str http_conn_stream_head(struct http_call *call, bool chunked);

/* libuv predates const but only reads what is written. */
uv_buf_t http_conn_buf(struct str s);

/* Bytes that the kernel holds for the client: it is the client's progress when they become fewer,
 * not when the kernel takes some. */
uint64_t http_conn_in_kernel(const struct http_conn *c);

/* transport.c */

/* Connections over TCP in this loop, or moved to it, are secured. */
void http_transport_prepare(struct http_loop *loop, struct http_tls *tls);

/* Gives the connection a session, whose handshake the client begins. */
int http_transport_secure(struct http_conn *c) MUST_CHECK;

/* Frees the session; its handle is closed. */
void http_transport_done(struct http_conn *c);

/* As uv_try_write() with one or two pieces. What is left of them must go to http_transport_write(),
 * from there on and unchanged, or the connection must be closed. */
int http_transport_try_write(struct http_conn *c, const uv_buf_t *bufs, unsigned n);

/* As uv_write(): `done` is called once, later. The pieces must live until then. */
int http_transport_write(struct http_conn *c, uv_write_t *write, const uv_buf_t bufs[2],
                         uv_write_cb done);

/* Bytes that the socket has not taken yet. */
size_t http_transport_unsent(const struct http_conn *c);

/* Decrypts what was read: *in becomes its text, valid until the next call in this loop. 0, UV_EOF
 * when nothing more follows, or another error of libuv when the connection must be closed. */
int http_transport_open(struct http_conn *c, struct str *in);

/* Is there part of a record that is not complete? */
bool http_transport_has_input(const struct http_conn *c);

/* Says that nothing more will be sent, as far as the socket takes it at once. */
void http_transport_say_end(struct http_conn *c);

/* call.c */

/* Is the caller the thread of this loop? Only the second one may say so, once. */
bool http_loop_is_mine(const struct http_loop *loop);
void http_loop_become_mine(const struct http_loop *loop);

/* A fresh request with its own id, from the pool when there is one. */
struct http_call *http_loop_new_call(struct http_loop *loop);
void http_loop_free_call(struct http_call *call);

/* The request is complete: inflates its body, and calls the application, or has it refused. Any
 * thread. */
void http_call_handle(const struct http_app *app, struct http_call *call);

/* Any thread, once the loop has ended. */
void http_loop_destroy_call(struct http_call *call);

/* The reply, or what to run, stands in `call`. Any thread but the loop's own; the call is no longer
 * the caller's. False when the loop has ended, and then the call is still the caller's. */
bool http_loop_try_post(struct http_call *call) MUST_CHECK;
