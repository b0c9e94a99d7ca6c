/* parser.h - bytes to requests, one at a time, without a socket.
 *
 * The head is gathered whole before it is parsed and every limit is held
 * against byte positions, so the outcome does not depend on how the bytes
 * were split on their way.
 *
 * One thread at a time. Borrows the exchange and the body it was begun with until the next
 * http_parser_begin() or http_parser_discard().
 */
#pragma once
#include <llhttp.h>

#include "base/buf.h"
#include "http/exchange.h"

/* A request's body as it arrives, never beyond its limit. Memory grows with the bytes received, not
 * with what was announced. body.c. */
enum http_body_verdict { BODY_FINE, BODY_TOO_LARGE, BODY_NO_ROOM, BODY_CORRUPT };

struct http_body {
    struct buf bytes; /* as sent; after http_call_handle() as the application sees them */
    uint64_t as_sent; /* bytes received, also those that are not kept */
    bool gzip;        /* the bytes are still to be inflated */
};

void http_body_init(struct http_body *body);
void http_body_done(struct http_body *body);

/* Ready for the next request; keeps a little memory. */
void http_body_reset(struct http_body *body);

/* `max` bounds the bytes as sent. */
enum http_body_verdict http_body_add(struct http_body *body, struct str bytes, size_t max);

/* Counts bytes, which are not kept, against `max`. */
enum http_body_verdict http_body_count(struct http_body *body, struct str bytes, size_t max);

/* Adds what the whole gzip text `packed` inflates to, at most the buffer's `max`, and counts it
 * there (NULL: nowhere). Takes milliseconds for each MiB: not on a loop, but for few bytes. */
enum http_body_verdict http_inflate(struct str packed, struct buf *ret, struct http_charge *charge);

enum http_parse {
    PARSE_MORE,      /* all input is consumed and the request goes on */
    PARSE_HEAD,      /* the request is filled in but for its body; feed on, even without input */
    PARSE_COMPLETE,  /* the request is whole; what is left of the input belongs to the next */
    PARSE_TOO_LARGE, /* the body exceeds the exchange's body_max */
    PARSE_REFUSED,   /* `status` and `detail` say why; nothing after it can be trusted */
};

enum http_parser_stage { STAGE_HEAD, STAGE_BODY, STAGE_OVER };

/* Where the gathering of a head stands; offsets count from its first byte. */
struct http_head {
    char *bytes; /* in the arena; NULL while all that came lies in the input */
    size_t len, capacity;
    size_t scanned;      /* every '\n' before it was handled */
    size_t line_at;      /* where the current line begins */
    size_t request_line; /* where the request line begins: 2 when an empty line came first */
    size_t fields_at;    /* where the header lines begin; 0 before */
    unsigned n_fields;
};

struct http_parser {
    llhttp_t llhttp;
    const struct http_limits *limits;
    struct http_exchange *x;
    struct http_body *body;
    struct http_head head;
    struct http_header *fields; /* x->request.headers while they are being filled */
    enum http_parser_stage stage;
    enum http_body_verdict verdict; /* why a chunk was not taken */
    uint64_t unread;                /* of a body with Content-Length */
    size_t gap;                     /* bytes of chunked framing since the last byte of body */
    const char *gap_from;           /* in the input being fed: where the gap goes on */
    unsigned extension_bytes;
    bool version_10, chunked, keep_alive, expects_continue;
    bool message_complete, discard;
    int status; /* when refused */
    const char *detail;
};

/* Before the first byte of each request. `limits` is borrowed for as long as the parser. */
void http_parser_begin(struct http_parser *p, const struct http_limits *limits,
                       struct http_exchange *x, struct http_body *body);

/* Takes from the front of `*input` what belongs to the current request. */
enum http_parse http_parser_feed(struct http_parser *p, struct str *input);

/* The rest of the body is not wanted: feed reads to its end without touching the exchange. */
void http_parser_discard(struct http_parser *p);
