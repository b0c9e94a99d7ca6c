/* test_move.c - large bodies have loops of their own, and connections go where they belong. */
#include <stdio.h>
#include <sys/resource.h>
#include <zlib.h>

#include "wire.h"

#define HOST "Host: x\r\n"

enum { LARGE = 40 * 1024, SMALL = 100 };

static void start(struct wire *w, unsigned loops)
{
    const struct http_options options = {
        .host = "127.0.0.1", .loops = loops, .large_apart = true, .limits = http_default_limits
    };

    wire_start_with(w, &options);
}

/* A body in which every byte that is lost, doubled or moved shows. */
static struct str body_of(struct buf *out, size_t len)
{
    buf_clear(out);
    for (size_t i = 0; out->len < len; i++)
        buf_printf(out, "%zu,", i);
    return str_from(out->data, len);
}

static void add_request(struct buf *out, const char *path, const char *headers, struct str body)
{
    buf_printf(out, "POST %s HTTP/1.1\r\n" HOST "%sContent-Length: %zu\r\n\r\n%.*s", path, headers,
               body.len, STR_ARG(body));
}

static void check_reply(int fd, int status, const char *text)
{
    struct buf reply;

    buf_init(&reply, MIB(1));
    CHECK_INT(wire_read_reply(fd, &reply, false), status);
    if (!wire_has(&reply, text))
        fail_msg("'%s' is not in %.*s", text, STR_ARG(reply));
    buf_done(&reply);
}

static void check_by(int fd, const char *who, size_t len)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "by muster-%s %zu", who, len);
    check_reply(fd, 200, text);
}

static void check_who(int fd, size_t len)
{
    check_by(fd, len == LARGE ? "large" : "loop", len);
}

/* It goes to the loop for large ones at once, and back with the fourth small one in a row. */
TEST(a_request_is_served_by_the_loop_for_its_size)
{
    static const struct {
        size_t len;
        const char *who;
    } rows[] = {
        { 0, "loop" },      { SMALL, "loop" },  { LARGE, "large" }, { SMALL, "large" },
        { 0, "large" },     { SMALL, "large" }, { LARGE, "large" }, { SMALL, "large" },
        { 0, "large" },     { 0, "large" },     { SMALL, "loop" },  { SMALL, "loop" },
        { LARGE, "large" }, { LARGE, "large" }, { 0, "large" },     { 0, "large" },
        { 0, "large" },     { 0, "loop" },
    };
    struct buf body, out;
    struct wire w;
    int fd;

    start(&w, 1);
    fd = wire_connect(&w);
    buf_init(&body, MIB(1));
    buf_init(&out, MIB(1));
    for (size_t i = 0; i < COUNT_OF(rows); i++) { /* one after the other */
        buf_clear(&out);
        add_request(&out, "/who", "", body_of(&body, rows[i].len));
        CHECK(wire_send(fd, buf_str(&out)));
        check_by(fd, rows[i].who, rows[i].len);
    }
    buf_clear(&out);
    for (size_t i = 0; i < COUNT_OF(rows); i++) /* and all at once */
        add_request(&out, "/who", "", body_of(&body, rows[i].len));
    CHECK(wire_send(fd, buf_str(&out)));
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_by(fd, rows[i].who, rows[i].len);
    close(fd);
    buf_done(&body);
    buf_done(&out);
    wire_stop(&w);
}

/* Cut at every place around the end of the head, and here and there in the body. */
TEST(no_byte_is_lost_on_the_way)
{
    struct buf body, out, text;
    struct wire w;
    unsigned n = 0;

    start(&w, 1);
    buf_init(&body, MIB(1));
    buf_init(&out, MIB(1));
    buf_init(&text, MIB(1));
    add_request(&out, "/a", "", body_of(&body, LARGE));
    buf_printf(&text, "POST /a [%.*s]", LARGE, body.data);
    buf_add_char(&text, '\0');
    for (size_t cut = 40; cut < out.len; cut += cut < 80 ? 1 : 9001, n++) {
        int fd = wire_connect(&w);

        CHECK(wire_send(fd, str_from(out.data, cut)));
        if (cut >= out.len - LARGE)
            wire_wait(&w, &w.n_heads, n + 1); /* it is on its way, or there */
        CHECK(wire_send(fd, str_from(out.data + cut, out.len - cut)));
        check_reply(fd, 200, text.data);
        close(fd);
    }
    buf_done(&body);
    buf_done(&out);
    buf_done(&text);
    wire_stop(&w);
}

