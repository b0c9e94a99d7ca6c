/* transport.c - the bytes between a connection and its socket: as they are, or in TLS.
 *
 * OpenSSL sees no socket. It reads what the loop has read, and writes into `out`, which goes to
 * libuv; so a session never blocks and holds at most OUT_MAX bytes for a client that does not read.
 *
 * Invariants, of a connection with a session:
 * 1. After each call here `out` is empty, or a flush is under way, or http_transport_try_write()
 * has returned less than it was given and http_transport_write() follows at once.
 * 2. While a write is under way (`done` is set), so is a flush.
 * 3. Records leave in the order in which they were made: only flush() and send_now() send, and the
 *    second only while no flush is under way.
 */
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/metrics.h"
#include "http/internal.h"
#include "http/tls.h"

enum {
    RECORD = 16 * 1024,      /* bytes of text in one record at most */
    CHUNK = 4 * RECORD,      /* bytes of text that are encrypted ahead of the socket */
    OUT_MAX = 4 * CHUNK,     /* records of a chunk, and answers to a client's own messages */
    ARRIVED_MAX = 2 * RECORD /* text of a record that began in an earlier read */
};

struct http_session {
    SSL *ssl;
    struct str in; /* what the loop has read and OpenSSL has not */
    struct buf out, flushing;
    uv_write_t flush;
    bool flushes; /* libuv has `flushing` */
    bool failed;  /* it must not make another record */
    size_t ahead; /* bytes encrypted that http_transport_try_write() did not report */
    uv_write_t *write;
    uv_write_cb done; /* of the write under way; NULL: none */
    uv_buf_t rest[2]; /* its text, still to be encrypted */
};

/* OpenSSL's side */

static int session_read(BIO *bio, char *into, size_t size, size_t *ret)
{
    struct http_session *s = BIO_get_data(bio);
    size_t n = size < s->in.len ? size : s->in.len;

    BIO_clear_retry_flags(bio);
    if (n == 0) {
        BIO_set_retry_read(bio);
        return 0;
    }
    memcpy(into, s->in.data, n);
    s->in = str_from(s->in.data + n, s->in.len - n);
    *ret = n;
    return 1;
}

static int session_write(BIO *bio, const char *bytes, size_t len, size_t *ret)
{
    struct http_session *s = BIO_get_data(bio);

    buf_add(&s->out, str_from(bytes, len));
    *ret = len;
    return !s->out.overflown;
}

static long session_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *session_bio;

static void create_bio_method(void)
{
    session_bio = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "muster session");
    if (session_bio == NULL || BIO_meth_set_read_ex(session_bio, session_read) != 1 ||
        BIO_meth_set_write_ex(session_bio, session_write) != 1 ||
        BIO_meth_set_ctrl(session_bio, session_control) != 1)
        err_die("OpenSSL: cannot create a method");
}

void http_transport_prepare(struct http_loop *loop, struct http_tls *tls)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, create_bio_method);
    loop->tls = tls;
    loop->text_buffer = mem_new(READ_BUFFER + ARRIVED_MAX);
    loop->record_buffer = mem_new(RECORD);
}

int http_transport_secure(struct http_conn *c)
{
    struct http_session *s = NEW(struct http_session);
    BIO *bio = BIO_new(session_bio);

    buf_init(&s->out, OUT_MAX);
    buf_init(&s->flushing, OUT_MAX);
    s->ssl = http_tls_session(c->loop->tls);
    c->session = s;
    if (s->ssl == NULL || bio == NULL) {
        BIO_free(bio);
        return -1;
    }
    BIO_set_data(bio, s);
    BIO_set_init(bio, 1);
    SSL_set_bio(s->ssl, bio, bio);
    SSL_set_accept_state(s->ssl);
    return 0;
}

void http_transport_done(struct http_conn *c)
{
    struct http_session *s = c->session;

    if (s == NULL)
        return;
    assert(!s->flushes && s->done == NULL); /* libuv has cancelled both */
    SSL_free(s->ssl);
    buf_done(&s->out);
    buf_done(&s->flushing);
    free(s);
    c->session = NULL;
}

/* Sending */

static void advance(uv_buf_t *piece, size_t n)
{
    if (n > 0)
        *piece = uv_buf_init(piece->base + n, (unsigned)(piece->len - n));
}

/* Up to a record of the text in `rest`, which moves on; from two pieces by a copy. */
static struct str next_piece(struct http_loop *loop, uv_buf_t rest[2])
{
    struct str piece = str_from(rest[0].base, rest[0].len < RECORD ? rest[0].len : RECORD);
    size_t more;

