/* listener.c - from a listening socket to connections. */
#include <linux/filter.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/internal.h"

enum {
    BACKLOG = 1024,
    OVER_MAX = 64, /* connections per loop, beyond the limits, that are answered 503 */
};

static void describe_tcp(struct http_conn_peer *peer, const struct sockaddr_storage *from)
{
    char room[ADDRESS_CHARS_MAX];
    struct str text;

    peer->address = address_of((const struct sockaddr *)from);
    text = address_format(&peer->address, room);
    (void)snprintf(peer->text, sizeof(peer->text),
                   peer->address.family == ADDRESS_V6 ? "[%.*s]:%u" : "%.*s:%u", STR_ARG(text),
                   address_port((const struct sockaddr *)from));
}

/* Processes of this user, or of root, are the operator; all others are refused. */
static bool describe_unix(struct http_conn_peer *peer, int fd)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0 ||
        (cred.uid != geteuid() && cred.uid != 0))
        return false;
    peer->kind = PEER_OPERATOR;
    (void)snprintf(peer->text, sizeof(peer->text), "unix");
    return true;
}

static bool describe(struct http_conn *c)
{
    struct sockaddr_storage from;
    int len = sizeof(from), fd;

    if (c->h.handle.type == UV_NAMED_PIPE)
        return uv_fileno(&c->h.handle, &fd) == 0 && describe_unix(&c->peer, fd);
    if (uv_tcp_getpeername(&c->h.tcp, (struct sockaddr *)&from, &len) != 0)
        return false; /* disconnected already */
    describe_tcp(&c->peer, &from);
    return true;
}

/* The handle is open: finds out the peer and counts the connection. */
static void introduce(struct http_conn *c)
{
    struct http_loop *loop = c->loop;

    if (!describe(c)) {
        http_conn_close(c);
        return;
    }
    c->admitted =
        http_admission_enter(loop->admission, &c->peer.address, c->peer.kind, &c->address);
    if (c->admitted)
        http_conn_start(c);
    else if (loop->n_over < OVER_MAX && loop->tls == NULL) /* a handshake would cost too much */
        http_conn_start_over(c);
    else
        http_conn_close(c);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct http_loop *loop = listener->data;
    struct http_conn *c;

    if (status != 0) /* out of descriptors: libuv closes the connection */
        return;
    loop->now_us = clock_mono_us();
    c = http_conn_new(loop, listener->type == UV_NAMED_PIPE);
    if (uv_accept(listener, &c->h.stream) == 0)
        introduce(c);
    else
        http_conn_close(c);
}

int http_listener_start(struct http_loop *loop, int fd, bool is_unix, struct error *err)
{
    union http_handle *h = is_unix ? &loop->unix_listener : &loop->tcp_listener;
    int r;

    if (is_unix) {
        (void)uv_pipe_init(&loop->uv, &h->pipe, 0);
        loop->has_unix = true;
        r = uv_pipe_open(&h->pipe, fd);
    } else {
        (void)uv_tcp_init(&loop->uv, &h->tcp);
        loop->has_tcp = true;
        r = uv_tcp_open(&h->tcp, fd);
    }
    if (r != 0)
        (void)close(fd);
    else
        r = uv_listen(&h->stream, BACKLOG, on_connection);
    h->handle.data = loop;
    if (r != 0)
        return err_set(err, ERR_UNAVAILABLE, "cannot listen: %s", uv_strerror(r));
    return 0;
}

static void accept_waiting(struct http_loop *loop, int listener, bool is_unix)
{
    int fd;

    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct http_conn *c = http_conn_new(loop, is_unix);
        int r = is_unix ? uv_pipe_open(&c->h.pipe, fd) : uv_tcp_open(&c->h.tcp, fd);

        if (r == 0) {
            introduce(c);
        } else {
            (void)close(fd);
            http_conn_close(c);
        }
    }
}

static void end_listener(struct http_loop *loop, union http_handle *h, bool is_unix)
{
    static struct sock_filter drop_all[] = { BPF_STMT(BPF_RET | BPF_K, 0) };
    static const struct sock_fprog filter = { COUNT_OF(drop_all), drop_all };
    int fd;

    if (uv_fileno(&h->handle, &fd) == 0) {
        /* Closing resets what waits in the queue, and more could come between the last accept and
         * the close: with the filter, nothing new gets in, and the queue can be emptied. */
        if (!is_unix)
            (void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
        accept_waiting(loop, fd, is_unix);
    }
    uv_close(&h->handle, NULL);
}

void http_listener_end(struct http_loop *loop)
{
    if (loop->has_tcp)
        end_listener(loop, &loop->tcp_listener, false);
    if (loop->has_unix)
        end_listener(loop, &loop->unix_listener, true);
}
