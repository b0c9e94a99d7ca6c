/* carrier.c - what an exchange asks of its connection, from any thread. */
#include "http/internal.h"

static struct http_call *call_of(struct http_exchange *x)
{
    return CONTAINER_OF(x, struct http_call, x);
}

void http_carrier_posted(struct http_call *call)
{
    struct http_reply reply = call->reply;
    http_resume_fn *resume = call->resume;

    assert(http_loop_is_mine(call->loop));
    assert(!call->pooled);
    call->resume = NULL;
    if (resume != NULL)
        resume(&call->x);
    else if (call->x.stream != NULL)
        http_stream_advance(call);
    else if (call->conn == NULL)
        http_conn_drop_reply(call, &reply);
    else
        http_conn_send(call, &reply, buf_str(&call->fields));
}

static void carrier_reply(struct http_exchange *x, const struct http_reply *reply)
{
    struct http_call *call = call_of(x);

    if (!http_loop_is_mine(call->loop)) {
        call->reply = *reply;
        http_response_fields(&call->fields, reply->headers, reply->n_headers);
        http_loop_post(call);
    } else if (call->conn == NULL) {
        http_conn_drop_reply(call, reply);
    } else {
        http_conn_send(call, reply, STR_NULL);
    }
}

static void carrier_resume(struct http_exchange *x, http_resume_fn *fn)
{
    struct http_call *call = call_of(x);

    if (http_loop_is_mine(call->loop)) {
        fn(x);
        return;
    }
    call->reply = (struct http_reply){ 0 };
    call->resume = fn;
    http_loop_post(call);
}

static void carrier_read_on(struct http_exchange *x)
{
    http_conn_read_on(call_of(x));
}

static void carrier_count_for(struct http_exchange *x, const struct address *from)
{
    struct http_call *call = call_of(x);
    const struct http_conn *c = call->conn;

    assert(http_loop_is_mine(call->loop));
    if (c == NULL || c->address != NULL || call->address != NULL || c->peer.kind == PEER_OPERATOR)
        return;
    call->address = http_admission_find(call->loop->admission, from);
    x->charge.budget = &call->address->budget;
}

const struct http_carrier http_conn_carrier = {
    .reply = carrier_reply,
    .resume = carrier_resume,
    .read_on = carrier_read_on,
    .count_for = carrier_count_for,
    .begin = http_stream_carry,
    .write = http_stream_give,
    .end = http_stream_finish,
};
