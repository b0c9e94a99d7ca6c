/* listener.c - sockets bound the way our listeners need them, and from them to connections. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/internal.h"
#include "http/server.h"

union sock_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un path;
};

static int fail(struct error *err, const char *what, const char *where)
{
    return err_set(err, ERR_UNAVAILABLE, "cannot %s %s: %s", what, where, strerror(errno));
}

static int parse_host(const char *host, unsigned port, union sock_address *ret, socklen_t *ret_len,
                      struct error *err)
{
    *ret = (union sock_address){ 0 };
    if (port > UINT16_MAX)
        return err_set(err, ERR_INVALID, "%u is not a port number", port);
    if (inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1) {
        ret->v4.sin_family = AF_INET;
        ret->v4.sin_port = htons((uint16_t)port);
        *ret_len = sizeof(ret->v4);
    } else if (inet_pton(AF_INET6, host, &ret->v6.sin6_addr) == 1) {
        ret->v6.sin6_family = AF_INET6;
        ret->v6.sin6_port = htons((uint16_t)port);
        *ret_len = sizeof(ret->v6);
    } else {
        return err_set(err, ERR_INVALID, "'%s' is not a numeric address", host);
    }
    return 0;
}

/* Bytes of a reply that the kernel takes before they can be sent: what a slow client does not take
 * stays with us, where it is counted. */
enum { UNSENT_MAX = 128 * 1024 };

/* -1 with errno set on failure. */
static int bound_socket(const union sock_address *address, socklen_t len, bool shared)
{
    int on = 1, off = 0, unsent_max = UNSENT_MAX, saved;
    bool v6 = address->any.sa_family == AF_INET6;
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    /* The options of TCP are inherited by what is accepted, which saves calls. [::] takes IPv4 too,
     * whatever the machine's default is. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        (!v6 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0) &&
        (!shared || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0) &&
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0 &&
        setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_max, sizeof(unsent_max)) == 0 &&
        bind(fd, &address->any, len) == 0)
        return fd;
    saved = errno;
    (void)close(fd);
    errno = saved;
    return -1;
}

/* The socket, or -1. */
static int bind_tcp(const char *host, unsigned port, bool shared, struct error *err)
{
    union sock_address address;
    socklen_t len = 0;
    int fd;

    if (parse_host(host, port, &address, &len, err) != 0)
        return -1;
    fd = bound_socket(&address, len, shared);
    if (fd < 0)
        return err_set(
            err, ERR_UNAVAILABLE, "cannot listen on %s port %u: %s%s", host, port, strerror(errno),
            errno == EADDRINUSE ? "; stop the program that listens there, or choose another port"
                                : "");
    return fd;
}

int http_server_try(const char *host, unsigned port, struct error *err)
{
    int fd = bind_tcp(host, port, false, err);

    if (fd < 0)
        return -1;
    (void)close(fd);
    return 0;
}

/* A file that is not a socket is left alone. */
static int remove_stale(const char *path, struct error *err)
{
    struct stat st;

    if (lstat(path, &st) != 0)
        return errno == ENOENT ? 0 : fail(err, "look at", path);
    if (!S_ISSOCK(st.st_mode))
        return err_set(err, ERR_CONFLICT, "%s is there and is not a socket", path);
    if (unlink(path) != 0 && errno != ENOENT)
        return fail(err, "replace", path);
    return 0;
}

/* The socket, or -1. */
static int bind_unix(const char *path, struct error *err)
{
    union sock_address address = { .path = { .sun_family = AF_UNIX } };
    size_t len = strlen(path);
    int fd;

    if (len >= sizeof(address.path.sun_path))
        return err_set(err, ERR_INVALID, "socket path too long: %s", path);
    memcpy(address.path.sun_path, path, len + 1);
    if (remove_stale(path, err) != 0)
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return fail(err, "make", path);
    /* On Linux the file takes the mode of the socket, so it is never open to others. */
    if (fchmod(fd, S_IRUSR | S_IWUSR) != 0 || bind(fd, &address.any, sizeof(address.path)) != 0) {
        (void)fail(err, "listen on", path);
        (void)close(fd);
        return -1;
    }
    return fd;
}

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

/* Takes `fd`. */
static int start(struct http_loop *loop, int fd, bool is_unix, struct error *err)
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

int http_listener_tcp(struct http_loop *loop, const char *host, unsigned *port, struct error *err)
{
    union sock_address address = { 0 };
    socklen_t len = sizeof(address);
    int fd = bind_tcp(host, *port, true, err);

    if (fd < 0)
        return -1;
    if (getsockname(fd, &address.any, &len) != 0) {
        (void)fail(err, "listen on", host);
        (void)close(fd);
        return -1;
    }
    *port = ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port : address.v6.sin6_port);
    return start(loop, fd, false, err);
}

int http_listener_unix(struct http_loop *loop, const char *path, struct error *err)
{
    int fd = bind_unix(path, err);

    return fd < 0 ? -1 : start(loop, fd, true, err);
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
