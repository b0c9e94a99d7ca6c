/* test_limits.c - bounds of size, time and number, at and around each bound. */
#include <poll.h>
#include <stdio.h>

#include "base/address.h"
#include "base/clock.h"
#include "hooks/clock_hook.h"
#include "unit/http/wire.h"

#define HOST "Host: h\r\n"

/* The status of the only request in `bytes`; 0 when there is no answer. */
static int status_of(const struct wire *w, const struct buf *bytes)
{
    struct buf out;
    int fd = wire_connect(w), status;

    buf_init(&out, MIB(1));
    (void)wire_send(fd, buf_str(bytes));
    shutdown(fd, SHUT_WR);
    status = wire_read_reply(fd, &out, false);
    buf_done(&out);
    close(fd);
    return status;
}

static void fill(struct buf *b, char c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_add_char(b, c);
}

TEST(the_target_may_be_as_long_as_the_limit_and_not_longer)
{
    struct http_limits limits = http_default_limits;
    struct buf bytes;
    struct wire w;

    limits.target_max = 100;
    wire_start(&w, &limits, 1, NULL);
    buf_init(&bytes, MIB(1));
    for (size_t n = 99; n <= 101; n++) {
        buf_clear(&bytes);
        buf_add_c(&bytes, "GET /");
        fill(&bytes, 'a', n - 1);
        buf_add_c(&bytes, " HTTP/1.1\r\n" HOST "\r\n");
        CHECK_INT(status_of(&w, &bytes), n <= 100 ? 200 : 414);
    }
    buf_clear(&bytes); /* refused before its end has come */
    buf_add_c(&bytes, "GET /");
    fill(&bytes, 'a', 500);
    CHECK_INT(status_of(&w, &bytes), 414);
    buf_done(&bytes);
    wire_stop(&w);
}

TEST(header_lines_may_be_as_long_and_as_many_as_the_limits)
{
    struct http_limits limits = http_default_limits;
    struct buf bytes;
    struct wire w;

    limits.header_max = 200;
    limits.header_fields = 5;
    wire_start(&w, &limits, 1, NULL);
    buf_init(&bytes, MIB(1));
    for (size_t n = 199; n <= 201; n++) {
        buf_clear(&bytes);
        buf_add_c(&bytes, "GET / HTTP/1.1\r\n" HOST "X: ");
        fill(&bytes, 'a', n - strlen(HOST) - strlen("X: \r\n"));
        buf_add_c(&bytes, "\r\n\r\n");
        CHECK_INT(status_of(&w, &bytes), n <= 200 ? 200 : 431);
    }
    for (size_t n = 4; n <= 6; n++) {
        buf_clear(&bytes);
        buf_add_c(&bytes, "GET / HTTP/1.1\r\n" HOST);
        for (size_t i = 1; i < n; i++)
            buf_add_c(&bytes, "X: a\r\n");
        buf_add_c(&bytes, "\r\n");
        CHECK_INT(status_of(&w, &bytes), n <= 5 ? 200 : 431);
    }
    buf_clear(&bytes); /* refused before its end has come */
    buf_add_c(&bytes, "GET / HTTP/1.1\r\n" HOST "X: ");
    fill(&bytes, 'a', 500);
    CHECK_INT(status_of(&w, &bytes), 431);
    buf_done(&bytes);
    wire_stop(&w);
}

TEST(a_body_may_be_as_long_as_the_limit_by_length_or_in_chunks)
{
    struct buf bytes;
    struct wire w;

    wire_start(&w, NULL, 1, NULL);
    buf_init(&bytes, MIB(1));
    for (size_t n = 199; n <= 201; n++) {
        buf_clear(&bytes);
        buf_printf(&bytes, "POST /limit200 HTTP/1.1\r\n" HOST "Content-Length: %zu\r\n\r\n", n);
        fill(&bytes, 'a', n);
        CHECK_INT(status_of(&w, &bytes), n <= 200 ? 200 : 413);
        buf_clear(&bytes);
        buf_add_c(&bytes, "POST /limit200 HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n");
        buf_printf(&bytes, "64\r\n");
        fill(&bytes, 'a', 100);
        buf_printf(&bytes, "\r\n%zx\r\n", n - 100);
        fill(&bytes, 'a', n - 100);
        buf_add_c(&bytes, "\r\n0\r\n\r\n");
        CHECK_INT(status_of(&w, &bytes), n <= 200 ? 200 : 413);
    }
    buf_done(&bytes);
    wire_stop(&w);
}

