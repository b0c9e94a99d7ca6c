/* body.h - a request's body as it arrives: inflated when it is gzip, never beyond its limit.
 *
 * Memory grows with the bytes received, not with what was announced.
 *
 * One thread at a time.
 */
#pragma once
#include "base/buf.h"
#include "http/exchange.h"

struct z_stream_s;

enum http_body_verdict { BODY_FINE, BODY_TOO_LARGE, BODY_CORRUPT };

struct http_body {
    struct buf bytes;            /* as the application will see them */
    uint64_t as_sent;            /* bytes received, before inflating */
    struct z_stream_s *inflater; /* NULL unless gzip has begun */
    bool gzip;
    bool ended; /* the gzip member is complete: only another one may follow */
};

void http_body_init(struct http_body *body);

/* NULL is fine. */
void http_body_done(struct http_body *body);

/* Ready for the next request; keeps a little memory. */
void http_body_reset(struct http_body *body);

/* Says how the body of this request is coded, before its first byte. */
void http_body_begin(struct http_body *body, enum http_coding coding);

/* `max` bounds the bytes as sent and as inflated. */
enum http_body_verdict http_body_add(struct http_body *body, struct str bytes, size_t max);

/* Counts bytes, which are not kept, against `max`. */
enum http_body_verdict http_body_count(struct http_body *body, struct str bytes, size_t max);

/* The bytes that adding to it would hold besides its own: of gzip, until the body has ended. */
size_t http_body_overhead(const struct http_body *body);
enum { HTTP_INFLATER_BYTES = 40 * 1024 }; /* zlib's state and its window */

/* The body has ended: is it complete? Frees what only its end needed. */
enum http_body_verdict http_body_end(struct http_body *body);
