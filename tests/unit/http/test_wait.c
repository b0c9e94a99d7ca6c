/* test_wait.c - requests that wait after their head. */
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