TEST(chunk_extensions_and_trailers_are_bounded)
{
    static const struct {
        size_t extension, trailer, zeros;
        int status;
    } rows[] = {
        { 255, 0, 0, 200 },  { 256, 0, 0, 200 },  { 257, 0, 0, 400 },  { 9000, 0, 0, 400 },
        { 0, 3000, 0, 200 }, { 0, 5000, 0, 400 }, { 0, 0, 1000, 200 }, { 0, 0, 5000, 400 },
    };
    struct buf bytes;
    struct wire w;

    wire_start(&w, NULL, 1, NULL);
    buf_init(&bytes, MIB(1));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        buf_clear(&bytes);
        buf_add_c(&bytes, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n");
        fill(&bytes, '0', rows[i].zeros);
        buf_add_c(&bytes, "1");
        if (rows[i].extension > 0)
            buf_add_char(&bytes, ';');
        fill(&bytes, 'e', rows[i].extension);
        buf_add_c(&bytes, "\r\na\r\n0\r\nX: ");
        fill(&bytes, 't', rows[i].trailer);
        buf_add_c(&bytes, "\r\n\r\n");
        CHECK_INT(status_of(&w, &bytes), rows[i].status);
    }
    buf_done(&bytes);
    wire_stop(&w);
}

static size_t resident_pages(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    char line[128] = "";
    char *rest;

    if (file == NULL)
        abort();
    CHECK(fgets(line, sizeof(line), file) != NULL);
    (void)fclose(file);
    (void)strtoul(line, &rest, 10);
    return strtoul(rest, NULL, 10);
}

TEST(an_announced_length_costs_nothing)
{
    enum { CLIENTS = 64 };
    struct wire w;
    int fds[CLIENTS];
    size_t before;

    wire_start(&w, NULL, 1, NULL);
    before = resident_pages();
    for (unsigned i = 0; i < CLIENTS; i++) {
        fds[i] = wire_connect(&w);
        wire_say(fds[i], "POST /limit2000000000000 HTTP/1.1\r\n" HOST
                         "Content-Length: 1000000000000\r\n\r\nabc");
    }
    wire_wait(&w, &w.n_heads, CLIENTS);
    CHECK((resident_pages() - before) * 4096 / CLIENTS < KIB(64));
    for (unsigned i = 0; i < CLIENTS; i++)
        close(fds[i]);
    wire_stop(&w);
}

/* What the server sends to a client that says `text` and then nothing more. */
static int silence_after(struct wire *w, const char *text, struct buf *out)
{
    struct wire_reply reply;
    int fd = wire_connect(w);

    buf_clear(out);
    wire_say(fd, text);
    CHECK(wire_read_all(fd, out));
    close(fd);
    (void)wire_parse(buf_str(out), &reply);
    return reply.status;
}

TEST(slow_clients_are_told_and_idle_ones_are_not)
{
    struct http_limits limits = http_default_limits;
    struct buf out;
    struct wire w;

    limits.header_ms = limits.body_ms = 30;
    limits.idle_ms = 500; /* a client may be slow to speak first */
    wire_start(&w, &limits, 1, NULL);
    buf_init(&out, KIB(64));
    CHECK_INT(silence_after(&w, "", &out), 0);
    CHECK_INT(out.len, 0);
    CHECK_INT(silence_after(&w, "GET / HT", &out), 408);
    CHECK_INT(silence_after(&w, "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nab", &out),
              408);
    CHECK_INT(silence_after(&w, "GET / HTTP/1.1\r\n" HOST "\r\n", &out), 200);
    CHECK_INT(silence_after(&w, "POST /early HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\n", &out),
              401);
    buf_done(&out);
    wire_stop(&w);
}

