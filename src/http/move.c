/* move.c - moves connections with large bodies to loops of their own.
 *
 * A loop that reads and checks a large body is busy for a millisecond, and small
 * requests on the same loop would wait. Large bodies therefore have loops of
 * their own: once a head announces one, its connection moves there, and back
 * after a few small requests in a row. A client that sends only small ones never
 * moves; one that sends only large ones moves once.
 *
 *   HEAD --> MOVING --> handle closed here, socket kept --> opened there --> BODY
 *
 * A loop that stops still takes up connections on their way, and ends after them.
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/err.h"
#include "http/internal.h"

enum {
    LARGE = 32 * 1024, /* bytes of body: some 0.1 ms of work */
    GZIP_GAIN = 8,     /* typical ratio of inflated to sent bytes */
    /* Before it goes back: a proxy sends requests of all kinds over one connection, and to move
     * costs as much as three small ones. */
    SMALL_IN_A_ROW = 4,
};

/* A body beyond its limit is refused unread; a chunked one may be large. */
static bool is_large(const struct http_conn *c)
{
    const struct http_request *request = &c->call->x.request;
    uint64_t gain = request->coding == CODING_GZIP ? GZIP_GAIN : 1;

    if (c->parser.chunked)
        return true;
    return request->length > LARGE / gain && request->length <= c->call->x.body_max;
}

bool http_conn_must_move(struct http_conn *c)
{
    const struct http_loop *loop = c->loop;
    bool large = is_large(c);

    c->n_small = large ? 0 : c->n_small + 1;
    if (loop->other == NULL || c->h.handle.type != UV_TCP || !http_transport_is_quiet(c))
        return false;
    return loop->is_for_large ? c->n_small >= SMALL_IN_A_ROW : large;
}

static void take_up(struct http_loop *loop, struct http_conn *c)
{
    int fd = c->moving_fd;

    assert(c->state == CONN_MOVING && c->call != NULL);
    c->loop = c->call->loop = loop;
    if (uv_tcp_init(&loop->uv, &c->h.tcp) != 0)
        err_die("libuv: cannot create a handle");
    c->h.handle.data = c;
    loop->n_conns++;
    http_conn_list_add(c, CONN_BODY);
    if (uv_tcp_open(&c->h.tcp, fd) != 0) {
        (void)close(fd);
        http_conn_close(c);
    } else if (loop->overdue) {
        loop->n_cut++;
        http_conn_close(c);
    } else {
        http_conn_resume(c);
    }
}

void http_conn_take_up_all(struct http_loop *loop, struct http_conn *arriving)
{
    while (arriving != NULL) {
        struct http_conn *next = arriving->next;

        take_up(loop, arriving);
        arriving = next;
    }
}

/* The connection goes on in `to`, and is no longer the caller's; false when that loop has ended. */
static bool hand_over(struct http_loop *to, struct http_conn *c)
{
    bool closed;

    lock_acquire(&to->lock);
    closed = to->closed;
    if (!closed) {
        c->next = to->arriving;
        to->arriving = c;
        (void)uv_async_send(&to->wake);
    }
    lock_release(&to->lock);
    return !closed;
}

static void let_go_of(uv_handle_t *handle)
{
    struct http_conn *c = handle->data;
    struct http_loop *loop = c->loop;

    http_conn_list_remove(c);
    c->reading = false;
    if (hand_over(loop->other, c)) {
        http_loop_conn_gone(loop);
    } else { /* the other loop has ended */
        loop->n_conns--;
        take_up(loop, c);
    }
}

void http_conn_move(struct http_conn *c)
{
    uv_os_fd_t fd;

    assert(c->state == CONN_MOVING && c->loop->other != NULL && !c->pumping);
    c->moving_fd = uv_fileno(&c->h.handle, &fd) == 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (c->moving_fd >= 0) {
        uv_close(&c->h.handle, let_go_of);
    } else { /* out of descriptors: served here, more slowly */
        http_conn_enter(c, CONN_BODY);
        http_conn_resume(c);
    }
}
