/* test_server.c - requests and replies over real connections: order, late answers, bodies. */
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define ZLIB_CONST
#include <zlib.h>

#include "unit/http/wire.h"

#define HOST "Host: h\r\n"

static void check_reply(int fd, int status, const char *body)
{
    struct wire_reply reply;
    struct buf out;

    buf_init(&out, MIB(1));
    CHECK_INT(wire_read_reply(fd, &out, false), status);
    (void)wire_parse(buf_str(&out), &reply);
    if (body != NULL)
        CHECK_STR(str_from(out.data + reply.head_len, reply.length), body);
    buf_done(&out);
}

static void check_end(int fd)
{
    char byte;

    CHECK_INT(wire_recv(fd, &byte, 1, 0), 0);
    close(fd);
}

TEST(a_reply_has_date_and_id_and_cannot_be_split_by_a_header)
{
    struct wire w;
    struct buf one, two;
    const char *id;
    int fd;

    wire_start(&w, NULL, 1, NULL);
    buf_init(&one, KIB(4));
    buf_init(&two, KIB(4));
    fd = wire_connect(&w);
    wire_say(fd, "GET / HTTP/1.1\r\n" HOST "\r\nGET / HTTP/1.1\r\n" HOST "\r\n");
    CHECK_INT(wire_read_reply(fd, &one, false), 200);
    CHECK_INT(wire_read_reply(fd, &two, false), 200);
    CHECK(wire_has(&one, " GMT\r\n"));
    CHECK(wire_has(&one, "\r\nX-Test: a??b\r\n"));
    CHECK(!wire_has(&one, "Connection:"));
    CHECK(!wire_has(&one, "Server:"));
    buf_add_char(&one, '\0');
    id = memmem(one.data, one.len, "X-Request-Id: ", 14);
    if (id == NULL)
        abort();
    CHECK(strcspn(id + 14, "\r") >= 16);
    CHECK(memmem(two.data, two.len, id, 14 + strcspn(id + 14, "\r")) == NULL);
    close(fd);
    buf_done(&one);
    buf_done(&two);
    wire_stop(&w);
}

TEST(pipelined_requests_are_answered_in_order_however_late)
{
    struct wire w;
    int fd, other;

    wire_start(&w, NULL, 1, NULL);
    fd = wire_connect(&w);
    other = wire_connect(&w);
    wire_say(fd, "GET /held1 HTTP/1.1\r\n" HOST "\r\nGET /a HTTP/1.1\r\n" HOST "\r\n"
                 "GET /held2 HTTP/1.1\r\n" HOST "\r\nGET /b HTTP/1.1\r\n" HOST "\r\n");
    (void)wire_held(&w, 0);
    wire_say(other, "GET /other HTTP/1.1\r\n" HOST "\r\n"); /* clients do not wait for others */
    check_reply(other, 200, "GET /other []");
    CHECK_INT(wire_count(&w, &w.n_held), 1); /* one at a time */
    wire_echo(wire_held(&w, 0));
    check_reply(fd, 200, "GET /held1 []");
    check_reply(fd, 200, "GET /a []");
    wire_echo(wire_held(&w, 1));
    check_reply(fd, 200, "GET /held2 []");
    check_reply(fd, 200, "GET /b []");
    close(fd);
    close(other);
    wire_stop(&w);
}

TEST(a_client_that_has_finished_sending_still_gets_its_answers)
{
    struct wire w;
    int fd;

    wire_start(&w, NULL, 1, NULL);
    fd = wire_connect(&w);
    wire_say(fd, "GET /held HTTP/1.1\r\n" HOST "\r\nGET /a HTTP/1.1\r\n" HOST "\r\n");
    shutdown(fd, SHUT_WR);
    wire_echo(wire_held(&w, 0));
    check_reply(fd, 200, "GET /held []");
    check_reply(fd, 200, "GET /a []");
    check_end(fd);
    wire_stop(&w);
}

TEST(the_answer_to_a_client_that_has_gone_is_dropped)
{
    struct wire w;
    struct linger at_once = { .l_onoff = 1 };
    int fd;

    wire_start(&w, NULL, 1, NULL);
    for (unsigned i = 0; i < 3; i++) {
        char *body = mem_strdup("late");

        fd = wire_connect(&w);
        wire_say(fd, "GET /held HTTP/1.1\r\n" HOST "\r\n");
        (void)wire_held(&w, i);
        if (i > 0) /* a reset, which the server sees; otherwise it meets the closed socket */
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        close(fd);
        if (i == 2) {
            while (http_server_connections(w.server) > 0)
                continue;
        }
        http_reply(wire_held(&w, i), &(struct http_reply){ .status = 200,
                                                           .content_type = "text/plain",
                                                           .body = str_of(body),
                                                           .body_take = body });
        wire_wait(&w, &w.n_done, i + 1);
    }
    fd = wire_connect(&w);
    wire_say(fd, "GET /a HTTP/1.1\r\n" HOST "\r\n");
    check_reply(fd, 200, "GET /a []");
    close(fd);
    wire_stop(&w);
}

