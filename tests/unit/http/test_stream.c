/* test_stream.c - replies that come in parts. */
#include <poll.h>

#include "unit/http/wire.h"

#define HOST "Host: h\r\n"
#define GET  "GET /held HTTP/1.1\r\n" HOST "\r\n"
#define NEXT "GET /next HTTP/1.1\r\n" HOST "\r\n"

static void begin(struct http_exchange *x, enum http_stream_kind kind)
{
    const struct http_header headers[] = { { STR_LIT("X-Test"), STR_LIT("s") } };

    http_stream_begin(x,
                      &(struct http_reply){ .status = 200,
                                            .content_type = "text/plain",
                                            .headers = headers,
                                            .n_headers = COUNT_OF(headers) },
                      kind);
}

static bool offer(struct http_exchange *x, const char *text)
{
    struct buf part;

    buf_init(&part, MIB(1));
    buf_add_c(&part, text);
    return http_stream_offer(x, &part);
}

static bool write_bytes(struct http_exchange *x, size_t n)
{
    struct buf part;

    buf_init(&part, MIB(8));
    memset(buf_reserve(&part, n), 'y', n);
    buf_added(&part, n);
    return http_stream_write(x, &part);
}

/* The body of the reply in `raw`, whose chunks are taken apart; false when the last is missing. */
static bool unchunk(const struct buf *raw, struct buf *body)
{
    const char *at = memmem(raw->data, raw->len, "\r\n\r\n", 4), *end = raw->data + raw->len;

    buf_clear(body);
    if (at == NULL)
        return false;
    at += 4;
    while (at < end) {
        size_t n = 0;

        for (; at < end && str_hex_digit(*at) >= 0; at++)
            n = n * 16 + (size_t)str_hex_digit(*at);
        if (end - at < 2 || (size_t)(end - at) - 2 < n)
            return false;
        at += 2;
        if (n == 0)
            return end - at == 2 && memcmp(at, "\r\n", 2) == 0;
        buf_add(body, str_from(at, n));
        at += n + 2;
    }
    return false;
}

/* Until the last chunk, on a connection that stays. */
static void read_chunked(int fd, struct buf *raw, struct buf *body)
{
    char byte;

    buf_clear(raw);
    while (raw->len == 0 || !unchunk(raw, body)) {
        if (wire_recv(fd, &byte, 1, 0) != 1)
            fail_msg("ended at %.*s", STR_ARG(*raw));
        buf_add_char(raw, byte);
    }
}

static void check_next(int fd, struct buf *out)
{
    wire_say(fd, NEXT);
    CHECK_INT(wire_read_reply(fd, out, false), 200);
    CHECK(wire_has(out, "GET /next []"));
}

TEST(a_stream_comes_in_chunks_and_the_connection_stays)
{
    struct talk t;
    struct http_exchange *x;

    talk_begin(&t, NULL);
    wire_say(t.fd, GET);
    x = wire_held(&t.w, 0);
    begin(x, STREAM_FINITE);
    CHECK(offer(x, "one, "));
    CHECK(offer(x, "")); /* nothing, and above all not the end */
    CHECK(offer(x, "two"));
    CHECK_INT(wire_count(&t.w, &t.w.n_done), 0);
    http_stream_end(x, true);
    read_chunked(t.fd, &t.out, &t.body);
    CHECK(str_eq(buf_str(&t.body), STR_LIT("one, two")));
    CHECK(wire_has(&t.out, "Transfer-Encoding: chunked\r\n"));
    CHECK(wire_has(&t.out, "Content-Type: text/plain\r\n"));
    CHECK(wire_has(&t.out, "X-Test: s\r\n"));
    CHECK(!wire_has(&t.out, "Content-Length"));
    wire_wait(&t.w, &t.w.n_done, 1);
    check_next(t.fd, &t.out);
    talk_end(&t);
}

TEST(a_stream_of_no_parts_is_an_empty_body)
{
    struct talk t;

    talk_begin(&t, NULL);
    wire_say(t.fd, GET);
    begin(wire_held(&t.w, 0), STREAM_FINITE);
    http_stream_end(wire_held(&t.w, 0), true);
    read_chunked(t.fd, &t.out, &t.body);
    CHECK_INT(t.body.len, 0);
    check_next(t.fd, &t.out);
    talk_end(&t);
}