TEST(who_waits_for_100_is_told_on_the_way)
{
    static const char hello[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct buf body;
    struct wire w;
    char got[sizeof(hello)] = "";
    int fd;

    start(&w, 1);
    fd = wire_connect(&w);
    buf_init(&body, MIB(1));
    wire_say(fd,
             "POST /who HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 40960\r\n\r\n");
    CHECK_INT(wire_recv(fd, got, sizeof(hello) - 1, MSG_WAITALL), sizeof(hello) - 1);
    CHECK_STR(str_of(got), hello);
    CHECK(wire_send(fd, body_of(&body, LARGE)));
    check_who(fd, LARGE);
    close(fd);
    buf_done(&body);
    wire_stop(&w);
}

TEST(what_does_not_tell_its_length_may_be_large)
{
    struct wire w;
    int fd;

    start(&w, 1);
    fd = wire_connect(&w);
    wire_say(fd, "POST /who HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
                 "3\r\nabc\r\n0\r\n\r\n");
    check_reply(fd, 200, "muster-large 3");
    close(fd);
    wire_stop(&w);
}

/* Bytes that hardly shrink, so that what is sent has about the length that is asked for. */
static struct str gzip_of(struct buf *out, size_t len)
{
    z_stream z = { 0 };
    unsigned char in[KIB(16)];
    uint32_t random = 1;

    CHECK(len <= sizeof(in));
    for (size_t i = 0; i < len; i++) {
        random = random * 1664525 + 1013904223;
        in[i] = (unsigned char)(random >> 24);
    }
    CHECK_INT(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = in;
    z.avail_in = (unsigned)len;
    z.next_out = (unsigned char *)buf_reserve(out, KIB(20));
    z.avail_out = KIB(20);
    CHECK_INT(deflate(&z, Z_FINISH), Z_STREAM_END);
    buf_added(out, z.total_out);
    deflateEnd(&z);
    return buf_str(out);
}

TEST(what_is_compressed_counts_for_more)
{
    static const struct {
        size_t len;
        const char *who;
    } rows[] = { { 3000, "muster-loop 3000" }, { 6000, "muster-large 6000" } };
    struct wire w;

    start(&w, 1);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf body, out;
        int fd = wire_connect(&w);

        buf_init(&body, MIB(1));
        buf_init(&out, MIB(1));
        gzip_of(&body, rows[i].len);
        buf_printf(&out,
                   "POST /who HTTP/1.1\r\n" HOST "Content-Encoding: gzip\r\n"
                   "Content-Length: %zu\r\n\r\n",
                   body.len);
        buf_add(&out, buf_str(&body));
        CHECK(wire_send(fd, buf_str(&out)));
        check_reply(fd, 200, rows[i].who);
        close(fd);
        buf_done(&body);
        buf_done(&out);
    }
    wire_stop(&w);
}

static void read_on(struct http_exchange *x)
{
    http_read_on(x);
}

TEST(a_large_request_that_waited_after_its_head_moves_too)
{
    struct buf body, out, text;
    struct wire w;
    int fd;

    start(&w, 1);
    fd = wire_connect(&w);
    buf_init(&body, MIB(1));
    buf_init(&out, MIB(1));
    buf_init(&text, MIB(1));
    add_request(&out, "/wait", "", body_of(&body, LARGE));
    add_request(&out, "/who", "", STR_LIT(""));
    CHECK(wire_send(fd, buf_str(&out)));
    http_resume(wire_held(&w, 0), read_on);
    buf_printf(&text, "POST /wait [%.*s]", LARGE, body.data);
    buf_add_char(&text, '\0');
    check_reply(fd, 200, text.data);
    check_by(fd, "large", 0);
    close(fd);
    buf_done(&body);
    buf_done(&out);
    buf_done(&text);
    wire_stop(&w);
}

TEST(what_is_refused_does_not_move)
{
    struct wire w;
    int fd;

    start(&w, 1);
    fd = wire_connect(&w);
    wire_say(fd, "POST /limit100 HTTP/1.1\r\n" HOST "Content-Length: 40960\r\n\r\n");
    check_reply(fd, 413, "too large for muster-loop");
    close(fd);
    fd = wire_connect(&w);
    wire_say(fd, "POST /early HTTP/1.1\r\n" HOST "Content-Length: 40960\r\n\r\n");
    check_reply(fd, 401, "no");
    close(fd);
    wire_stop(&w);
}

TEST(a_client_that_leaves_on_the_way_leaves_nothing_behind)
{
    struct linger at_once = { .l_onoff = 1 };
    struct wire w;

    start(&w, 1);
    for (unsigned i = 0; i < 50; i++) {
        int fd = wire_connect(&w);

        wire_say(fd, "POST /a HTTP/1.1\r\n" HOST "Content-Length: 40960\r\n\r\nsome");
        if (i % 2 == 0)
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        close(fd);
    }
    wire_wait(&w, &w.n_heads, 25); /* those that were reset may have been so before their head */
    CHECK_INT(http_server_stop(w.server, 20000), 0);
    CHECK_INT(http_server_connections(w.server), 0);
    wire_stop(&w);
}

TEST(without_descriptors_it_is_served_where_it_is)
{
    struct rlimit limit, less;
    struct buf body, out;
    struct wire w;
    int fd, next;

    start(&w, 1);
    fd = wire_connect(&w);
    buf_init(&body, MIB(1));
    buf_init(&out, MIB(1));
    wire_say(fd, "GET /a HTTP/1.1\r\n" HOST "\r\n"); /* accepted */
    check_reply(fd, 200, "GET /a []");
    add_request(&out, "/who", "", body_of(&body, LARGE));
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
    next = dup(0);
    close(next);
    less = limit;
    less.rlim_cur = (rlim_t)next;
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &less), 0);
    CHECK(wire_send(fd, buf_str(&out)));
    check_reply(fd, 200, "muster-loop 40960");
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
    CHECK(wire_send(fd, buf_str(&out)));
    check_who(fd, LARGE);
    close(fd);
    buf_done(&body);
    buf_done(&out);
    wire_stop(&w);
}

