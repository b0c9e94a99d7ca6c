/* wire.h - a server with a telling application, and a client that speaks raw bytes.
 *
 * The application answers 200 with "METHOD path?query [body]", but for paths
 * that begin with /held (kept until the test answers), /early (401 from
 * on_head), /wait (kept after its head until the test reads on), /large (a body of `large_len`
 * bytes), /limit (body_max is what stands after it), /who ("by thread length", of the body) and
 * /block (the same, once the test has set `go`).
 */
#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "http/server.h"
#include "test.h"

enum { HELD_MAX = 64, WAIT_SECONDS = 20 };

struct wire {
    struct http_server *server;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct http_exchange *held[HELD_MAX];
    unsigned n_held;  /* ever */
    unsigned n_done;  /* replies that were handed over or dropped */
    unsigned n_heads; /* on_head calls */
    unsigned operators;
    unsigned n_blocked, go;
    size_t large_len;
};

static inline void wire_answer(struct http_exchange *x, int status, struct str body)
{
    const struct http_header headers[] = { { STR_LIT("X-Test"), STR_LIT("a\r\nb") } };

    http_reply(x, &(struct http_reply){ .status = status,
                                        .content_type = "text/plain",
                                        .body = body,
                                        .headers = headers,
                                        .n_headers = COUNT_OF(headers) });
}

static inline void wire_echo(struct http_exchange *x)
{
    const struct http_request *r = &x->request;
    struct str text =
        arena_printf(x->arena, "%.*s %.*s%s%.*s [%.*s]", STR_ARG(r->method_name), STR_ARG(r->path),
                     str_is_null(r->query) ? "" : "?", STR_ARG(r->query), STR_ARG(r->body));

    wire_answer(x, 200, text);
}

/* Keeps an exchange for the test. */
static inline void wire_hold(struct wire *w, struct http_exchange *x)
{
    pthread_mutex_lock(&w->mutex);
    w->held[w->n_held++ % HELD_MAX] = x;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->mutex);
}

static inline void wire_on_head(void *ctx, struct http_exchange *x)
{
    struct wire *w = ctx;
    int64_t limit;

    pthread_mutex_lock(&w->mutex);
    w->n_heads++;
    w->operators += x->request.peer == PEER_OPERATOR;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->mutex);
    if (str_starts(x->request.path, STR_LIT("/early"))) {
        wire_answer(x, 401, STR_LIT("no"));
    } else if (str_starts(x->request.path, STR_LIT("/wait"))) {
        x->waits = true;
        wire_hold(w, x);
    }
    if (str_starts(x->request.path, STR_LIT("/limit")) &&
        str_to_int(str_from(x->request.path.data + 6, x->request.path.len - 6), &limit))
        x->body_max = (size_t)limit;
}

static inline void wire_tell_who(struct http_exchange *x, int status, const char *words)
{
    char name[16] = "";

    (void)pthread_getname_np(pthread_self(), name, sizeof(name));
    wire_answer(x, status, arena_printf(x->arena, "%s %s %zu", words, name, x->request.body.len));
}

/* Waits until the counter reaches `n`. */
static inline void wire_wait(struct wire *w, const unsigned *counter, unsigned n)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_SECONDS;
    pthread_mutex_lock(&w->mutex);
    while (*counter < n) {
        if (pthread_cond_timedwait(&w->changed, &w->mutex, &until) == ETIMEDOUT)
            fail_msg("waited for %u, is still %u", n, *counter);
    }
    pthread_mutex_unlock(&w->mutex);
}

static inline void wire_on_request(void *ctx, struct http_exchange *x)
{
    struct wire *w = ctx;

    if (str_starts(x->request.path, STR_LIT("/held"))) {
        wire_hold(w, x);
    } else if (str_starts(x->request.path, STR_LIT("/large"))) {
        char *body = mem_new(w->large_len);

        memset(body, 'x', w->large_len);
        http_reply(x, &(struct http_reply){ .status = 200,
                                            .content_type = "text/plain",
                                            .body = str_from(body, w->large_len),
                                            .body_take = body });
    } else if (str_starts(x->request.path, STR_LIT("/block"))) {
        pthread_mutex_lock(&w->mutex);
        w->n_blocked++;
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->mutex);
        wire_wait(w, &w->go, 1);
        wire_tell_who(x, 200, "by");
    } else if (str_starts(x->request.path, STR_LIT("/who"))) {
        wire_tell_who(x, 200, "by");
    } else {
        wire_echo(x);
    }
}