TEST(a_client_of_http_1_0_gets_a_body_that_ends_with_the_connection)
{
    struct talk t;
    struct http_exchange *x;

    talk_begin(&t, NULL);
    wire_say(t.fd, "GET /held HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    x = wire_held(&t.w, 0);
    begin(x, STREAM_FINITE);
    CHECK(offer(x, "one, "));
    CHECK(offer(x, "two"));
    http_stream_end(x, true);
    CHECK(wire_read_all(t.fd, &t.out));
    CHECK(wire_has(&t.out, "\r\n\r\none, two"));
    CHECK(wire_has(&t.out, "Connection: close\r\n"));
    CHECK(!wire_has(&t.out, "chunked"));
    talk_end(&t);
}

TEST(head_gets_the_head_and_the_producer_is_told_that_nobody_reads)
{
    struct talk t;
    struct http_exchange *x;

    talk_begin(&t, NULL);
    wire_say(t.fd, "HEAD /held HTTP/1.1\r\n" HOST "\r\n");
    x = wire_held(&t.w, 0);
    begin(x, STREAM_FINITE);
    CHECK(!offer(x, "one"));
    http_stream_end(x, true);
    CHECK_INT(wire_read_reply(t.fd, &t.out, true), 200);
    check_next(t.fd, &t.out);
    talk_end(&t);
}

TEST(a_stream_that_fails_ends_without_its_last_chunk)
{
    static const char *const rows[] = { GET, "GET /held HTTP/1.0\r\n\r\n" };
    struct wire w;
    struct buf raw, body;

    wire_start(&w, NULL, 1, NULL);
    buf_init(&raw, MIB(1));
    buf_init(&body, MIB(1));
    for (unsigned i = 0; i < COUNT_OF(rows); i++) {
        int fd = wire_connect(&w);
        struct http_exchange *x;
        bool clean;

        wire_say(fd, rows[i]);
        x = wire_held(&w, i);
        begin(x, STREAM_FINITE);
        CHECK(offer(x, "one"));
        http_stream_end(x, false);
        buf_clear(&raw);
        clean = wire_read_all(fd, &raw);
        CHECK(i == 0 ? !unchunk(&raw, &body) : !clean);
        close(fd);
    }
    buf_done(&raw);
    buf_done(&body);
    wire_stop(&w);
}

/* Many megabytes through a bounded queue, to a client that reads late: the producer waits. */
struct producer {
    struct http_exchange *x;
    pthread_t thread;
    size_t parts, part_len, given;
};

static void *produce(void *arg)
{
    struct producer *p = arg;

    begin(p->x, STREAM_FINITE);
    while (p->given < p->parts && write_bytes(p->x, p->part_len))
        __atomic_add_fetch(&p->given, 1, __ATOMIC_SEQ_CST);
    http_stream_end(p->x, p->given == p->parts);
    return NULL;
}

static void start_producer(struct producer *p, struct http_exchange *x)
{
    *p = (struct producer){ .x = x, .parts = 400, .part_len = KIB(64) };
    CHECK_INT(pthread_create(&p->thread, NULL, produce, p), 0);
}

static size_t drain(int fd)
{
    static char bytes[65536];
    size_t total = 0;
    ssize_t n;

    while ((n = wire_recv(fd, bytes, sizeof(bytes), 0)) > 0)
        total += (size_t)n;
    return total;
}

TEST(a_producer_waits_for_a_slow_client_and_loses_nothing)
{
    struct wire w;
    struct producer p;
    struct pollfd ready = { .events = POLLIN };
    size_t total, body;

    wire_start(&w, NULL, 1, NULL);
    ready.fd = wire_connect(&w);
    wire_say(ready.fd, "GET /held HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
    start_producer(&p, wire_held(&w, 0));
    CHECK_INT(poll(&ready, 1, 20000), 1); /* something has come, and the rest cannot all fit */
    CHECK(__atomic_load_n(&p.given, __ATOMIC_SEQ_CST) < p.parts);
    total = drain(ready.fd);
    pthread_join(p.thread, NULL);
    body = p.parts * p.part_len;
    CHECK_INT(p.given, p.parts);
    CHECK(total > body && total < body + p.parts * 16 + 1000);
    close(ready.fd);
    wire_stop(&w);
}

TEST(a_producer_is_told_when_the_client_has_gone)
{
    struct talk t;
    struct producer p;

    talk_begin(&t, NULL);
    wire_say(t.fd, GET);
    start_producer(&p, wire_held(&t.w, 0));
    CHECK_INT(wire_recv(t.fd, &(char){ 0 }, 1, 0), 1);
    wire_reset(t.fd);
    t.fd = wire_connect(&t.w);
    pthread_join(p.thread, NULL);
    CHECK(p.given < p.parts);
    wire_wait(&t.w, &t.w.n_done, 1);
    talk_end(&t);
}

TEST(a_client_that_takes_nothing_is_dropped_and_the_producer_goes_on)
{
    struct http_limits limits = http_default_limits;
    struct talk t;
    struct producer p;

    limits.write_ms = 50;
    talk_begin(&t, &limits);
    wire_say(t.fd, GET);
    start_producer(&p, wire_held(&t.w, 0));
    pthread_join(p.thread, NULL);
    CHECK(p.given < p.parts);
    talk_end(&t);
}

TEST(an_offer_is_refused_once_too_much_is_waiting)
{
    struct talk t;
    struct http_exchange *x;
    size_t offered = 0;
    bool taken = true;

    talk_begin(&t, NULL);
    wire_say(t.fd, GET);
    x = wire_held(&t.w, 0);
    begin(x, STREAM_ENDLESS);
    while (taken && offered < MIB(64)) {
        memset(buf_reserve(&t.out, KIB(64)), 'z', KIB(64));
        buf_added(&t.out, KIB(64));
        taken = http_stream_offer(x, &t.out);
        offered += KIB(64);
    }
    CHECK(!taken);
    http_stream_end(x, false);
    talk_end(&t);
}

TEST(an_endless_stream_ends_when_its_client_ends_its_side)
{
    struct talk t;
    struct http_exchange *x;

    talk_begin(&t, NULL);
    wire_say(t.fd, GET);
    x = wire_held(&t.w, 0);
    begin(x, STREAM_ENDLESS);
    CHECK(offer(x, "one"));
    shutdown(t.fd, SHUT_WR);
    CHECK(wire_read_all(t.fd, &t.out));
    CHECK(unchunk(&t.out, &t.body));
    wire_wait(&t.w, &t.w.n_done, 1);
    CHECK(!offer(x, "two"));
    http_stream_end(x, true);
    CHECK_INT(wire_count(&t.w, &t.w.n_done), 1); /* it was told once */
    talk_end(&t);
}

/* Endless streams are ended whole, finite ones run to their end; none is cut off. */
TEST(a_stop_ends_endless_streams_and_waits_for_the_others)
{
    struct wire w;
    struct stopping s;
    struct http_exchange *endless, *finite;
    struct buf raw, body;
    int fds[2];

    wire_start(&w, NULL, 1, NULL);
    buf_init(&raw, MIB(1));
    buf_init(&body, MIB(1));
    for (unsigned i = 0; i < 2; i++) {
        fds[i] = wire_connect(&w);
        wire_say(fds[i], GET);
        (void)wire_held(&w, i);
    }
    endless = wire_held(&w, 0);
    finite = wire_held(&w, 1);
    begin(endless, STREAM_ENDLESS);
    begin(finite, STREAM_FINITE);
    CHECK(offer(endless, "on and on"));
    CHECK_INT(wire_recv(fds[1], &(char){ 0 }, 1, 0), 1); /* the loop has begun both */
    stopping_begin(&s, &w, 20000);
    CHECK(wire_read_all(fds[0], &raw));
    CHECK(unchunk(&raw, &body));
    CHECK(str_eq(buf_str(&body), STR_LIT("on and on")));
    CHECK(offer(finite, "the end"));
    http_stream_end(finite, true);
    buf_clear(&raw);
    CHECK(wire_read_all(fds[1], &raw));
    CHECK(unchunk(&raw, &body));
    CHECK(str_eq(buf_str(&body), STR_LIT("the end")));
    CHECK_INT(stopping_end(&s), 0);
    CHECK(!offer(endless, "more")); /* after the loop's end */
    http_stream_end(endless, true);
    close(fds[0]);
    close(fds[1]);
    buf_done(&raw);
    buf_done(&body);
    wire_stop(&w);
}

/* Producers on threads of their own, clients that leave at any moment, a server that stops. */
struct rush {
    struct wire *w;
    unsigned n;
    pthread_t thread;
};

static void *rush_produce(void *arg)
{
    struct rush *r = arg;
    struct http_exchange *x = wire_held(r->w, r->n);

    begin(x, r->n % 2 == 0 ? STREAM_ENDLESS : STREAM_FINITE);
    for (unsigned i = 0; i < 50 + r->n && offer(x, "some text that is sent"); i++)
        continue;
    http_stream_end(x, r->n % 3 != 0);
    return NULL;
}

TEST(streams_may_end_from_all_sides_at_once)
{
    enum { RUSH = 48 };
    struct rush rush[RUSH];
    struct wire w;
    int fds[RUSH];

    wire_start(&w, NULL, 2, NULL);
    for (unsigned i = 0; i < RUSH; i++) {
        rush[i] = (struct rush){ .w = &w, .n = i };
        CHECK_INT(pthread_create(&rush[i].thread, NULL, rush_produce, &rush[i]), 0);
    }
    for (unsigned i = 0; i < RUSH; i++) {
        fds[i] = wire_connect(&w);
        wire_say(fds[i], GET);
        (void)wire_held(&w, i);
        if (i % 4 == 1)
            wire_reset(fds[i]);
        else if (i % 4 == 2)
            close(fds[i]);
    }
    (void)http_server_stop(w.server, 100);
    for (unsigned i = 0; i < RUSH; i++) {
        pthread_join(rush[i].thread, NULL);
        if (i % 4 != 1 && i % 4 != 2)
            close(fds[i]);
    }
    wire_stop(&w);
}