struct asker {
    int fd;
    pthread_t thread;
    unsigned whole; /* replies */
};

/* To and fro, until the server closes. */
static void *ask_on(void *arg)
{
    struct asker *asker = arg;
    struct buf body, out, reply;
    int fd = asker->fd;

    buf_init(&body, MIB(1));
    buf_init(&out, MIB(1));
    buf_init(&reply, MIB(1));
    for (;;) {
        buf_clear(&out);
        add_request(&out, "/who", "", body_of(&body, asker->whole % 5 == 0 ? LARGE : SMALL));
        if (!wire_send(fd, buf_str(&out)) || wire_read_reply(fd, &reply, false) != 200)
            break;
        asker->whole++;
    }
    buf_done(&body);
    buf_done(&out);
    buf_done(&reply);
    close(fd);
    return NULL;
}

TEST(a_stop_loses_nobody_who_is_on_the_way)
{
    enum { ASKERS = 8, ROUNDS = 20 };

    for (unsigned round = 0; round < ROUNDS; round++) {
        struct asker askers[ASKERS] = { 0 };
        unsigned whole = 0;
        struct wire w;

        start(&w, 2);
        for (unsigned i = 0; i < ASKERS; i++) {
            askers[i].fd = wire_connect(&w); /* here: the server stops while threads still start */
            CHECK_INT(pthread_create(&askers[i].thread, NULL, ask_on, &askers[i]), 0);
        }
        wire_wait(&w, &w.n_done, 100);
        CHECK_INT(http_server_stop(w.server, 20000), 0);
        for (unsigned i = 0; i < ASKERS; i++) {
            pthread_join(askers[i].thread, NULL);
            whole += askers[i].whole;
        }
        CHECK_INT(whole, wire_count(&w, &w.n_done));
        CHECK_INT(http_server_connections(w.server), 0);
        wire_stop(&w);
    }
}

/* An application that keeps a loop busy with /block until it is let go. */
struct occupant {
    struct wire w; /* first */
    unsigned inside, go;
};

