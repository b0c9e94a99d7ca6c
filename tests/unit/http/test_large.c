/* test_large.c - large bodies have threads of their own, and small requests do not wait for them.
 */
#include <stdio.h>
#include <zlib.h>

#include "wire.h"

#define HOST "Host: x\r\n"

enum { LARGE = 40 * 1024, SMALL = 100, ASKERS = 8 };

static void start(struct wire *w, unsigned loops)
{
    const struct http_options options = {
        .host = "127.0.0.1", .loops = loops, .large_apart = true, .limits = http_default_limits
    };

    wire_start_with(w, &options);
}

static void add_request(struct buf *out, const char *path, const char *headers, struct str body)
{
    buf_printf(out, "POST %s HTTP/1.1\r\n" HOST "%sContent-Length: %zu\r\n\r\n", path, headers,
               body.len);
    buf_add(out, body);
}

static void say_post(int fd, const char *path, size_t len)
{
    static const char zeros[LARGE];
    struct buf out;

    buf_init(&out, MIB(1));
    add_request(&out, path, "", str_from(zeros, len));
    CHECK(wire_send(fd, buf_str(&out)));
    buf_done(&out);
}

static void check_by(int fd, const char *who, size_t len)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "by muster-%s %zu", who, len);
    wire_check(fd, 200, text);
}

TEST(a_request_is_handled_by_the_thread_for_its_size)
{
    static const size_t lengths[] = { 0, SMALL, LARGE, SMALL, 0, LARGE, LARGE, KIB(32), SMALL };
    struct wire w;
    int fd;

    start(&w, 1);
    fd = wire_connect(&w);
    for (size_t i = 0; i < COUNT_OF(lengths); i++) { /* one after the other */
        say_post(fd, "/who", lengths[i]);
        check_by(fd, lengths[i] == LARGE ? "large" : "loop", lengths[i]);
    }
    for (size_t i = 0; i < COUNT_OF(lengths); i++) /* and all at once */
        say_post(fd, "/who", lengths[i]);
    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        check_by(fd, lengths[i] == LARGE ? "large" : "loop", lengths[i]);
    close(fd);
    wire_stop(&w);
}

/* Zeros, which shrink to next to nothing. */
static void say_packed(int fd, size_t len)
{
    static char in[LARGE];
    unsigned char packed[KIB(4)];
    z_stream z = { .next_in = (Bytef *)in,
                   .avail_in = (uInt)len,
                   .next_out = packed,
                   .avail_out = sizeof(packed) };
    struct buf out;

    CHECK_INT(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    CHECK_INT(deflate(&z, Z_FINISH), Z_STREAM_END);
    buf_init(&out, MIB(1));
    add_request(&out, "/who", "Content-Encoding: gzip\r\n", str_from((char *)packed, z.total_out));
    deflateEnd(&z);
    CHECK(wire_send(fd, buf_str(&out)));
    buf_done(&out);
}

/* A loop cannot know what a compressed body will be: a few KiB may be MiB. */
TEST(a_compressed_body_is_never_inflated_on_a_loop)
{
    struct wire w;
    int fd;

    start(&w, 1);
    fd = wire_connect(&w);
    say_packed(fd, SMALL);
    check_by(fd, "large", SMALL);
    say_packed(fd, LARGE);
    check_by(fd, "large", LARGE);
    say_post(fd, "/who", SMALL);
    check_by(fd, "loop", SMALL);
    close(fd);
    wire_stop(&w);
}

TEST(small_requests_do_not_wait_for_a_large_one)
{
    struct wire w;
    int large, small;

    start(&w, 1);
    large = wire_connect(&w);
    small = wire_connect(&w);
    say_post(large, "/block", LARGE);
    wire_wait(&w, &w.n_blocked, 1);
    say_post(small, "/who", SMALL);
    check_by(small, "loop", SMALL);
    wire_let_go(&w);
    check_by(large, "large", LARGE);
    close(large);
    close(small);
    wire_stop(&w);
}

TEST(a_client_that_leaves_meanwhile_leaves_nothing_behind)
{
    struct wire w;

    start(&w, 1);
    for (unsigned i = 0; i < 20; i++) {
        int fd = wire_connect(&w);

        say_post(fd, "/block", LARGE);
        wire_wait(&w, &w.n_heads, i + 1);
        if (i % 2 == 0)
            wire_reset(fd);
        else
            close(fd);
    }
    wire_wait(&w, &w.n_blocked, 1);
    wire_let_go(&w);
    CHECK_INT(http_server_stop(w.server, 20000), 0);
    CHECK_INT(http_server_connections(w.server), 0);
    wire_stop(&w);
}

struct asker {
    int fd;
    pthread_t thread;
    unsigned whole; /* replies */
};

/* Small and large ones by turns, until the server closes. */
static void *ask_on(void *arg)
{
    static const char zeros[LARGE];
    struct asker *asker = arg;
    struct buf out, reply;

    buf_init(&out, MIB(1));
    buf_init(&reply, MIB(1));
    for (;;) {
        buf_clear(&out);
        add_request(&out, "/who", "", str_from(zeros, asker->whole % 3 == 0 ? LARGE : SMALL));
        if (!wire_send(asker->fd, buf_str(&out)) ||
            wire_read_reply(asker->fd, &reply, false) != 200)
            break;
        asker->whole++;
    }
    buf_done(&out);
    buf_done(&reply);
    close(asker->fd);
    return NULL;
}

TEST(a_stop_answers_what_is_under_way)
{
    for (unsigned round = 0; round < 10; round++) {
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

/* One that is being handled, one that waits for that, and one whose body never comes. */
TEST(what_takes_too_long_is_cut_by_the_deadline)
{
    struct stopping s;
    struct wire w;
    int fds[3];
    char byte;

    start(&w, 1);
    for (unsigned i = 0; i < COUNT_OF(fds); i++) {
        fds[i] = wire_connect(&w);
        if (i < 2)
            say_post(fds[i], "/block", LARGE);
        else
            wire_say(fds[i], "POST /a HTTP/1.1\r\n" HOST "Content-Length: 40960\r\n\r\nsome");
        wire_wait(&w, &w.n_heads, i + 1);
    }
    wire_wait(&w, &w.n_blocked, 1);
    stopping_begin(&s, &w, 100);
    for (unsigned i = 0; i < COUNT_OF(fds); i++) {
        CHECK(wire_recv(fds[i], &byte, 1, 0) <= 0);
        close(fds[i]);
    }
    wire_let_go(&w);
    CHECK_INT(stopping_end(&s), 3);
    wire_stop(&w);
}