/* Seconds until a body of this head that comes in drops is given up. */
static double seconds_of_drops(const char *head, const char *drop)
{
    struct http_limits limits = http_default_limits;
    struct pollfd answer;
    struct buf out;
    struct wire w;
    int64_t began_us;
    double seconds;

    limits.body_ms = 10000; /* without a drop, too */
    wire_start(&w, &limits, 1, NULL);
    buf_init(&out, KIB(64));
    answer = (struct pollfd){ .fd = wire_connect(&w), .events = POLLIN };
    wire_say(answer.fd, head);
    began_us = clock_mono_us();
    /* the clock moves eleven times as fast as time: a loop that looks late sees little more of it
     */
    for (int i = 0; i < 1000 && poll(&answer, 1, 20) == 0; i++) {
        wire_say(answer.fd, drop);
        clock_advance_us(200000);
    }
    seconds = (double)(clock_mono_us() - began_us) / (double)USEC_PER_SEC;
    CHECK_INT(wire_read_reply(answer.fd, &out, false), 408);
    close(answer.fd);
    buf_done(&out);
    wire_stop(&w);
    return seconds;
}

TEST(a_body_has_as_long_as_its_size_takes_at_64_kib_per_second)
{
    /* the loop looks every quarter of a second, and the clock moves on meanwhile */
    double short_one =
        seconds_of_drops("POST / HTTP/1.1\r\n" HOST "Content-Length: 60000\r\n\r\n", "x");
    double long_one =
        seconds_of_drops("POST / HTTP/1.1\r\n" HOST "Content-Length: 655360\r\n\r\n", "x");
    double chunked = seconds_of_drops(
        "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n");

    CHECK(short_one >= 10.8 && short_one < 19.9);
    CHECK(long_one >= 19.9);
    CHECK(chunked >= 9.9 && chunked < 19);
}

TEST(a_reader_that_takes_nothing_is_dropped)
{
    struct http_limits limits = http_default_limits;
    struct talk t;

    limits.write_ms = 30;
    talk_begin(&t, &limits);
    t.w.large_len = MIB(32);
    wire_say(t.fd, "GET /large HTTP/1.1\r\n" HOST "\r\n");
    wire_wait(&t.w, &t.w.n_done, 1);
    while (http_server_connections(t.w.server) > 0)
        continue;
    talk_end(&t);
}

/* Connects until the server has room; each refusal is a whole 503. */
static int connect_with_room(const struct wire *w)
{
    for (;;) {
        struct buf out;
        int fd = wire_connect(w), status;

        buf_init(&out, KIB(4));
        wire_say(fd, "GET / HTTP/1.1\r\n" HOST "\r\n");
        status = wire_read_reply(fd, &out, false);
        buf_done(&out);
        if (status == 200)
            return fd;
        CHECK_INT(status, 503);
        close(fd);
    }
}

static void check_third_is_refused(struct budgets *budgets)
{
    struct buf out;
    struct wire w;
    int one, two, three;

    wire_start_sharing(&w, budgets);
    buf_init(&out, KIB(4));
    one = connect_with_room(&w);
    two = connect_with_room(&w);
    three = wire_connect(&w);
    CHECK_INT(wire_read_reply(three, &out, false), 503);
    CHECK(wire_has(&out, "Connection: close"));
    CHECK_INT(http_server_connections(w.server), 2);
    close(one);
    one = connect_with_room(&w);
    close(one);
    close(two);
    close(three);
    buf_done(&out);
    wire_stop(&w);
}

TEST(connections_beyond_the_limits_get_503)
{
    struct budgets budgets;

    budgets_init(&budgets);
    budgets.service_level.max[BUDGET_CONNECTIONS] = 2;
    check_third_is_refused(&budgets);
    CHECK_INT(budget_used(&budgets.service, BUDGET_CONNECTIONS), 0);
    budgets_init(&budgets);
    budgets.address_level.max[BUDGET_CONNECTIONS] = 2;
    check_third_is_refused(&budgets);
    CHECK_INT(budget_used(&budgets.service, BUDGET_CONNECTIONS), 0);
}

TEST(an_exempt_address_may_have_any_number_of_connections)
{
    static const struct address_prefix loopback = { { ADDRESS_V4, { 127 } }, 8 };
    static const struct address_list exempt = { &loopback, 1 };
    struct http_options options = {
        .host = "127.0.0.1", .loops = 1, .limits = http_default_limits, .exempt = &exempt
    };
    struct budgets budgets;
    struct wire w;
    int fds[3];

    budgets_init(&budgets);
    budgets.address_level.max[BUDGET_CONNECTIONS] = 1;
    options.budgets = &budgets;
    wire_start_with(&w, &options);
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        fds[i] = connect_with_room(&w);
    CHECK_INT(http_server_connections(w.server), 3);
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        close(fds[i]);
    wire_stop(&w);
}