TEST(continue_is_said_only_when_the_body_is_wanted)
{
    struct wire w;
    struct buf out;
    int fd;

    wire_start(&w, NULL, 1, NULL);
    buf_init(&out, KIB(4));
    fd = wire_connect(&w);
    wire_say(fd, "POST /a HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    CHECK_INT(wire_read_reply(fd, &out, true), 100);
    wire_say(fd, "abc");
    check_reply(fd, 200, "POST /a [abc]");
    /* The body came along: there is nothing to wait for. */
    wire_say(fd,
             "POST /b HTTP/1.1\r\n" HOST "Expect: 100-Continue\r\nContent-Length: 3\r\n\r\nabc");
    check_reply(fd, 200, "POST /b [abc]");
    wire_say(fd, "POST /c HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n\r\n"); /* no body at all */
    check_reply(fd, 200, "POST /c []");
    wire_say(fd,
             "POST /early HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    CHECK_INT(wire_read_reply(fd, &out, false), 401);
    CHECK(wire_has(&out, "Connection: close"));
    check_end(fd);
    fd = wire_connect(&w);
    wire_say(fd,
             "POST /limit2 HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    CHECK_INT(wire_read_reply(fd, &out, false), 413);
    CHECK(wire_has(&out, "Connection: close"));
    check_end(fd);
    buf_done(&out);
    wire_stop(&w);
}

/* Sends a body of `size` bytes to a route that takes `limit`; returns how many could be sent. */
static size_t send_too_much(int fd, size_t limit, size_t size)
{
    static const char zeros[KIB(64)];
    char head[128];
    size_t sent = 0;

    (void)snprintf(head, sizeof(head),
                   "POST /limit%zu HTTP/1.1\r\n" HOST "Content-Length: %zu\r\n\r\n", limit, size);
    wire_say(fd, head);
    while (sent < size) {
        size_t left = size - sent < sizeof(zeros) ? size - sent : sizeof(zeros);
        ssize_t n = send(fd, zeros, left, MSG_NOSIGNAL);

        if (n < 0)
            break;
        sent += (size_t)n;
    }
    return sent;
}

TEST(a_client_that_sends_a_body_to_its_end_still_reads_that_it_was_too_large)
{
    struct wire w;
    int fd;

    wire_start(&w, NULL, 1, NULL);
    fd = wire_connect(&w);
    CHECK_INT(send_too_much(fd, MIB(4), MIB(16)), MIB(16));
    check_reply(fd, 413, NULL);
    check_end(fd);
    fd = wire_connect(&w); /* it is bounded */
    CHECK(send_too_much(fd, 1000, MIB(64)) < MIB(64));
    close(fd);
    wire_stop(&w);
}

TEST(head_is_answered_like_get_without_the_body)
{
    struct wire w;
    struct buf out;
    int fd;

    wire_start(&w, NULL, 1, NULL);
    buf_init(&out, KIB(4));
    fd = wire_connect(&w);
    wire_say(fd, "HEAD /a HTTP/1.1\r\n" HOST "\r\nGET /b HTTP/1.1\r\n" HOST "\r\n");
    CHECK_INT(wire_read_reply(fd, &out, true), 200);
    CHECK(wire_has(&out, "Content-Length: 10\r\n"));
    check_reply(fd, 200, "GET /b []");
    close(fd);
    buf_done(&out);
    wire_stop(&w);
}

TEST(http_1_0_is_told_when_the_connection_stays)
{
    struct wire w;
    struct buf out;
    int fd;

    wire_start(&w, NULL, 1, NULL);
    buf_init(&out, KIB(4));
    fd = wire_connect(&w);
    wire_say(fd, "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    CHECK_INT(wire_read_reply(fd, &out, false), 200);
    CHECK(wire_has(&out, "Connection: keep-alive\r\n"));
    wire_say(fd, "GET /a HTTP/1.0\r\n\r\n");
    CHECK_INT(wire_read_reply(fd, &out, false), 200);
    CHECK(wire_has(&out, "Connection: close\r\n"));
    check_end(fd);
    buf_done(&out);
    wire_stop(&w);
}

/* `text`, `times` over, as gzip. */
static size_t gzip_of(const char *text, size_t times, unsigned char *ret, size_t size)
{
    z_stream z = { 0 };

    CHECK_INT(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_out = ret;
    z.avail_out = (uInt)size;
    for (size_t i = 0; i < times; i++) {
        z.next_in = (const Bytef *)text;
        z.avail_in = (uInt)strlen(text);
        CHECK_INT(deflate(&z, Z_NO_FLUSH), Z_OK);
    }
    CHECK_INT(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return size - z.avail_out;
}

static int post_gzip(struct wire *w, const char *path, struct str bytes, const char *expected)
{
    struct buf out;
    struct wire_reply reply;
    int fd = wire_connect(w);

    buf_init(&out, MIB(1));
    buf_printf(&out, "POST %s HTTP/1.1\r\n" HOST "Content-Encoding: gzip\r\n", path);
    buf_printf(&out, "Content-Length: %zu\r\n\r\n", bytes.len);
    buf_add(&out, bytes);
    wire_send(fd, buf_str(&out));
    reply.status = wire_read_reply(fd, &out, false);
    if (expected != NULL) {
        (void)wire_parse(buf_str(&out), &reply);
        CHECK_STR(str_from(out.data + reply.head_len, reply.length), expected);
    }
    buf_done(&out);
    close(fd);
    return reply.status;
}

TEST(gzip_bodies_are_inflated_up_to_the_limit_and_corrupt_ones_refused)
{
    static unsigned char bytes[MIB(1)];
    struct wire w;
    size_t n = gzip_of("hello", 1, bytes, sizeof(bytes));

    wire_start(&w, NULL, 1, NULL);
    memcpy(bytes + n, bytes, n);
    CHECK_INT(post_gzip(&w, "/", str_from((char *)bytes, n), "POST / [hello]"), 200);
    CHECK_INT(post_gzip(&w, "/", str_from((char *)bytes, 2 * n), "POST / [hellohello]"), 200);
    for (size_t cut = 1; cut < n; cut++)
        CHECK_INT(post_gzip(&w, "/", str_from((char *)bytes, cut), NULL), 400);
    bytes[n] ^= 1; /* what follows is no gzip member */
    CHECK_INT(post_gzip(&w, "/", str_from((char *)bytes, n + 1), NULL), 400);
    bytes[n - 6] ^= 1; /* the checksum */
    CHECK_INT(post_gzip(&w, "/", str_from((char *)bytes, n), NULL), 400);
    n = gzip_of("0123456789", 10, bytes, sizeof(bytes));
    CHECK(n < 99);
    CHECK_INT(post_gzip(&w, "/limit99", str_from((char *)bytes, n), NULL), 413);
    CHECK_INT(post_gzip(&w, "/limit100", str_from((char *)bytes, n), NULL), 200);
    CHECK_INT(post_gzip(&w, "/limit101", str_from((char *)bytes, n), NULL), 200);
    n = gzip_of("0000000000000000000000000000000000000000", 1000000, bytes, sizeof(bytes));
    CHECK(n < 50000);
    CHECK_INT(post_gzip(&w, "/", str_from((char *)bytes, n), NULL), 413); /* 40 MB of nothing */
    wire_stop(&w);
}

TEST(an_early_answer_reaches_a_client_that_is_still_sending)
{
    static char body[200000];
    struct wire w;
    struct buf out;
    int fd;

    wire_start(&w, NULL, 1, NULL);
    buf_init(&out, KIB(4));
    fd = wire_connect(&w);
    wire_say(fd, "POST /early HTTP/1.1\r\n" HOST "Content-Length: 1000000\r\n\r\n");
    CHECK(wire_send(fd, str_from(body, sizeof(body))));
    CHECK_INT(wire_read_reply(fd, &out, false), 401);
    CHECK(wire_has(&out, "Connection: close"));
    check_end(fd);
    fd = wire_connect(&w); /* small enough to be read past */
    wire_say(fd, "POST /early HTTP/1.1\r\n" HOST "Content-Length: 65536\r\n\r\n");
    CHECK_INT(wire_read_reply(fd, &out, false), 401);
    CHECK(!wire_has(&out, "Connection: close"));
    CHECK(wire_send(fd, str_from(body, 65536)));
    wire_say(fd, "GET /next HTTP/1.1\r\n" HOST "\r\n");
    check_reply(fd, 200, "GET /next []");
    close(fd);
    buf_done(&out);
    wire_stop(&w);
}

TEST(a_reply_larger_than_the_socket_takes_arrives_whole)
{
    struct wire w;
    struct buf out;
    int fd;

    wire_start(&w, NULL, 1, NULL);
    w.large_len = MIB(12);
    buf_init(&out, MIB(16));
    fd = wire_connect(&w);
    wire_say(fd, "GET /large HTTP/1.1\r\n" HOST "\r\nGET /a HTTP/1.1\r\n" HOST "\r\n");
    CHECK_INT(wire_read_reply(fd, &out, false), 200);
    CHECK(out.len > MIB(12));
    check_reply(fd, 200, "GET /a []");
    close(fd);
    buf_done(&out);
    wire_stop(&w);
}

static void *answer_all(void *arg)
{
    struct wire *w = arg;

    for (unsigned i = 0; i < 400; i++)
        wire_echo(wire_held(w, i));
    return NULL;
}

TEST(answers_from_another_thread_reach_the_right_loop_and_client)
{
    enum { CLIENTS = 20, EACH = 20 };
    struct wire w;
    pthread_t worker;
    int fds[CLIENTS];

    wire_start(&w, NULL, 3, NULL);
    CHECK_INT(pthread_create(&worker, NULL, answer_all, &w), 0);
    for (unsigned i = 0; i < CLIENTS; i++)
        fds[i] = wire_connect(&w);
    for (unsigned round = 0; round < EACH; round++) {
        char text[128];

        for (unsigned i = 0; i < CLIENTS; i++) {
            (void)snprintf(text, sizeof(text),
                           "POST /held%u HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc", i);
            wire_say(fds[i], text);
        }
        for (unsigned i = 0; i < CLIENTS; i++) {
            (void)snprintf(text, sizeof(text), "POST /held%u [abc]", i);
            check_reply(fds[i], 200, text);
        }
    }
    for (unsigned i = 0; i < CLIENTS; i++)
        close(fds[i]);
    pthread_join(worker, NULL);
    wire_wait(&w, &w.n_done, CLIENTS * EACH);
    wire_stop(&w);
}

TEST(a_port_that_is_taken_is_not_shared)
{
    struct wire w;
    struct http_app app = { 0 };
    struct http_options options = { .host = "127.0.0.1", .loops = 1 };
    struct http_server *second = NULL;
    struct error err = { 0 };

    wire_start(&w, NULL, 2, NULL);
    options.port = http_server_port(w.server);
    options.limits = http_default_limits;
    CHECK_INT(http_server_new(&options, &app, &second, &err), -1);
    CHECK(strstr(err.text, "in use") != NULL);
    options.host = "localhost";
    CHECK_INT(http_server_new(&options, &app, &second, &err), -1);
    CHECK_INT(err.code, ERR_INVALID);
    CHECK(second == NULL);
    wire_stop(&w);
}

static int connect_unix(const char *path)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    memcpy(to.sun_path, path, strlen(path) + 1);
    return connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 ? fd : -1;
}

/* As another user: 0 when the server closes without a word. */
static int visit_as_stranger(const char *path)
{
    char byte;
    int fd;

    if (setgid(65534) != 0 || setuid(65534) != 0)
        return 3;
    fd = connect_unix(path);
    if (fd < 0)
        return 2;
    (void)send(fd, "GET / HTTP/1.0\r\n\r\n", 18, MSG_NOSIGNAL);
    return wire_recv(fd, &byte, 1, 0) > 0;
}

TEST(the_unix_socket_is_for_its_own_user_alone)
{
    char directory[] = "/tmp/muster-test-XXXXXX", path[64];
    struct stat info;
    struct wire w;
    int fd, status;

    CHECK(mkdtemp(directory) != NULL);
    (void)snprintf(path, sizeof(path), "%s/socket", directory);
    wire_start(&w, NULL, 2, path);
    CHECK_INT(stat(path, &info), 0);
    CHECK_INT(info.st_mode & 07777, 0600);
    fd = connect_unix(path);
    if (fd < 0)
        abort();
    wire_say(fd, "GET /a HTTP/1.1\r\n" HOST "\r\n");
    check_reply(fd, 200, "GET /a []");
    CHECK_INT(wire_count(&w, &w.operators), 1);
    close(fd);
    if (geteuid() == 0) {
        pid_t child;

        CHECK_INT(chmod(directory, 0755), 0); /* so that only the server keeps strangers out */
        CHECK_INT(chmod(path, 0666), 0);
        child = fork();
        if (child == 0)
            _exit(visit_as_stranger(path));
        CHECK(waitpid(child, &status, 0) == child);
        CHECK_INT(WEXITSTATUS(status), 0);
        CHECK_INT(wire_count(&w, &w.n_heads), 1);
    }
    wire_stop(&w);
    CHECK(stat(path, &info) != 0);
    rmdir(directory);
}
