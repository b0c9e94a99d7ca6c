/* test_stop.c - a clean stop answers every request that was received, and ends. */
#include "unit/http/wire.h"

#define HOST    "Host: h\r\n"
#define REQUEST "GET /a HTTP/1.1\r\n" HOST "\r\n"

enum { CLIENTS = 24 };

struct stopping {
    struct wire *w;
    unsigned deadline_ms, cut;
    pthread_t thread;
};

static void *stop(void *arg)
{
    struct stopping *s = arg;

    s->cut = http_server_stop(s->w->server, s->deadline_ms);
    return NULL;
}

static void begin_stop(struct stopping *s, struct wire *w, unsigned deadline_ms)
{
    *s = (struct stopping){ .w = w, .deadline_ms = deadline_ms };
    CHECK_INT(pthread_create(&s->thread, NULL, stop, s), 0);
}

static unsigned finish_stop(struct stopping *s)
{
    pthread_join(s->thread, NULL);
    return s->cut;
}

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
    begin_stop(&s, &w, 20000);
    CHECK_INT(wire_recv(idle, &byte, 1, 0), 0); /* so the stop has begun */
    for (unsigned i = CLIENTS; i-- > 0;)
        wire_echo(wire_held(&w, i));
    for (unsigned i = 0; i < CLIENTS; i++)
        check_last_reply(fds[i], 200);
    CHECK_INT(finish_stop(&s), 0);
    CHECK_INT(http_server_connections(w.server), 0);
    close(idle);
    wire_stop(&w);
}

/* An application that keeps its only loop busy until it is let go. */
struct occupant {
    struct wire w;
    bool inside, go;
};

static void on_request(void *ctx, struct http_exchange *x)
{
    struct occupant *b = ctx;

    if (str_eq(x->request.path, STR_LIT("/block"))) {
        pthread_mutex_lock(&b->w.mutex);
        b->inside = true;
        pthread_cond_broadcast(&b->w.changed);
        while (!b->go)
            pthread_cond_wait(&b->w.changed, &b->w.mutex);
        pthread_mutex_unlock(&b->w.mutex);
    }
    wire_echo(x);
}

static void start_busy(struct occupant *b)
{
    struct http_app app = { .ctx = b,
                            .on_head = wire_on_head,
                            .on_request = on_request,
                            .on_too_large = wire_on_too_large,
                            .on_refused = wire_on_refused,
                            .on_done = wire_on_done };
    struct http_options options = { .host = "127.0.0.1", .limits = http_default_limits };

    *b = (struct occupant){ 0 };
    pthread_mutex_init(&b->w.mutex, NULL);
    pthread_cond_init(&b->w.changed, NULL);
    CHECK_INT(http_server_new(&options, &app, &b->w.server, NULL), 0);
}

TEST(requests_that_wait_in_the_accept_queue_are_answered)
{
    struct stopping s;
    struct occupant b;
    int block, early, fds[CLIENTS];
    struct buf out;

    start_busy(&b);
    buf_init(&out, KIB(4));
    early = wire_connect(&b.w); /* accepted, and its second request is in the kernel at the stop */
    wire_say(early, REQUEST);
    CHECK_INT(wire_read_reply(early, &out, false), 200);
    block = wire_connect(&b.w);
    wire_say(block, "GET /block HTTP/1.1\r\n" HOST "\r\n");
    pthread_mutex_lock(&b.w.mutex);
    while (!b.inside)
        pthread_cond_wait(&b.w.changed, &b.w.mutex);
    pthread_mutex_unlock(&b.w.mutex);
    wire_say(early, REQUEST);
    for (unsigned i = 0; i < CLIENTS; i++) {
        fds[i] = wire_connect(&b.w);
        wire_say(fds[i], REQUEST);
    }
    begin_stop(&s, &b.w, 20000);
    pthread_mutex_lock(&b.w.mutex);
    b.go = true;
    pthread_cond_broadcast(&b.w.changed);
    pthread_mutex_unlock(&b.w.mutex);
    CHECK_INT(wire_read_reply(block, &out, false), 200);
    CHECK_INT(wire_read_reply(early, &out, false), 200);
    for (unsigned i = 0; i < CLIENTS; i++) {
        CHECK_INT(wire_read_reply(fds[i], &out, false), 200);
        close(fds[i]);
    }
    CHECK_INT(finish_stop(&s), 0);
    close(block);
    close(early);
    buf_done(&out);
    wire_stop(&b.w);
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
    begin_stop(s, w, deadline_ms);
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
    CHECK_INT(finish_stop(&s), 0);
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
    CHECK_INT(finish_stop(&s), 1);
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
    struct wire w;
    int fd;
    char byte;

    wire_start(&w, NULL, 1, NULL);
    fd = wire_connect(&w);
    wire_say(fd, "GET /held HTTP/1.1\r\n" HOST "\r\n");
    (void)wire_held(&w, 0);
    CHECK_INT(http_server_stop(w.server, 0), 1);
    CHECK(wire_recv(fd, &byte, 1, 0) <= 0);
    wire_echo(wire_held(&w, 0));
    CHECK_INT(wire_count(&w, &w.n_done), 0);
    close(fd);
    wire_stop(&w);
}

TEST(a_reply_that_is_being_written_is_finished)
{
    struct stopping s;
    struct wire w;
    struct buf out;
    int fd, idle;
    char byte;

    wire_start(&w, NULL, 1, NULL);
    w.large_len = MIB(24);
    buf_init(&out, MIB(32));
    fd = wire_connect(&w);
    idle = wire_connect(&w);
    wire_say(fd, "GET /large HTTP/1.1\r\n" HOST "\r\n");
    CHECK_INT(wire_recv(fd, &byte, 1, MSG_PEEK), 1);
    begin_stop(&s, &w, 20000);
    CHECK_INT(wire_recv(idle, &byte, 1, 0), 0);
    CHECK_INT(wire_read_reply(fd, &out, false), 200);
    CHECK(out.len > MIB(24));
    CHECK_INT(finish_stop(&s), 0);
    close(fd);
    close(idle);
    buf_done(&out);
    wire_stop(&w);
}
