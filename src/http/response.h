/* response.h - prints the head of a reply.
 *
 * One thread at a time: each loop has its own date.
 */
#pragma once
#include "base/buf.h"
#include "http/exchange.h"

enum { DATE_LINE_MAX = sizeof("Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n") };

/* The Date line of the current second. */
struct http_date {
    int64_t second;
    char line[DATE_LINE_MAX];
};

/* How the client knows the end of the body. */
enum http_framing {
    FRAMING_LENGTH,
    FRAMING_CHUNKED,
    FRAMING_CLOSE, /* by the end of the connection */
};

/* What follows from the connection, not from the reply. */
struct http_reply_frame {
    struct str request_id;
    bool close;      /* Connection: close */
    bool keep_alive; /* Connection: keep-alive, for clients of HTTP/1.0 */
    enum http_framing framing;
};

/* The reply's own header lines; a control character in a value, which could begin a line of its
 * own, becomes '?'. */
void http_response_fields(struct buf *out, const struct http_header *headers, size_t n);

/* The head as far as it is the carrier's: the reply's own lines and an empty one follow. */
void http_response_head(struct buf *out, struct http_date *date, const struct http_reply *reply,
                        const struct http_reply_frame *frame);

/* May a reply with this status have a body? */
bool http_status_has_body(int status);