static inline void wire_on_too_large(void *ctx, struct http_exchange *x)
{
    (void)ctx;
    if (x->no_room)
        wire_answer(x, 503, STR_LIT("no room"));
    else
        wire_tell_who(x, 413, "too large for");
}

static inline void wire_on_refused(void *ctx, struct http_exchange *x, int status,
                                   const char *detail)
{
    (void)ctx;
    wire_answer(x, status, str_of(detail));
}

static inline void wire_on_done(void *ctx, const struct http_exchange *x, int status, size_t bytes)
{
    struct wire *w = ctx;

    (void)x;
    (void)status;
    (void)bytes;
    pthread_mutex_lock(&w->mutex);
    w->n_done++;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->mutex);
}

static inline void wire_start_with(struct wire *w, const struct http_options *options)
{
    struct http_app app = { .ctx = w,
                            .on_head = wire_on_head,
                            .on_request = wire_on_request,
                            .on_too_large = wire_on_too_large,
                            .on_refused = wire_on_refused,
                            .on_done = wire_on_done };
    struct error err = { 0 };

    *w = (struct wire){ .large_len = 1000 };
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->changed, NULL);
    if (http_server_new(options, &app, &w->server, &err) != 0)
        fail_msg("%s", err.text);
}

static inline void wire_start(struct wire *w, const struct http_limits *limits, unsigned loops,
                              const char *unix_path)
{
    struct http_options options = { .host = "127.0.0.1",
                                    .loops = loops,
                                    .unix_path = unix_path,
                                    .limits = limits == NULL ? http_default_limits : *limits };

    wire_start_with(w, &options);
}

/* With limits of what callers hold. */
static inline void wire_start_sharing(struct wire *w, struct budgets *budgets)
{
    struct http_options options = {
        .host = "127.0.0.1", .loops = 1, .limits = http_default_limits, .budgets = budgets
    };

    wire_start_with(w, &options);
}

static inline void wire_stop(struct wire *w)
{
    http_server_free(w->server);
    pthread_mutex_destroy(&w->mutex);
    pthread_cond_destroy(&w->changed);
}

/* What /block keeps may go on. */
static inline void wire_let_go(struct wire *w)
{
    pthread_mutex_lock(&w->mutex);
    w->go = 1;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->mutex);
}

static inline unsigned wire_count(struct wire *w, const unsigned *counter)
{
    unsigned n;

    pthread_mutex_lock(&w->mutex);
    n = *counter;
    pthread_mutex_unlock(&w->mutex);
    return n;
}

/* The nth exchange that the application has been keeping. */
static inline struct http_exchange *wire_held(struct wire *w, unsigned n)
{
    struct http_exchange *x;

    wire_wait(w, &w->n_held, n + 1);
    pthread_mutex_lock(&w->mutex);
    x = w->held[n % HELD_MAX];
    pthread_mutex_unlock(&w->mutex);
    return x;
}

static inline int wire_connect(const struct wire *w)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)http_server_port(w->server)),
                              .sin_addr = { htonl(INADDR_LOOPBACK) } };
    struct timeval patience = { .tv_sec = WAIT_SECONDS };
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        abort();
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    CHECK_INT(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

/* False when the server has closed its side for good. */
static inline bool wire_send(int fd, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t n = send(fd, bytes.data, bytes.len, MSG_NOSIGNAL);

        if (n < 0)
            return false;
        bytes = str_from(bytes.data + n, bytes.len - (size_t)n);
    }
    return true;
}

static inline bool wire_say(int fd, const char *text)
{
    return wire_send(fd, str_of(text));
}

/* Sockets have a time limit, so the kernel does not resume a recv() that it interrupted. libuv's
 * io_uring interrupts the thread that made the loop, without a signal. */
static inline ssize_t wire_recv(int fd, void *bytes, size_t n, int flags)
{
    ssize_t got;

    do
        got = recv(fd, bytes, n, flags);
    while (got < 0 && errno == EINTR);
    return got;
}

/* Everything until the server closes; false when it did so by a reset, or not at all. */
static inline bool wire_read_all(int fd, struct buf *out)
{
    for (;;) {
        char bytes[4096];
        ssize_t n = wire_recv(fd, bytes, sizeof(bytes), 0);

        if (n <= 0)
            return n == 0;
        buf_add(out, str_from(bytes, (size_t)n));
    }
}

struct wire_reply {
    int status;
    size_t head_len, length; /* of the head, of the body as announced */
};

