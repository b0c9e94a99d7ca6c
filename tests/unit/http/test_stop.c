/* test_stop.c - a clean stop answers every request that was received, and ends. */
#include "unit/http/wire.h"

#define HOST    "Host: h\r\n"
#define REQUEST "GET /a HTTP/1.1\r\n" HOST "\r\n"

enum { CLIENTS = 24 };

static void check_last_reply(int fd, int status)
{
    struct buf out;
    char byte;

    buf_init(&out, KIB(4));
    CHECK_INT(wire_read_reply(fd, &out, false), status);
    CHECK(wire_has(&out, "Connection: close\r\n"));
    CHECK_INT(wire_recv(fd, &byte, 1, 0), 0);
    close(fd);
    buf_done(&out);
}

TEST(what_the_application_has_is_answered_and_idle_connections_are_closed)
{
    struct stopping s;
    struct wire w;
    int fds[CLIENTS], idle;
    char byte;

    wire_start(&w, NULL, 1, NULL);
    idle = wire_connect(&w);
    for (unsigned i = 0; i < CLIENTS; i++) {
        fds[i] = wire_connect(&w);
        wire_say(fds[i], "POST /held HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nab");
    }
    (void)wire_held(&w, CLIENTS - 1);
    stopping_begin(&s, &w, 20000);
    CHECK_INT(wire_recv(idle, &byte, 1, 0), 0); /* so the stop has begun */
    for (unsigned i = CLIENTS; i-- > 0;)
        wire_echo(wire_held(&w, i));
    for (unsigned i = 0; i < CLIENTS; i++)
        check_last_reply(fds[i], 200);
    CHECK_INT(stopping_end(&s), 0);
    CHECK_INT(http_server_connections(w.server), 0);
    close(idle);
    wire_stop(&w);
}

TEST(requests_that_wait_in_the_accept_queue_are_answered)
{
    struct stopping s;
    struct talk t;
    int block, fds[CLIENTS];

    talk_begin(&t, NULL); /* accepted, and its second request is in the kernel at the stop */
    wire_say(t.fd, REQUEST);
    wire_check(t.fd, 200, NULL);
    block = wire_connect(&t.w);
    wire_say(block, "GET /block HTTP/1.1\r\n" HOST "\r\n"); /* keeps the loop busy */
    wire_wait(&t.w, &t.w.n_blocked, 1);
    wire_say(t.fd, REQUEST);
    for (unsigned i = 0; i < CLIENTS; i++) {
        fds[i] = wire_connect(&t.w);
        wire_say(fds[i], REQUEST);
    }
    stopping_begin(&s, &t.w, 20000);
    wire_let_go(&t.w);
    wire_check(block, 200, NULL);
    wire_check(t.fd, 200, NULL);
    for (unsigned i = 0; i < CLIENTS; i++) {
        wire_check(fds[i], 200, NULL);
        close(fds[i]);
    }
    CHECK_INT(stopping_end(&s), 0);
    close(block);
    talk_end(&t);
}

/* Returns a connection with half a request, which the server has read when the stop begins. */
static int half_received(struct wire *w, struct stopping *s, unsigned deadline_ms)
{
    struct buf out;
    int half = wire_connect(w), idle = wire_connect(w);
    char byte;

    buf_init(&out, KIB(4));
    wire_say(half, "POST /a HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nab");
    wire_say(idle, REQUEST); /* answered after the other has been read */
    CHECK_INT(wire_read_reply(idle, &out, false), 200);
    stopping_begin(s, w, deadline_ms);
    CHECK_INT(wire_recv(idle, &byte, 1, 0), 0);
    close(idle);
    buf_done(&out);
    return half;
}

TEST(a_request_half_received_may_finish)
{
    struct stopping s;
    struct wire w;
    int half;

    wire_start(&w, NULL, 1, NULL);
    half = half_received(&w, &s, 20000);
    wire_say(half, "cd");
    check_last_reply(half, 200);
    CHECK_INT(stopping_end(&s), 0);
    wire_stop(&w);
}

TEST(a_request_half_received_that_does_not_finish_is_cut)
{
    struct stopping s;
    struct wire w;
    int half;
    char byte;

    wire_start(&w, NULL, 1, NULL);
    half = half_received(&w, &s, 100);
    CHECK_INT(stopping_end(&s), 1);
    CHECK(wire_recv(half, &byte, 1, 0) <= 0);
    close(half);
    wire_stop(&w);
}

struct asker {
    const struct wire *w;
    pthread_t thread;
    unsigned whole; /* replies */
};

/* Asks again and again until the server closes. */
static void *ask_on(void *arg)
{
    struct asker *asker = arg;
    struct buf out;
    int fd = wire_connect(asker->w);

    buf_init(&out, KIB(4));
    while (wire_say(fd, REQUEST) && wire_read_reply(fd, &out, false) == 200)
        asker->whole++;
    buf_done(&out);
    close(fd);
    return NULL;
}

TEST(under_load_no_reply_is_lost_or_cut_short)
{
    enum { ASKERS = 6 };
    struct wire w;
    struct asker askers[ASKERS] = { 0 };
    unsigned whole = 0;

    wire_start(&w, NULL, 2, NULL);
    for (unsigned i = 0; i < ASKERS; i++) {
        askers[i].w = &w;
        CHECK_INT(pthread_create(&askers[i].thread, NULL, ask_on, &askers[i]), 0);
    }
    wire_wait(&w, &w.n_done, 500);
    CHECK_INT(http_server_stop(w.server, 20000), 0);
    for (unsigned i = 0; i < ASKERS; i++) {
        pthread_join(askers[i].thread, NULL);
        whole += askers[i].whole;
    }
    CHECK_INT(whole, wire_count(&w, &w.n_done));
    wire_stop(&w);
}

TEST(an_answer_after_the_end_is_dropped)
{
    struct talk t;
    char byte;

    talk_begin(&t, NULL);
    wire_say(t.fd, "GET /held HTTP/1.1\r\n" HOST "\r\n");
    (void)wire_held(&t.w, 0);
    CHECK_INT(http_server_stop(t.w.server, 0), 1);
    CHECK(wire_recv(t.fd, &byte, 1, 0) <= 0);
    wire_echo(wire_held(&t.w, 0));
    CHECK_INT(wire_count(&t.w, &t.w.n_done), 0);
    talk_end(&t);
}

TEST(a_reply_that_is_being_written_is_finished)
{
    struct stopping s;
    struct talk t;
    int idle;
    char byte;

    talk_begin(&t, NULL);
    t.w.large_len = MIB(24);
    idle = wire_connect(&t.w);
    wire_say(t.fd, "GET /large HTTP/1.1\r\n" HOST "\r\n");
    CHECK_INT(wire_recv(t.fd, &byte, 1, MSG_PEEK), 1);
    stopping_begin(&s, &t.w, 20000);
    CHECK_INT(wire_recv(idle, &byte, 1, 0), 0);
    CHECK_INT(wire_read_reply(t.fd, &t.out, false), 200);
    CHECK(t.out.len > MIB(24));
    CHECK_INT(stopping_end(&s), 0);
    close(idle);
    talk_end(&t);
}
