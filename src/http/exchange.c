/* exchange.c - what a handler does with its request, passed on to the carrier. */
#include "http/exchange.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "http/stream.h"

static void note_reply(struct http_exchange *x)
{
    if (x->replied)
        err_die("http: a second reply to request %.*s", STR_ARG(x->request_id));
    x->replied = true;
}

void http_reply_free(const struct http_reply *reply)
{
    if (reply->body_take != NULL && reply->wipe_bytes > 0)
        explicit_bzero(reply->body_take, reply->wipe_bytes);
    free(reply->body_take);
}

void http_reply(struct http_exchange *x, const struct http_reply *reply)
{
    note_reply(x);
    x->carrier->reply(x, reply);
}

void http_stream_begin(struct http_exchange *x, const struct http_reply *head,
                       enum http_stream_kind kind)
{
    note_reply(x);
    x->carrier->begin(x, head, kind);
}

bool http_stream_write(struct http_exchange *x, struct buf *part)
{
    assert(x->replied); /* by http_stream_begin() */
    return x->carrier->write(x, part, true);
}

bool http_stream_offer(struct http_exchange *x, struct buf *part)
{
    return x->carrier->write(x, part, false);
}

void http_stream_end(struct http_exchange *x, bool whole)
{
    x->carrier->end(x, whole);
}

void http_resume(struct http_exchange *x, http_resume_fn *fn)
{
    assert(!x->replied);
    x->carrier->resume(x, fn);
}

void http_read_on(struct http_exchange *x)
{
    assert(x->waits && !x->replied);
    x->waits = false;
    x->carrier->read_on(x);
}

void http_count_for(struct http_exchange *x, const struct address *from)
{
    assert(x->charge.body == 0 && x->charge.reply == 0);
    if (x->carrier->count_for != NULL)
        x->carrier->count_for(x, from);
}

struct str http_header_get(const struct http_request *request, const char *name)
{
    struct str wanted = str_of(name);

    for (size_t i = 0; i < request->n_headers; i++) {
        if (str_eq(request->headers[i].name, wanted))
            return request->headers[i].value;
    }
    return STR_NULL;
}