static void on_request(void *ctx, struct http_exchange *x)
{
    struct occupant *b = ctx;

    if (!str_eq(x->request.path, STR_LIT("/block"))) {
        wire_on_request(&b->w, x);
        return;
    }
    pthread_mutex_lock(&b->w.mutex);
    b->inside++;
    pthread_cond_broadcast(&b->w.changed);
    pthread_mutex_unlock(&b->w.mutex);
    wire_wait(&b->w, &b->go, 1);
    wire_tell_who(x, 200, "by");
}

static void start_busy(struct occupant *b)
{
    const struct http_app app = { .ctx = b,
                                  .on_head = wire_on_head,
                                  .on_request = on_request,
                                  .on_too_large = wire_on_too_large,
                                  .on_refused = wire_on_refused,
                                  .on_done = wire_on_done };
    const struct http_options options = { .host = "127.0.0.1",
                                          .large_apart = true,
                                          .limits = http_default_limits };

    *b = (struct occupant){ 0 };
    pthread_mutex_init(&b->w.mutex, NULL);
    pthread_cond_init(&b->w.changed, NULL);
    CHECK_INT(http_server_new(&options, &app, &b->w.server, NULL), 0);
}

static void *stop(void *arg)
{
    struct occupant *b = arg;

    CHECK_INT(http_server_stop(b->w.server, 20000), 0);
    return NULL;
}

static int connect_and_say(struct occupant *b, const char *text)
{
    unsigned heads = wire_count(&b->w, &b->w.n_heads);
    int fd = wire_connect(&b->w);

    wire_say(fd, text);
    wire_wait(&b->w, &b->w.n_heads, heads + 1);
    return fd;
}

/* The last connection of a loop that stops goes as another is handed over, which it has not seen
 * yet. */
TEST(a_loop_does_not_end_while_somebody_is_on_the_way_to_it)
{
    static const char half[] = "POST /block HTTP/1.1\r\n" HOST "Content-Length: 40960\r\n\r\n";
    struct buf body;
    struct occupant b;
    int blocks, moves, stays, idle;
    pthread_t thread;
    char byte;

    start_busy(&b);
    buf_init(&body, MIB(1));
    blocks = connect_and_say(&b, half);
    stays = connect_and_say(&b, "POST /who HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\na");
    moves = wire_connect(&b.w);
    wire_say(moves, "POST /who HTTP/1.1\r\n" HOST);
    idle = connect_and_say(&b, "POST /who HTTP/1.1\r\n" HOST "Content-Length: 40960\r\n\r\n");
    CHECK(wire_send(idle, body_of(&body, LARGE)));
    check_who(idle, LARGE);
    CHECK_INT(pthread_create(&thread, NULL, stop, &b), 0);
    CHECK_INT(wire_recv(idle, &byte, 1, 0), 0); /* the loop for large ones has begun to stop */
    CHECK(wire_send(blocks, body_of(&body, LARGE)));
    wire_wait(&b.w, &b.inside, 1);
    wire_say(moves, "Content-Length: 40960\r\n\r\n");
    wire_wait(&b.w, &b.w.n_heads, 4);
    wire_say(stays, "b");
    check_who(stays, 2); /* after its loop has handed over the other */
    pthread_mutex_lock(&b.w.mutex);
    b.go = 1;
    pthread_cond_broadcast(&b.w.changed);
    pthread_mutex_unlock(&b.w.mutex);
    check_who(blocks, LARGE);
    CHECK_INT(wire_recv(blocks, &byte, 1, 0),
              0); /* closed: the loop has none left but the one to come */
    CHECK(wire_send(moves, body_of(&body, LARGE)));
    check_who(moves, LARGE);
    pthread_join(thread, NULL);
    close(blocks);
    close(moves);
    close(stays);
    close(idle);
    buf_done(&body);
    wire_stop(&b.w);
}

TEST(a_large_body_that_does_not_end_is_cut_by_the_deadline)
{
    struct wire w;
    char byte;
    int fd;

    start(&w, 1);
    fd = wire_connect(&w);
    wire_say(fd, "POST /a HTTP/1.1\r\n" HOST "Content-Length: 40960\r\n\r\nsome");
    wire_wait(&w, &w.n_heads, 1);
    CHECK_INT(http_server_stop(w.server, 100), 1);
    CHECK(wire_recv(fd, &byte, 1, 0) <= 0);
    close(fd);
    wire_stop(&w);
}
