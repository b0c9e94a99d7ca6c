/* exchange.c - what a handler does with its request, passed on to the carrier; compressed replies.
 */
#include "http/exchange.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/err.h"
#include "base/mem.h"

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

enum {
    GZIP_LEAST = 1024,      /* bytes: a smaller reply is one packet anyway */
    GZIP_MOST = 512 * 1024, /* keeps a loop busy for a few milliseconds at most */
    GZIP_LEVEL = 1, /* JSON shrinks to a seventh; level 6 saves a fifth more in 4 x the time */
    GZIP_WINDOW_BITS = 15 + 16, /* the largest window, in gzip's frame */
    GZIP_MEMORY = 8,
};

/* Is the weight zero, as in "gzip;q=0"? */
static bool is_refused(struct str parameters)
{
    while (!str_is_null(parameters)) {
        struct str one = str_trim(str_split(&parameters, ';'));

        if (one.len < 3 || !str_eq_nocase(str_from(one.data, 3), STR_LIT("q=0")))
            continue;
        for (size_t i = 3; i < one.len; i++)
            if (one.data[i] != '.' && one.data[i] != '0')
                return false;
        return true;
    }
    return false;
}

bool http_accepts_gzip(const struct http_request *request)
{
    struct str list = http_header_get(request, "accept-encoding");
    bool any = false;

    while (!str_is_null(list)) {
        struct str rest = str_split(&list, ',');
        struct str name = str_trim(str_split(&rest, ';'));

        if (str_eq_nocase(name, STR_LIT("gzip"))) /* its own word counts, wherever "*" stands */
            return !is_refused(rest);
        if (str_eq(name, STR_LIT("*")))
            any = !is_refused(rest);
    }
    return any;
}

/* Compresses all of `from` into `out`. False when it exceeds the ceiling of `out`: a body that
 * hardly shrinks is not worth decompressing. */
static bool deflate_all(z_stream *z, struct str from, struct buf *out)
{
    char *room = buf_reserve(out, out->max);
    union {
        const char *read_only;
        Bytef *bytes;
    } input = { .read_only = from.data };

    if (room == NULL)
        return false;
    z->next_in = input.bytes;
    z->avail_in = (uInt)from.len;
    z->next_out = (Bytef *)room;
    z->avail_out = (uInt)out->max;
    if (deflate(z, Z_FINISH) != Z_STREAM_END)
        return false;
    buf_added(out, out->max - z->avail_out);
    out->data = mem_resize(out->data, out->len); /* what waits for a client counts by its length */
    out->capacity = out->len;
    return true;
}

bool http_gzip(struct buf *body)
{
    z_stream z = { 0 };
    struct buf smaller;
    bool done;

    if (body->overflown || body->len < GZIP_LEAST || body->len > GZIP_MOST)
        return false;
    if (deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEMORY,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    buf_init(&smaller, body->len / 2);
    done = deflate_all(&z, buf_str(body), &smaller);
    (void)deflateEnd(&z);
    if (!done) {
        buf_done(&smaller);
        return false;
    }
    buf_done(body);
    *body = smaller;
    return true;
}
