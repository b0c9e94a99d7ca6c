/* test_wait.c - requests that wait after their head, and bodies that find no room. */
#include "wire.h"

#define HOST "Host: x\r\n"

static void check_reply(int fd, int status, const char *body)
{
    struct buf reply;

    buf_init(&reply, KIB(64));
    CHECK_INT(wire_read_reply(fd, &reply, false), status);
    if (body != NULL && !wire_has(&reply, body))
        fail_msg("%.*s", STR_ARG(reply));
    buf_done(&reply);
}

static void read_on(struct http_exchange *x)
{
    http_read_on(x);
}

static void say_no(struct http_exchange *x)
{
    wire_answer(x, 401, STR_LIT("no"));
}

TEST(a_request_that_waits_after_its_head_is_read_on_when_told)
{
    static const char *const rows[][2] = {
        { "GET /wait HTTP/1.1\r\n" HOST "\r\n", "GET /wait []" },
        { "POST /wait HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nbody", "POST /wait [body]" },
        { "POST /wait HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
          "POST /wait [body]" },
    };
    struct wire w;

    wire_start(&w, NULL, 1, NULL);
    for (unsigned i = 0; i < COUNT_OF(rows); i++) {
        int fd = wire_connect(&w);

        wire_say(fd, rows[i][0]);
        wire_say(fd, "GET /next HTTP/1.1\r\n" HOST "\r\n");
        http_resume(wire_held(&w, i), read_on);
        check_reply(fd, 200, rows[i][1]);
        check_reply(fd, 200, "GET /next []");
        close(fd);
    }
    wire_stop(&w);
}

TEST(a_body_that_comes_after_the_waiting_is_read_too)
{
    struct wire w;
    int fd;

    wire_start(&w, NULL, 1, NULL);
    fd = wire_connect(&w);
    wire_say(fd, "POST /wait HTTP/1.1\r\n" HOST "Content-Length: 8\r\n\r\nhalf");
    http_resume(wire_held(&w, 0), read_on);
    wire_say(fd, "half");
    check_reply(fd, 200, "POST /wait [halfhalf]");
    close(fd);
    wire_stop(&w);
}

TEST(a_request_that_waits_may_be_refused_unread)
{
    struct wire w;
    int fd;

    wire_start(&w, NULL, 1, NULL);
    fd = wire_connect(&w);
    wire_say(fd, "POST /wait HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nbody"
                 "GET /next HTTP/1.1\r\n" HOST "\r\n");
    http_resume(wire_held(&w, 0), say_no);
    check_reply(fd, 401, "no");
    check_reply(fd, 200, "GET /next []"); /* the body was skipped, not taken for a request */
    close(fd);
    wire_stop(&w);
}

TEST(a_client_that_leaves_while_it_waits_leaves_nothing_behind)
{
    struct linger at_once = { .l_onoff = 1 };
    struct wire w;
    int fd, other;

    wire_start(&w, NULL, 1, NULL);
    for (unsigned i = 0; i < 2; i++) {
        fd = wire_connect(&w);
        wire_say(fd, "POST /wait HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nbo");
        (void)wire_held(&w, i);
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        close(fd);
        other = wire_connect(&w);
        wire_say(other, "GET /a HTTP/1.1\r\n" HOST "\r\n"); /* the loop has seen the other go */
        check_reply(other, 200, "GET /a []");
        http_resume(wire_held(&w, i), i == 0 ? read_on : say_no);
        wire_say(other, "GET /b HTTP/1.1\r\n" HOST "\r\n");
        check_reply(other, 200, "GET /b []");
        close(other);
    }
    wire_stop(&w);
}

/* 1,000 bytes for all: who is alone has room, a second one has what is left, and it comes back. */
TEST(bodies_beyond_the_room_for_all_are_refused_and_room_comes_back)
{
    struct http_limits limits = http_default_limits;
    char body[901];
    struct wire w;
    int first, second, third;

    limits.bodies_max = 1000;
    memset(body, 'x', sizeof(body) - 1);
    body[sizeof(body) - 1] = '\0';
    wire_start(&w, &limits, 1, NULL);
    first = wire_connect(&w);
    second = wire_connect(&w);
    wire_say(first, "POST /held HTTP/1.1\r\n" HOST "Content-Length: 900\r\n\r\n");
    wire_say(first, body);
    (void)wire_held(&w, 0);
    wire_say(second, "POST /a HTTP/1.1\r\n" HOST "Content-Length: 50\r\n\r\n");
    wire_say(second, body + 850);
    check_reply(second, 200, "POST /a");
    wire_say(second, "POST /b HTTP/1.1\r\n" HOST "Content-Length: 200\r\n\r\n");
    wire_say(second, body + 700);
    check_reply(second, 503, "no room");
    wire_echo(wire_held(&w, 0));
    check_reply(first, 200, "POST /held");
    third = wire_connect(&w);
    wire_say(third, "POST /c HTTP/1.1\r\n" HOST "Content-Length: 900\r\n\r\n");
    wire_say(third, body);
    check_reply(third, 200, "POST /c");
    wire_say(third, "POST /held HTTP/1.1\r\n" HOST "Content-Length: 1800\r\n\r\n"); /* alone */
    wire_say(third, body);
    wire_say(third, body);
    (void)wire_held(&w, 1);
    wire_say(first, "GET /e HTTP/1.1\r\n" HOST "\r\n"); /* no body needs no room */
    check_reply(first, 200, "GET /e []");
    wire_echo(wire_held(&w, 1));
    check_reply(third, 200, "POST /held");
    close(first);
    close(second);
    close(third);
    wire_stop(&w);
}

TEST(a_promised_body_holds_no_room_until_it_comes)
{
    struct http_limits limits = http_default_limits;
    struct wire w;
    int idle, busy;

    limits.bodies_max = 1000;
    wire_start(&w, &limits, 1, NULL);
    idle = wire_connect(&w);
    busy = wire_connect(&w);
    wire_say(idle, "POST /a HTTP/1.1\r\n" HOST "Content-Length: 1000000\r\n\r\n");
    wire_wait(&w, &w.n_heads, 1);
    wire_say(busy, "POST /b HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nbody");
    check_reply(busy, 200, "POST /b [body]");
    close(idle);
    close(busy);
    wire_stop(&w);
}
