/* body.c - a request's body as it arrives: inflated when it is gzip, never beyond its limit. */
#include <assert.h>
#include <stdlib.h>

#define ZLIB_CONST
#include <zlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "http/parser.h"

enum { KEEP_MAX = 16 * 1024, INFLATE_STEP = 16 * 1024, GZIP_ONLY = 15 + 16 };

void http_body_init(struct http_body *body)
{
    *body = (struct http_body){ 0 };
    buf_init(&body->bytes, SIZE_MAX);
}

static void drop_inflater(struct http_body *body)
{
    if (body->inflater == NULL)
        return;
    (void)inflateEnd(body->inflater);
    free(body->inflater);
    body->inflater = NULL;
}

void http_body_done(struct http_body *body)
{
    if (body == NULL)
        return;
    drop_inflater(body);
    buf_done(&body->bytes);
}

void http_body_reset(struct http_body *body)
{
    drop_inflater(body);
    if (body->bytes.capacity > KEEP_MAX)
        buf_done(&body->bytes);
    else
        buf_clear(&body->bytes);
    body->as_sent = 0;
    body->gzip = body->ended = false;
}

void http_body_begin(struct http_body *body, enum http_coding coding)
{
    body->gzip = coding == CODING_GZIP;
}

static void *inflater_alloc(void *ctx, unsigned items, unsigned size)
{
    (void)ctx;
    return mem_alloc((size_t)items * size);
}

static void inflater_free(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static void need_inflater(struct http_body *body)
{
    if (body->inflater != NULL)
        return;
    body->inflater = NEW(struct z_stream_s);
    body->inflater->zalloc = inflater_alloc;
    body->inflater->zfree = inflater_free;
    if (inflateInit2(body->inflater, GZIP_ONLY) != Z_OK)
        err_die("zlib cannot inflate");
}

/* One call of inflate() with room for at most one byte more than `max` allows: the byte that tells
 * "just full" from "too much" falls into a scratch byte. */
static int inflate_step(struct http_body *body, size_t max)
{
    struct z_stream_s *z = body->inflater;
    size_t room = max - body->bytes.len;
    char scratch;
    char *to = &scratch;
    int r;

    assert(body->bytes.len <= max);
    if (room > INFLATE_STEP)
        room = INFLATE_STEP;
    if (room > 0)
        to = buf_reserve(&body->bytes, room);
    z->next_out = (Bytef *)to;
    z->avail_out = room > 0 ? (uInt)room : 1;
    r = inflate(z, Z_NO_FLUSH);
    if (room > 0)
        buf_added(&body->bytes, room - z->avail_out);
    else if (z->avail_out == 0)
        return Z_BUF_ERROR;
    return r;
}

static enum http_body_verdict add_gzip(struct http_body *body, struct str bytes, size_t max)
{
    struct z_stream_s *z;
    int r;

    need_inflater(body);
    z = body->inflater;
    z->next_in = (const Bytef *)bytes.data;
    z->avail_in = (uInt)bytes.len;
    do {
        if (body->ended) { /* members may follow one another (RFC 1952) */
            if (z->avail_in == 0)
                break;
            if (inflateReset(z) != Z_OK)
                return BODY_CORRUPT;
            body->ended = false;
        }
        r = inflate_step(body, max);
        if (r == Z_BUF_ERROR && z->avail_out == 0)
            return BODY_TOO_LARGE;
        if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
            return BODY_CORRUPT;
        body->ended = r == Z_STREAM_END;
    } while (body->ended || z->avail_in > 0 || z->avail_out == 0);
    return BODY_FINE;
}

enum http_body_verdict http_body_count(struct http_body *body, struct str bytes, size_t max)
{
    if (bytes.len > max || body->as_sent > max - bytes.len)
        return BODY_TOO_LARGE;
    body->as_sent += bytes.len;
    return BODY_FINE;
}

enum http_body_verdict http_body_add(struct http_body *body, struct str bytes, size_t max)
{
    if (http_body_count(body, bytes, max) != BODY_FINE)
        return BODY_TOO_LARGE;
    body->bytes.max = max;
    if (body->gzip)
        return add_gzip(body, bytes, max);
    buf_add(&body->bytes, bytes);
    return BODY_FINE;
}

size_t http_body_overhead(const struct http_body *body)
{
    return body->gzip && body->inflater == NULL ? HTTP_INFLATER_BYTES : 0;
}

enum http_body_verdict http_body_end(struct http_body *body)
{
    drop_inflater(body);
    return body->gzip && !body->ended ? BODY_CORRUPT : BODY_FINE;
}
