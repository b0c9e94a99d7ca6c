/* stream.h - a reply whose body comes in parts, over time.
 *
 * Begun instead of http_reply(), by whoever has the exchange, once on_request
 * has run. From then on the exchange belongs to one producer, which gives
 * parts and ends the stream; it stays alive until http_stream_end(). A client
 * of HTTP/1.1 gets chunks, one of HTTP/1.0 a body that ends with the
 * connection.
 *
 * What waits to be sent is bounded: HTTP_STREAM_WAITING_MAX bytes and one part.
 *
 * Any thread, one at a time for each stream.
 */
#pragma once
#include "base/buf.h"
#include "http/exchange.h"

enum { HTTP_STREAM_WAITING_MAX = 256 * 1024 };

/* Sends the head: status, content type and headers of `head`, which are copied; its body is
 * ignored. */
void http_stream_begin(struct http_exchange *x, const struct http_reply *head,
                       enum http_stream_kind kind);

/* Gives what is in `part`, which is empty afterwards. Waits while too much is waiting, which a
 * client that takes nothing cannot draw out beyond the write timeout; so never on a loop's thread.
 * False when nobody wants it: the client has gone, asked for the head alone, or the server stops.
 */
bool http_stream_write(struct http_exchange *x, struct buf *part) MUST_CHECK;

/* The same, but false instead of waiting. */
bool http_stream_offer(struct http_exchange *x, struct buf *part) MUST_CHECK;

/* The end; nothing of the exchange may be touched after it. What is not `whole` ends without its
 * last chunk, so that the client notices. */
void http_stream_end(struct http_exchange *x, bool whole);
