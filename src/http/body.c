/* body.c - a request's body as it arrives, and inflated when it is complete. */
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

void http_body_done(struct http_body *body)
{
    buf_done(&body->bytes);
}

void http_body_reset(struct http_body *body)
{
    if (body->bytes.capacity > KEEP_MAX)
        buf_done(&body->bytes);
    else
        buf_clear(&body->bytes);
    body->as_sent = 0;
    body->gzip = false;
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
    buf_add(&body->bytes, bytes);
    return BODY_FINE;
}

static void *zlib_alloc(void *ctx, unsigned items, unsigned size)
{
    (void)ctx;
    return mem_alloc((size_t)items * size);
}

static void zlib_free(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

/* One call of inflate() with room for at most one byte more than `ret` may have: the byte that
 * tells "just full" from "too much" falls into a scratch byte. */
static int inflate_step(struct z_stream_s *z, struct buf *ret)
{
    size_t room = ret->max - ret->len;
    char scratch;
    char *to = &scratch;
    int r;

    assert(ret->len <= ret->max);
    if (room > INFLATE_STEP)
        room = INFLATE_STEP;
    if (room > 0)
        to = buf_reserve(ret, room);
    z->next_out = (Bytef *)to;
    z->avail_out = room > 0 ? (uInt)room : 1;
    r = inflate(z, Z_NO_FLUSH);
    if (room > 0)
        buf_added(ret, room - z->avail_out);
    else if (z->avail_out == 0)
        return Z_BUF_ERROR;
    return r;
}

static enum http_body_verdict verdict_of(int r, const struct z_stream_s *z)
{
    if (r == Z_BUF_ERROR && z->avail_out == 0)
        return BODY_TOO_LARGE;
    return r == Z_OK || r == Z_STREAM_END || r == Z_BUF_ERROR ? BODY_FINE : BODY_CORRUPT;
}

enum http_body_verdict http_inflate(struct str packed, struct buf *ret, struct http_charge *charge)
{
    struct z_stream_s z = { .next_in = (const Bytef *)packed.data,
                            .avail_in = (uInt)packed.len,
                            .zalloc = zlib_alloc,
                            .zfree = zlib_free };
    enum http_body_verdict verdict = BODY_FINE;
    bool ended = false;

    if (inflateInit2(&z, GZIP_ONLY) != Z_OK)
        err_die("zlib cannot inflate");
    do {
        const size_t before = ret->len;
        int r;

        if (ended) { /* members may follow one another (RFC 1952) */
            if (z.avail_in == 0)
                break;
            (void)inflateReset(&z);
        }
        r = inflate_step(&z, ret);
        ended = r == Z_STREAM_END;
        verdict = verdict_of(r, &z);
        if (verdict == BODY_FINE && charge != NULL && !http_charge_body(charge, ret->len - before))
            verdict = BODY_NO_ROOM;
    } while (verdict == BODY_FINE && (ended || z.avail_in > 0 || z.avail_out == 0));
    (void)inflateEnd(&z);
    return verdict == BODY_FINE && !ended ? BODY_CORRUPT : verdict;
}