    advance(&rest[0], piece.len);
    if (rest[0].len > 0)
        return piece;
    more = rest[1].len < RECORD - piece.len ? rest[1].len : RECORD - piece.len;
    if (piece.len > 0 && more > 0) {
        memcpy(loop->record_buffer, piece.data, piece.len);
        memcpy(loop->record_buffer + piece.len, rest[1].base, more);
        piece = str_from(loop->record_buffer, piece.len + more);
    } else if (more > 0) {
        piece = str_from(rest[1].base, more);
    }
    advance(&rest[1], more);
    return piece;
}

/* Encrypts up to a chunk of `rest`; returns the bytes of text taken, or -1. */
static ssize_t encrypt(struct http_conn *c, uv_buf_t rest[2])
{
    struct http_session *s = c->session;
    size_t total = 0;

    while (total + RECORD <= CHUNK && rest[0].len + rest[1].len > 0) {
        struct str piece = next_piece(c->loop, rest);
        size_t written = 0;

        ERR_clear_error();
        if (s->failed || SSL_write_ex(s->ssl, piece.data, piece.len, &written) != 1 ||
            s->out.overflown) {
            s->failed = true;
            return -1;
        }
        assert(written == piece.len); /* `out` takes everything */
        total += piece.len;
    }
    return (ssize_t)total;
}

/* Sends what the socket takes at once; what it does not take stays in `out`. False when the
 * connection is broken. */
static bool send_now(struct http_conn *c)
{
    struct http_session *s = c->session;
    uv_buf_t bytes = http_conn_buf(buf_str(&s->out));
    int n;

    assert(!s->flushes); /* 3 */
    if (s->out.len == 0)
        return true;
    n = uv_try_write(&c->h.stream, &bytes, 1);
    if (n == UV_EAGAIN)
        return true;
    if (n < 0)
        return false;
    memmove(s->out.data, s->out.data + n, s->out.len - (size_t)n);
    s->out.len -= (size_t)n;
    return true;
}

static void flushed(uv_write_t *flush, int status);

static int flush(struct http_conn *c)
{
    struct http_session *s = c->session;
    struct buf full = s->out;
    uv_buf_t bytes = http_conn_buf(buf_str(&full));
    int r;

    assert(!s->flushes && full.len > 0); /* 3 */
    s->out = s->flushing;
    s->flushing = full;
    s->flush.data = c;
    r = uv_write(&s->flush, &c->h.stream, &bytes, 1, flushed);
    s->flushes = r == 0;
    return r;
}

static void finish_write(struct http_session *s, int status)
{
    uv_write_cb done = s->done;

    s->done = NULL;
    s->rest[0] = s->rest[1] = uv_buf_init(NULL, 0);
    if (done != NULL)
        done(s->write, status);
}

static void flushed(uv_write_t *flush_write, int status)
{
    struct http_conn *c = flush_write->data;
    struct http_session *s = c->session;

    s->flushes = false;
    buf_clear(&s->flushing);
    if (status == 0 && s->out.len == 0 && encrypt(c, s->rest) < 0)
        status = UV_EPROTO;
    if (status == 0 && s->out.len > 0)
        status = flush(c);
    if (s->flushes)
        return;
    buf_done(&s->flushing); /* an idle connection holds no buffer */
    buf_done(&s->out);
    if (s->done != NULL)
        finish_write(s, status);
    else if (status != 0)
        http_conn_close(c);
}

int http_transport_try_write(struct http_conn *c, const uv_buf_t *bufs, unsigned n)
{
    struct http_session *s = c->session;
    uv_buf_t rest[2] = { bufs[0], n > 1 ? bufs[1] : uv_buf_init(NULL, 0) };
    size_t out = 0;

    assert(n == 1 || n == 2);
    if (s == NULL)
        return uv_try_write(&c->h.stream, bufs, n);
    assert(s->done == NULL && s->ahead == 0);
    if (s->flushes)
        return UV_EAGAIN;
    while (rest[0].len + rest[1].len > 0) {
        ssize_t taken = encrypt(c, rest);

        if (taken < 0 || !send_now(c))
            return UV_EPIPE;
        if (s->out.len > 0) { /* 1 */
            s->ahead = (size_t)taken;
            break;
        }
        out += (size_t)taken;
    }
    if (s->out.len == 0)
        buf_done(&s->out);
    return (int)out;
}

