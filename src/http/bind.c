/* bind.c - sockets bound the way our listeners need them. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/internal.h"

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

int http_listener_bind_again(const char *host, unsigned port, int *ret_fd, struct error *err)
{
    int fd = bind_tcp(host, port, true, err);

    if (fd < 0)
        return -1;
    *ret_fd = fd;
    return 0;
}

int http_server_try(const char *host, unsigned port, struct error *err)
{
    int fd = bind_tcp(host, port, false, err);

    if (fd < 0)
        return -1;
    (void)close(fd);
    return 0;
}

int http_listener_bind_tcp(const char *host, unsigned *port, int *ret_fd, struct error *err)
{
    union sock_address address = { 0 };
    socklen_t len = sizeof(address);
    int fd;

    /* Another process that shares its port would silently get half of our clients, and the other
     * way round: a socket that does not share is refused where one that does is not. */
    if (http_server_try(host, *port, err) != 0)
        return -1;
    fd = bind_tcp(host, *port, true, err);
    if (fd < 0)
        return -1;
    if (getsockname(fd, &address.any, &len) != 0) {
        (void)fail(err, "listen on", host);
        (void)close(fd);
        return -1;
    }
    *port = ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port : address.v6.sin6_port);
    *ret_fd = fd;
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

int http_listener_bind_unix(const char *path, int *ret_fd, struct error *err)
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
    *ret_fd = fd;
    return 0;
}
