/* exchange.h - one request and its reply, independent of the carrier.
 *
 * The HTTP server makes exchanges from connections; the command line makes
 * them in-process. Handlers see only this header.
 *
 * An exchange is handed to the application on the carrier's thread. The
 * application may answer at once, or keep the pointer and answer later from
 * any thread with http_reply(), exactly once. Until then the exchange, its
 * arena and everything the request points to stay alive; after it, none of
 * them may be touched.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "http/charge.h"

struct http_exchange;

enum http_method {
    METHOD_GET,
    METHOD_HEAD,
    METHOD_POST,
    METHOD_PUT,
    METHOD_PATCH,
    METHOD_DELETE,
    METHOD_OTHER
};

enum http_coding { CODING_IDENTITY, CODING_GZIP, CODING_OTHER };

/* Who is on the other side, as far as the carrier can tell. */
enum http_peer {
    PEER_NETWORK,  /* any client that can reach the port */
    PEER_OPERATOR, /* the user this process runs as (or root), over the unix socket or in-process */
};

struct http_limits {
    size_t target_max;      /* bytes of the request target; beyond it 414 */
    size_t header_max;      /* bytes of all header lines; beyond it 431 */
    unsigned header_fields; /* number of header lines; beyond it 431 */
    unsigned handshake_ms;  /* of TLS, from the connection to its end; beyond it closed */
    unsigned header_ms;     /* from the first byte to the end of the head; beyond it 408, close */
    unsigned body_ms;       /* for a body, and as long again as it takes at 64 KiB/s, but not
                               without any progress; then 408, close */
    unsigned idle_ms;       /* between requests; then closed without an answer */
    unsigned write_ms;      /* a client that reads less than 16 KiB/s for this long is dropped */
};

struct http_header {
    struct str name, value; /* name in lower case, value trimmed */
};

struct http_request {
    enum http_method method;
    struct str method_name; /* as sent */
    struct str path;        /* before '?', not percent-decoded */
    struct str query;       /* after '?', STR_NULL when there is no '?' */
    const struct http_header *headers;
    size_t n_headers;
    enum http_coding coding; /* of the body as sent; for on_request, gzip is already inflated */
    bool has_length;         /* Content-Length was given */
    uint64_t length;
    bool has_body;   /* Content-Length > 0 or chunked; the body itself may still be empty */
    struct str body; /* complete once on_request runs */
    enum http_peer peer;
    struct str peer_address; /* for the log: "127.0.0.1:5678", "unix" */
    int64_t began_us;        /* monotonic, when its first byte was seen */
};

/* What the application answers. The bytes may live in the exchange's arena, be static, or be
 * handed over: `body_take`, when not NULL, is heap memory that the carrier frees after sending
 * (body then points into it). */
struct http_reply {
    int status;
    const char *content_type; /* NULL: no body and no Content-Type */
    struct str body;
    void *body_take;
    size_t wipe_bytes; /* of body_take: overwritten before they are freed, since they are secret */
    const struct http_header *headers; /* further ones, beyond the carrier's own */
    size_t n_headers;
};

/* What goes on with an exchange on the carrier's own thread. */
typedef void http_resume_fn(struct http_exchange *x);

/* Of a reply that comes in parts. */
enum http_stream_kind {
    STREAM_FINITE,  /* has an end of its own, which a stopping server waits for */
    STREAM_ENDLESS, /* goes on until the client ends its side, or the server stops */
};

struct address;
struct http_stream;

/* How a carrier takes a reply, and how it goes on. The last three are of streams. */
struct http_carrier {
    void (*reply)(struct http_exchange *x, const struct http_reply *reply);
    void (*resume)(struct http_exchange *x, http_resume_fn *fn);
    void (*read_on)(struct http_exchange *x);
    void (*count_for)(struct http_exchange *x, const struct address *from); /* NULL: no need */
    void (*begin)(struct http_exchange *x, const struct http_reply *head,
                  enum http_stream_kind kind);
    bool (*write)(struct http_exchange *x, struct buf *part, bool may_wait);
    void (*end)(struct http_exchange *x, bool whole);
};

