/* client.c - sends a prepared request, reads as little of the answer as it can. */
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BODY_LOOK = 32 }; /* what is looked for stands in the first bytes */

int client_connect(struct client *c, unsigned port)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int on = 1;

    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        return -1;
    if (connect(c->fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
        client_close(c);
        return -1;
    }
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    c->head_len = c->body_left = 0;
    c->head_done = c->wants_write = c->closing = false;
    return 0;
}

void client_close(struct client *c)
{
    int saved = errno;

    if (c->fd >= 0)
        (void)close(c->fd);
    c->fd = -1;
    errno = saved;
}

enum client_state client_send(struct client *c)
{
    while (c->out_sent < c->out_len) {
        ssize_t n = send(c->fd, c->out + c->out_sent, c->out_len - c->out_sent,
                         MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            c->wants_write = true;
            return CLIENT_WAITING;
        }
        if (n < 0)
            return CLIENT_BROKEN;
        c->out_sent += (size_t)n;
    }
    c->wants_write = false;
    return CLIENT_WAITING;
}

/* The digits after `name` in [at, end), or 0. */
static uint64_t number_after(const char *at, const char *end, const char *name)
{
    const char *found = memmem(at, (size_t)(end - at), name, strlen(name));
    uint64_t value = 0;

    if (found == NULL)
        return 0;
    for (found += strlen(name); found < end && *found >= '0' && *found <= '9'; found++)
        value = value * 10 + (uint64_t)(*found - '0');
    return value;
}

/* Reads head and look of the body once they are there; false when the answer makes no sense. */
static bool read_head(struct client *c)
{
    const char *end = c->head + c->head_len, *body = memmem(c->head, c->head_len, "\r\n\r\n", 4);
    size_t body_len, here;

    if (body == NULL)
        return c->head_len < CLIENT_HEAD_MAX;
    body += 4;
    body_len = (size_t)number_after(c->head, body, "\r\nContent-Length: ");
    here = (size_t)(end - body);
    if (here < body_len && here < BODY_LOOK)
        return c->head_len < CLIENT_HEAD_MAX;
    if (here > body_len || c->head_len < 12)
        return false;
    c->status = (int)number_after(c->head, body, "HTTP/1.1 ");
    c->closing = memmem(c->head, (size_t)(body - c->head), "\r\nConnection: close", 19) != NULL;
    c->accepted = number_after(body, end, "{\"accepted\":");
    if (memmem(body, here < BODY_LOOK ? here : BODY_LOOK, "\"status\":\"accepted\"", 19) != NULL)
        c->accepted = 1;
    c->look = body;
    c->look_len = here;
    c->body_left = body_len - here;
    c->head_done = true;
    return true;
}

/* Takes in `n` bytes that were read. */
static enum client_state take(struct client *c, size_t n)
{
    if (!c->head_done) {
        c->head_len += n;
        if (!read_head(c))
            return CLIENT_BROKEN;
    } else if (n > c->body_left) {
        return CLIENT_BROKEN;
    } else {
        c->body_left -= n;
    }
    if (!c->head_done || c->body_left > 0)
        return CLIENT_WAITING;
    c->head_len = 0;
    c->head_done = false;
    return CLIENT_ANSWERED;
}

enum client_state client_receive(struct client *c)
{
    static char scratch[1 << 18];

    for (;;) {
        char *to = c->head_done ? scratch : c->head + c->head_len;
        size_t room = c->head_done ? sizeof(scratch) : sizeof(c->head) - c->head_len;
        ssize_t n = recv(c->fd, to, room, MSG_DONTWAIT);
        enum client_state state;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return CLIENT_WAITING;
        if (n <= 0)
            return CLIENT_BROKEN;
        state = take(c, (size_t)n);
        if (state != CLIENT_WAITING || (size_t)n < room)
            return state;
    }
}
