/* close.c - the end of a connection. */
#include <stdlib.h>

#include "http/internal.h"

bool http_conn_has_leftover(const struct http_conn *c)
{
    return c->pumping ? c->input->len > 0 : c->stash_at < c->stash_len;
}

void http_conn_drop_stash(struct http_conn *c)
{
    if (c->stash != NULL)
        http_admission_kept(c->loop->admission, c->address, c->stash_len);
    free(c->stash);
    c->stash = NULL;
    c->stash_at = c->stash_len = 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct http_conn *c = handle->data;
    struct http_loop *loop = c->loop;

    assert(c->state == CONN_CLOSING && c->call == NULL && c->stash == NULL);
    http_transport_done(c);
    http_conn_list_remove(c);
    if (c->admitted)
        http_admission_leave(loop->admission, c->address, c->peer.kind);
    if (c->over)
        loop->n_over--;
    free(c);
    http_loop_conn_gone(loop);
}

void http_conn_part(struct http_conn *c)
{
    struct http_call *call = c->call;

    assert(call->conn == c && (call->address == NULL || c->address == NULL));
    if (call->address == NULL) {
        http_admission_hold(c->loop->admission, c->address); /* what it holds may count for it */
        call->address = c->address;
    }
    c->call = NULL;
    call->conn = NULL;
}

/* Lets go of the request, if there is one and libuv does not have it. */
static void let_go(struct http_conn *c)
{
    struct http_call *call = c->call;

    if (call == NULL || (c->state == CONN_WRITE && !call->streams))
        return;
    http_conn_part(c);
    if (call->streams)
        http_stream_lost(call);
    else if (c->state != CONN_BUSY)
        http_loop_free_call(call);
}

void http_conn_close(struct http_conn *c)
{
    assert(c->state != CONN_MOVING); /* move.c's alone */
    if (c->state == CONN_CLOSING)
        return;
    let_go(c);
    http_conn_drop_stash(c);
    http_transport_say_end(c);
    http_conn_enter(c, CONN_CLOSING);
    uv_close(&c->h.handle, on_closed);
}

void http_conn_reset(struct http_conn *c)
{
    assert(c->state != CONN_MOVING);
    if (c->h.handle.type == UV_TCP && c->state != CONN_CLOSING) {
        let_go(c);
        http_conn_drop_stash(c);
        if (uv_tcp_close_reset(&c->h.tcp, on_closed) == 0) {
            http_conn_enter(c, CONN_CLOSING);
            return;
        }
    }
    http_conn_close(c);
}