int http_transport_write(struct http_conn *c, uv_write_t *write, const uv_buf_t bufs[2],
                         uv_write_cb done)
{
    struct http_session *s = c->session;
    int r = 0;

    if (s == NULL)
        return uv_write(write, &c->h.stream, bufs, 2, done);
    assert(s->done == NULL);
    memcpy(s->rest, bufs, sizeof(s->rest));
    for (size_t i = 0; i < COUNT_OF(s->rest); i++) {
        size_t n = s->ahead < s->rest[i].len ? s->ahead : s->rest[i].len;

        advance(&s->rest[i], n);
        s->ahead -= n;
    }
    assert(s->ahead == 0);
    if (!s->flushes && s->out.len == 0 && encrypt(c, s->rest) < 0)
        r = UV_EPROTO;
    if (r == 0 && !s->flushes)
        r = flush(c);
    if (r == 0) {
        s->write = write;
        s->done = done;
    }
    return r;
}

size_t http_transport_unsent(const struct http_conn *c)
{
    const struct http_session *s = c->session;
    size_t queued = uv_stream_get_write_queue_size(&c->h.stream);

    return s == NULL ? queued : queued + s->out.len + s->rest[0].len + s->rest[1].len;
}

/* Receiving */

/* Answers a client that sent plain HTTP to the TLS port, such as a browser given an http:// URL. */
static void answer_plainly(struct http_conn *c)
{
    static char text[] = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
                         "Content-Length: 44\r\nConnection: close\r\n\r\n"
                         "This port speaks TLS: use https, not http.\r\n";
    uv_buf_t bytes = uv_buf_init(text, sizeof(text) - 1);

    (void)uv_try_write(&c->h.stream, &bytes, 1);
}

static int fail(struct http_conn *c)
{
    struct http_session *s = c->session;
    bool is_http = ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST;

    s->failed = true;
    if (c->state == CONN_HANDSHAKE)
        metric_add(METRIC_TLS_HANDSHAKES_FAILED, 1);
    if (is_http && c->state == CONN_HANDSHAKE)
        answer_plainly(c);
    else if (!s->flushes)
        (void)send_now(c); /* the alert that says why */
    ERR_clear_error();
    return UV_EPROTO;
}

/* Answers of OpenSSL's own: a handshake, a ticket, new keys. */
static int send_own(struct http_conn *c)
{
    struct http_session *s = c->session;

    if (s->out.overflown)
        return fail(c);
    if (s->flushes || s->out.len == 0)
        return 0;
    if (!send_now(c) || (s->out.len > 0 && flush(c) != 0))
        return UV_EPIPE;
    if (!s->flushes)
        buf_done(&s->out);
    return 0;
}

int http_transport_open(struct http_conn *c, struct str *in)
{
    struct http_session *s = c->session;
    const size_t size = READ_BUFFER + ARRIVED_MAX;
    size_t len = 0, got = 0;
    int why, r;

    s->in = *in;
    ERR_clear_error();
    while (SSL_read_ex(s->ssl, c->loop->text_buffer + len, size - len, &got) == 1) {
        len += got;
        assert(len < size); /* a record is no longer than its bytes */
    }
    why = SSL_get_error(s->ssl, 0);
    *in = str_from(c->loop->text_buffer, len);
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_ZERO_RETURN)
        return fail(c);
    assert(s->in.len == 0 || why == SSL_ERROR_ZERO_RETURN);
    if (c->state == CONN_HANDSHAKE && SSL_is_init_finished(s->ssl)) {
        metric_add(METRIC_TLS_HANDSHAKES, 1);
        http_conn_enter(c, CONN_IDLE);
    }
    r = send_own(c);
    if (r != 0)
        return r;
    return why == SSL_ERROR_ZERO_RETURN ? UV_EOF : 0;
}

bool http_transport_has_input(const struct http_conn *c)
{
    return c->session != NULL && SSL_has_pending(c->session->ssl) == 1;
}

void http_transport_say_end(struct http_conn *c)
{
    struct http_session *s = c->session;

    if (s == NULL || s->ssl == NULL || s->failed || s->flushes || s->out.len > 0 ||
        !SSL_is_init_finished(s->ssl))
        return;
    ERR_clear_error();
    (void)SSL_shutdown(s->ssl);
    (void)send_now(c);
    s->failed = true; /* nothing may follow */
    buf_clear(&s->out);
}
