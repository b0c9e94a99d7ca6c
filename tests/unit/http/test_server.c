/* test_server.c - requests and replies over real connections: order, late answers, bodies. */
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define ZLIB_CONST
#include <zlib.h>

#include "unit/http/wire.h"

#define HOST "Host: h\r\n"

/* One step of an exchange: what the client says (NULL: nothing), and what it then reads. */
struct step {
    const char *say;
    int status;           /* 0: nothing is read */
    const char *has;      /* in the reply; NULL: any */
    const char *has_not;  /* NULL: any */
    bool is_head, is_end; /* no body follows; then the server closes */
};

enum { STEPS_MAX = 4 };

#define POST(path, more) "POST " path " HTTP/1.1\r\n" HOST more "\r\n"
#define GET(path)        "GET " path " HTTP/1.1\r\n" HOST "\r\n"
#define EXPECTS          "Expect: 100-continue\r\n"
#define THREE            "Content-Length: 3\r\n"
#define CLOSES           "Connection: close\r\n"

#define SAY(text, answer, ...) { .say = (text), .status = (answer), .has = __VA_ARGS__ }

/* clang-format off */
static const struct {
    const char *name;
    struct step steps[STEPS_MAX];
} exchanges[] = {
    { "100 is said to who waits for it", {
        SAY(POST("/a", EXPECTS THREE), 100, NULL, .is_head = true), SAY("abc", 200, "POST /a [abc]") } },
    { "not when the body came along, nor when there is none", {
        SAY(POST("/b", "Expect: 100-Continue\r\n" THREE) "abc", 200, "POST /b [abc]", .has_not = "100 Continue"),
        SAY(POST("/c", EXPECTS), 200, "POST /c []", .has_not = "100 Continue") } },
    { "nor when it is not wanted", {
        SAY(POST("/early", EXPECTS THREE), 401, CLOSES, .is_end = true) } },
    { "nor when it is too large", {
        SAY(POST("/limit2", EXPECTS THREE), 413, CLOSES, .is_end = true) } },
    { "head is answered like get without the body", {
        SAY("HEAD /a HTTP/1.1\r\n" HOST "\r\n" GET("/b"), 200, "Content-Length: 10\r\n", .is_head = true),
        SAY(NULL, 200, "GET /b []") } },
    { "http 1.0 is told when the connection stays", {
        SAY("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, "Connection: keep-alive\r\n"),
        SAY("GET /a HTTP/1.0\r\n\r\n", 200, CLOSES, .is_end = true) } },
    { "a request that waits after its head", { /* the test lets it go on */
        SAY(GET("/wait"), 200, "GET /wait []"), SAY(GET("/next"), 200, "GET /next []") } },
    { "with a body", {
        SAY(POST("/wait", THREE) "abc" GET("/next"), 200, "POST /wait [abc]"), SAY(NULL, 200, "GET /next []") } },
    { "in chunks", {
        SAY(POST("/wait", "Transfer-Encoding: chunked\r\n") "3\r\nabc\r\n0\r\n\r\n" GET("/next"), 200, "POST /wait [abc]"),
        SAY(NULL, 200, "GET /next []") } },
    { "that comes later", {
        SAY(POST("/wait", THREE) "a", 0, NULL), SAY("bc", 200, "POST /wait [abc]") } },
};
/* clang-format on */

static void read_on(struct http_exchange *x)
{
    http_read_on(x);
}

static void take_step(struct wire *w, int fd, const struct step *step, struct buf *out)
{
    const unsigned waiting = wire_count(w, &w->n_held);

    if (step->say != NULL)
        wire_say(fd, step->say);
    if (step->say != NULL && strstr(step->say, " /wait ") != NULL)
        http_resume(wire_held(w, waiting), read_on);
    if (step->status == 0)
        return;
    CHECK_INT(wire_read_reply(fd, out, step->is_head), step->status);
    CHECK(step->has == NULL || wire_has(out, step->has));
    CHECK(step->has_not == NULL || !wire_has(out, step->has_not));
    if (step->is_end)
        wire_check_end(fd);
}

TEST(exchanges_go_as_the_table_says)
{
    struct talk t;

    talk_begin(&t, NULL);
    for (size_t i = 0; i < COUNT_OF(exchanges); i++) {
        int fd = wire_connect(&t.w);

        print_message("%s\n", exchanges[i].name);
        for (size_t n = 0; n < STEPS_MAX; n++)
            take_step(&t.w, fd, &exchanges[i].steps[n], &t.out);
        close(fd);
    }
    talk_end(&t);
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
    struct talk t;
    int other;

    talk_begin(&t, NULL);
    other = wire_connect(&t.w);
    wire_say(t.fd, "GET /held1 HTTP/1.1\r\n" HOST "\r\nGET /a HTTP/1.1\r\n" HOST "\r\n"
                   "GET /held2 HTTP/1.1\r\n" HOST "\r\nGET /b HTTP/1.1\r\n" HOST "\r\n");
    (void)wire_held(&t.w, 0);
    wire_say(other, "GET /other HTTP/1.1\r\n" HOST "\r\n"); /* clients do not wait for others */
    wire_check(other, 200, "GET /other []");
    CHECK_INT(wire_count(&t.w, &t.w.n_held), 1); /* one at a time */
    wire_echo(wire_held(&t.w, 0));
    wire_check(t.fd, 200, "GET /held1 []");
    wire_check(t.fd, 200, "GET /a []");
    wire_echo(wire_held(&t.w, 1));
    wire_check(t.fd, 200, "GET /held2 []");
    wire_check(t.fd, 200, "GET /b []");
    close(other);
    talk_end(&t);
}

TEST(a_client_that_has_finished_sending_still_gets_its_answers)
{
    struct talk t;

    talk_begin(&t, NULL);
    wire_say(t.fd, "GET /held HTTP/1.1\r\n" HOST "\r\nGET /a HTTP/1.1\r\n" HOST "\r\n");
    shutdown(t.fd, SHUT_WR);
    wire_echo(wire_held(&t.w, 0));
    wire_check(t.fd, 200, "GET /held []");
    wire_check(t.fd, 200, "GET /a []");
    wire_check_end(t.fd);
    talk_end(&t);
}

TEST(the_answer_to_a_client_that_has_gone_is_dropped)
{
    struct talk t;

    talk_begin(&t, NULL);
    for (unsigned i = 0; i < 3; i++) {
        char *body = mem_strdup("late");
        int fd = wire_connect(&t.w);

        wire_say(fd, "GET /held HTTP/1.1\r\n" HOST "\r\n");
        (void)wire_held(&t.w, i);
        if (i == 0) /* the server meets the closed socket */
            close(fd);
        else
            wire_reset(fd);
        while (i == 2 && http_server_connections(t.w.server) > 1)
            continue;
        http_reply(wire_held(&t.w, i), &(struct http_reply){ .status = 200,
                                                             .content_type = "text/plain",
                                                             .body = str_of(body),
                                                             .body_take = body });
        wire_wait(&t.w, &t.w.n_done, i + 1);
    }
    wire_say(t.fd, "GET /a HTTP/1.1\r\n" HOST "\r\n");
    wire_check(t.fd, 200, "GET /a []");
    talk_end(&t);
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
    struct talk t;

    talk_begin(&t, NULL);
    CHECK_INT(send_too_much(t.fd, MIB(4), MIB(16)), MIB(16));
    wire_check(t.fd, 413, NULL);
    wire_check_end(t.fd);
    close(t.fd);
    t.fd = wire_connect(&t.w); /* it is bounded */
    CHECK(send_too_much(t.fd, 1000, MIB(64)) < MIB(64));
    talk_end(&t);
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
    struct talk t;

    talk_begin(&t, NULL);
    wire_say(t.fd, "POST /early HTTP/1.1\r\n" HOST "Content-Length: 1000000\r\n\r\n");
    CHECK(wire_send(t.fd, str_from(body, sizeof(body))));
    CHECK_INT(wire_read_reply(t.fd, &t.out, false), 401);
    CHECK(wire_has(&t.out, "Connection: close"));
    wire_check_end(t.fd);
    close(t.fd);
    t.fd = wire_connect(&t.w); /* small enough to be read past */
    wire_say(t.fd, "POST /early HTTP/1.1\r\n" HOST "Content-Length: 65536\r\n\r\n");
    CHECK_INT(wire_read_reply(t.fd, &t.out, false), 401);
    CHECK(!wire_has(&t.out, "Connection: close"));
    CHECK(wire_send(t.fd, str_from(body, 65536)));
    wire_say(t.fd, "GET /next HTTP/1.1\r\n" HOST "\r\n");
    wire_check(t.fd, 200, "GET /next []");
    talk_end(&t);
}

TEST(a_reply_larger_than_the_socket_takes_arrives_whole)
{
    struct talk t;

    talk_begin(&t, NULL);
    t.w.large_len = MIB(12);
    wire_say(t.fd, "GET /large HTTP/1.1\r\n" HOST "\r\nGET /a HTTP/1.1\r\n" HOST "\r\n");
    CHECK_INT(wire_read_reply(t.fd, &t.out, false), 200);
    CHECK(t.out.len > MIB(12));
    wire_check(t.fd, 200, "GET /a []");
    talk_end(&t);
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
            wire_check(fds[i], 200, text);
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
    wire_check(fd, 200, "GET /a []");
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

static void say_no(struct http_exchange *x)
{
    wire_answer(x, 401, STR_LIT("no"));
}

TEST(a_request_that_waits_may_be_refused_unread)
{
    struct talk t;

    talk_begin(&t, NULL);
    wire_say(t.fd, "POST /wait HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nbody"
                   "GET /next HTTP/1.1\r\n" HOST "\r\n");
    http_resume(wire_held(&t.w, 0), say_no);
    wire_check(t.fd, 401, "no");
    wire_check(t.fd, 200, "GET /next []"); /* the body was skipped, not taken for a request */
    talk_end(&t);
}

TEST(a_client_that_leaves_while_it_waits_leaves_nothing_behind)
{
    struct talk t;

    talk_begin(&t, NULL);
    for (unsigned i = 0; i < 2; i++) {
        int fd = wire_connect(&t.w);

        wire_say(fd, "POST /wait HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nbo");
        (void)wire_held(&t.w, i);
        wire_reset(fd);
        wire_say(t.fd, "GET /a HTTP/1.1\r\n" HOST "\r\n"); /* the loop has seen the other go */
        wire_check(t.fd, 200, "GET /a []");
        http_resume(wire_held(&t.w, i), i == 0 ? read_on : say_no);
        wire_say(t.fd, "GET /b HTTP/1.1\r\n" HOST "\r\n");
        wire_check(t.fd, 200, "GET /b []");
    }
    talk_end(&t);
}