/* The decimal number that begins at `at`; the bytes need not end in NUL. */
static inline size_t wire_number(const char *at, const char *end)
{
    size_t number = 0;

    for (; at < end && *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (size_t)(*at - '0');
    return number;
}

/* The reply at the front of `bytes`; false while its head is not whole. */
static inline bool wire_parse(struct str bytes, struct wire_reply *ret)
{
    const char *end = bytes.len == 0 ? NULL : memmem(bytes.data, bytes.len, "\r\n\r\n", 4);
    const char *length;

    *ret = (struct wire_reply){ 0 };
    if (end == NULL || bytes.len < 12)
        return false;
    ret->head_len = (size_t)(end - bytes.data) + 4;
    ret->status = (int)wire_number(bytes.data + 9, end);
    length = memmem(bytes.data, ret->head_len, "Content-Length: ", 16);
    if (length != NULL)
        ret->length = wire_number(length + 16, end);
    return true;
}

/* Reads exactly one reply into `out` (head and body); 0 when the connection ends before. */
static inline int wire_read_reply(int fd, struct buf *out, bool is_head)
{
    struct wire_reply reply;

    buf_clear(out);
    for (;;) {
        char byte;
        size_t want = 1;

        if (wire_parse(buf_str(out), &reply)) {
            if (is_head || out->len == reply.head_len + reply.length)
                return reply.status;
            want = reply.head_len + reply.length - out->len;
        }
        if (want == 1) {
            if (wire_recv(fd, &byte, 1, 0) != 1)
                return 0;
            buf_add_char(out, byte);
        } else {
            char *at = buf_reserve(out, want);
            ssize_t n = wire_recv(fd, at, want, 0);

            if (n <= 0)
                return 0;
            buf_added(out, (size_t)n);
        }
    }
}

static inline bool wire_has(const struct buf *out, const char *text)
{
    return out->len > 0 && memmem(out->data, out->len, text, strlen(text)) != NULL;
}

/* Statuses and bodies of all replies in `bytes`: "200 GET / []; 400 …". */
static inline void wire_summary(struct str bytes, struct buf *statuses, struct buf *bodies)
{
    struct wire_reply reply;

    while (wire_parse(bytes, &reply)) {
        size_t len = reply.head_len + reply.length;

        if (len > bytes.len)
            len = bytes.len;
        buf_printf(statuses, "%s%d", statuses->len > 0 ? " " : "", reply.status);
        if (reply.status == 200)
            buf_printf(bodies, "%s%.*s", bodies->len > 0 ? "; " : "", (int)(len - reply.head_len),
                       bytes.data + reply.head_len);
        bytes = str_from(bytes.data + len, bytes.len - len);
    }
    if (bytes.len > 0)
        buf_add_c(statuses, " +rest");
}

/* The next reply has this status, and contains the text; NULL: any. */
static inline void wire_check(int fd, int status, const char *text)
{
    struct buf reply;

    buf_init(&reply, MIB(1));
    CHECK_INT(wire_read_reply(fd, &reply, false), status);
    if (text != NULL && !wire_has(&reply, text))
        fail_msg("'%s' is not in %.*s", text, STR_ARG(reply));
    buf_done(&reply);
}

/* Nothing more comes: the server has closed. */
static inline void wire_check_end(int fd)
{
    CHECK_INT(wire_recv(fd, &(char){ 0 }, 1, 0), 0);
}

/* Leaves by a reset, which the server sees at once. */
static inline void wire_reset(int fd)
{
    const struct linger at_once = { .l_onoff = 1 };

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(fd);
}

/* A server of one loop with a client, and room for what that reads. */
struct talk {
    struct wire w;
    int fd;
    struct buf out, body;
};

static inline void talk_begin(struct talk *t, const struct http_limits *limits)
{
    wire_start(&t->w, limits, 1, NULL);
    t->fd = wire_connect(&t->w);
    buf_init(&t->out, MIB(32));
    buf_init(&t->body, MIB(1));
}

static inline void talk_end(struct talk *t)
{
    close(t->fd);
    buf_done(&t->out);
    buf_done(&t->body);
    wire_stop(&t->w);
}

/* A stop on a thread of its own. */
struct stopping {
    struct wire *w;
    unsigned deadline_ms, cut;
    pthread_t thread;
};

static inline void *stopping_run(void *arg)
{
    struct stopping *s = arg;

    s->cut = http_server_stop(s->w->server, s->deadline_ms);
    return NULL;
}

static inline void stopping_begin(struct stopping *s, struct wire *w, unsigned deadline_ms)
{
    *s = (struct stopping){ .w = w, .deadline_ms = deadline_ms };
    CHECK_INT(pthread_create(&s->thread, NULL, stopping_run, s), 0);
}

/* How many connections it has cut. */
static inline unsigned stopping_end(struct stopping *s)
{
    pthread_join(s->thread, NULL);
    return s->cut;
}
