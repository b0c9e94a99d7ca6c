/* stream.h - a reply whose body comes in parts, over time.
 *
 * Begun instead of http_reply(), by the owner of the exchange, once on_request
 * has run. From then on the exchange belongs to one producer, which writes
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

/* Queues what is in `part`, which is empty afterwards. Blocks while too much is queued, for at most
 * the write timeout when the client does not read; so never on a loop's thread. False when it is
 * not sent: the client has gone, asked for the head alone, or the server stops. */
bool http_stream_write(struct http_exchange *x, struct buf *part) MUST_CHECK;

/* The same, but returns false instead of blocking. */
bool http_stream_offer(struct http_exchange *x, struct buf *part) MUST_CHECK;

/* From any other thread, while the producer has not ended the stream: a write that waits returns
 * false, as does every later one. The connection is reset when the producer has ended the stream,
 * and what was queued is not sent. */
void http_stream_cancel(struct http_exchange *x);

/* The end; nothing of the exchange may be touched after it. What is not `whole` ends without its
 * last chunk, so that the client notices. */
void http_stream_end(struct http_exchange *x, bool whole);