struct http_exchange {
    const struct http_carrier *carrier;
    struct http_request request;
    struct arena *arena;
    struct str request_id; /* sent as X-Request-Id */
    size_t body_max;       /* on_head may change it: the limit for this request's body, inflated */
    bool waits;            /* on_head may set it: nothing more is read until http_read_on() */
    bool drops_body;       /* on_head may set it: the body is read, but not kept */
    struct http_charge charge; /* on_head may set its budget to the caller's; else it counts for the
                                  caller's address */
    bool no_room;              /* on_too_large because of charge.full, or because it was evicted */
    bool replied;              /* set by http_reply() and http_stream_begin() */
    struct http_stream *stream; /* the carrier's own, once begun */
    void *app;                  /* the application's own, NULL at first */
};

/* For carriers: gives back what a reply handed over. */
void http_reply_free(const struct http_reply *reply);

/* Answers. Any thread, exactly once; copies `reply` and its headers, so they may be on the stack.
 * A HEAD request's body is dropped by the carrier, its Content-Length kept. */
void http_reply(struct http_exchange *x, const struct http_reply *reply);

/* Runs `fn` on the carrier's own thread, at once when that is this one. For threads that should not
 * spend time on printing replies. Any thread; not after http_reply(). */
void http_resume(struct http_exchange *x, http_resume_fn *fn);

/* The answer to x->waits: the body is wanted after all. On the carrier's thread (http_resume()),
 * instead of a reply. */
void http_read_on(struct http_exchange *x);

/* From on_head: a caller who has shown no key is at this address, behind a proxy that is exempt
 * from the shares of addresses. */
void http_count_for(struct http_exchange *x, const struct address *from);

/* A reply whose body comes in parts, over time. Begun instead of http_reply(), by the owner of the
 * exchange, once on_request has run. From then on the exchange belongs to one producer, which
 * writes parts and ends the stream; it stays alive until http_stream_end(). A client of HTTP/1.1
 * gets chunks, one of HTTP/1.0 a body that ends with the connection. Any thread, one at a time for
 * each stream.
 *
 * What waits to be sent is bounded: HTTP_STREAM_WAITING_MAX bytes and one part. */
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

/* Does the client accept a compressed reply? Any thread, as the next. */
bool http_accepts_gzip(const struct http_request *request);

/* Compresses the body in place. Leaves it unchanged and returns false when it is too small to be
 * worth it, too large to compress within a few milliseconds, does not shrink to half, or when
 * memory is short. */
bool http_gzip(struct buf *body);

/* The value of the header with this lower-case name; STR_NULL when absent, the first when
 * repeated. */
struct str http_header_get(const struct http_request *request, const char *name);

/* The application behind the carriers. All slots run on the carrier's thread and must not block;
 * on_request may run on another that the carrier has for it. */
struct http_app {
    void *ctx;
    /* Head parsed, body not yet read. May answer before it returns (then the body is not wanted),
     * set body_max (1 MiB otherwise), or set x->waits. */
    void (*on_head)(void *ctx, struct http_exchange *x);
    /* Request complete. Must lead to one http_reply(), now or later. */
    void (*on_request)(void *ctx, struct http_exchange *x);
    /* The body is larger than body_max, by its declared or actual size, as sent or inflated; or
     * there is no room for it now (x->no_room): charge.full has none, or the body was evicted. Must
     * lead to one http_reply(), now or later; then the connection is closed unless the rest of the
     * body is short enough to skip. */
    void (*on_too_large)(void *ctx, struct http_exchange *x);
    /* The carrier itself must refuse (400, 414, 431, 408, 503 …): prints the body for `detail`
     * into the reply. Also used for corrupt gzip (400). `x` has what was understood so far. */
    void (*on_refused)(void *ctx, struct http_exchange *x, int status, const char *detail);
    /* After the reply was handed to the socket, or queued for it: the access log. Once for each
     * reply; `bytes` is of its body, 0 when the client had gone (of a stream: what was sent till
     * then). Not for replies that come after the server's end. */
    void (*on_done)(void *ctx, const struct http_exchange *x, int status, size_t bytes);
};
