/* test_charge.c - bodies and replies count for their callers; the slowest body makes room. */
#include "hooks/clock_hook.h"
#include "http/parser.h"
#include "wire.h"

#define HOST "Host: x\r\n"

enum { ROOM = 400 * 1024 };

static char bytes[KIB(300)];

/* 400 KiB for all bodies, of which a quarter is kept for small ones. */
static void start(struct wire *w, struct budgets *budgets)
{
    memset(bytes, 'x', sizeof(bytes));
    budgets_init(budgets);
    budgets->open_level.max[BUDGET_BODY_BYTES] = ROOM;
    budgets->open_level.kept[BUDGET_BODY_BYTES] = ROOM / 4;
    wire_start_sharing(w, budgets);
}

static void send_head(int fd, const char *path, size_t length)
{
    struct buf head;

    buf_init(&head, KIB(1));
    buf_printf(&head, "POST %s HTTP/1.1\r\n" HOST "Content-Length: %zu\r\n\r\n", path, length);
    CHECK(wire_send(fd, buf_str(&head)));
    buf_done(&head);
}

static void send_bytes(int fd, size_t n)
{
    CHECK(wire_send(fd, str_from(bytes, n)));
}

/* Until the server has counted this many bytes of bodies. */
static void wait_for(const struct budgets *budgets, int64_t n)
{
    while (budget_used(&budgets->service, BUDGET_BODY_BYTES) != n)
        usleep(1000);
}

TEST(a_body_counts_until_its_reply_and_others_are_refused_meanwhile)
{
    struct budgets budgets;
    struct wire w;
    int first, second;

    start(&w, &budgets);
    first = wire_connect(&w);
    second = wire_connect(&w);
    send_head(first, "/held", sizeof(bytes));
    send_bytes(first, sizeof(bytes));
    (void)wire_held(&w, 0);
    wait_for(&budgets, sizeof(bytes));
    send_head(second, "/a", KIB(200)); /* complete bodies are not evicted */
    send_bytes(second, KIB(200));
    wire_check(second, 503, "no room");
    wire_echo(wire_held(&w, 0));
    wire_check(first, 200, "POST /held");
    wait_for(&budgets, 0);
    close(first);
    close(second);
    wire_stop(&w);
}

TEST(small_bodies_have_room_that_large_ones_leave)
{
    struct budgets budgets;
    struct wire w;
    int large, small;

    start(&w, &budgets);
    large = wire_connect(&w);
    small = wire_connect(&w);
    send_head(large, "/held", sizeof(bytes));
    send_bytes(large, sizeof(bytes));
    (void)wire_held(&w, 0);
    send_head(small, "/a", KIB(64));
    send_bytes(small, KIB(64));
    wire_check(small, 200, "POST /a");
    wire_echo(wire_held(&w, 0));
    wire_check(large, 200, "POST /held");
    close(large);
    close(small);
    wire_stop(&w);
}

TEST(a_promised_body_holds_no_room_until_it_comes)
{
    struct budgets budgets;
    struct wire w;
    int idle, busy;

    start(&w, &budgets);
    idle = wire_connect(&w);
    busy = wire_connect(&w);
    send_head(idle, "/a", KIB(900));
    wire_wait(&w, &w.n_heads, 1);
    send_head(busy, "/b", sizeof(bytes));
    send_bytes(busy, sizeof(bytes));
    wire_check(busy, 200, "POST /b");
    close(idle);
    close(busy);
    wire_stop(&w);
}

/* Each of a few walks over the list must free as much as is needed, not one body. */
TEST(many_small_bodies_that_have_stalled_make_room_for_one)
{
    enum { MANY = 40, EACH = ROOM / MANY };
    int small[MANY], busy;
    struct budgets budgets;
    struct wire w;

    start(&w, &budgets);
    for (size_t i = 0; i < MANY; i++) {
        small[i] = wire_connect(&w);
        send_head(small[i], "/a", EACH + 1);
        send_bytes(small[i], EACH);
    }
    wait_for(&budgets, ROOM);
    clock_advance_us(2000000);
    busy = wire_connect(&w);
    send_head(busy, "/b", KIB(200));
    send_bytes(busy, KIB(200));
    wire_check(busy, 200, "POST /b");
    wire_check(small[0], 503, "too slowly"); /* the first was the slowest */
    for (size_t i = 0; i < MANY; i++)
        close(small[i]);
    close(busy);
    wire_stop(&w);
}

TEST(the_slowest_body_makes_room_once_it_has_stalled)
{
    struct budgets budgets;
    struct wire w;
    int stalled, busy;

    start(&w, &budgets);
    stalled = wire_connect(&w);
    busy = wire_connect(&w);
    send_head(stalled, "/a", sizeof(bytes));
    send_bytes(stalled, sizeof(bytes) - 1);
    wait_for(&budgets, sizeof(bytes) - 1);
    send_head(busy, "/b", KIB(200)); /* of the same caller: one that moves stays */
    send_bytes(busy, KIB(200));
    wire_check(busy, 503, "no room");
    close(busy);
    clock_advance_us(2000000);
    busy = wire_connect(&w);
    send_head(busy, "/c", KIB(200));
    send_bytes(busy, KIB(200));
    wire_check(busy, 200, "POST /c");
    wire_check(stalled, 503, "too slowly");
    wait_for(&budgets, 0);
    close(stalled);
    close(busy);
    wire_stop(&w);
}

TEST(a_reply_counts_until_its_client_has_taken_it_and_its_request_does_not)
{
    struct budgets budgets;
    struct wire w;
    int fd;

    start(&w, &budgets);
    w.large_len = MIB(32);
    fd = wire_connect(&w);
    send_head(fd, "/large", 1000);
    send_bytes(fd, 1000);
    while (budget_used(&budgets.service, BUDGET_REPLY_BYTES) != MIB(32))
        usleep(1000);
    CHECK_INT(budget_used(&budgets.service, BUDGET_BODY_BYTES), 0);
    CHECK_INT(wire_count(&w, &w.n_done), 1);
    close(fd);
    while (budget_used(&budgets.service, BUDGET_REPLY_BYTES) != 0)
        usleep(1000);
    wire_stop(&w);
}

TEST(a_body_of_a_request_whose_client_has_gone_counts_until_it_is_answered)
{
    struct budgets budgets;
    struct wire w;
    int fd;

    start(&w, &budgets);
    fd = wire_connect(&w);
    send_head(fd, "/held", 1000);
    send_bytes(fd, 1000);
    (void)wire_held(&w, 0);
    wire_reset(fd);
    while (http_server_connections(w.server) > 0)
        usleep(1000);
    CHECK_INT(budget_used(&budgets.service, BUDGET_BODY_BYTES), 1000);
    wire_echo(wire_held(&w, 0));
    wait_for(&budgets, 0);
    wire_stop(&w);
}

/* "hello" as gzip. */
static const unsigned char hello[] = { 0x1f, 0x8b, 8,    0,    0,    0,    0,    0, 2,
                                       3,    0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0, 0x86,
                                       0xa6, 0x10, 0x36, 5,    0,    0,    0 };

TEST(a_body_counts_as_sent_and_then_as_inflated)
{
    const char *const gzip = (const char *)hello;
    struct budgets budgets;
    struct wire w;
    int fd;

    start(&w, &budgets);
    fd = wire_connect(&w);
    CHECK(wire_say(fd, "POST /held HTTP/1.1\r\n" HOST "Content-Encoding: gzip\r\n"
                       "Content-Length: 25\r\n\r\n"));
    CHECK(wire_send(fd, str_from(gzip, 10)));
    wait_for(&budgets, 10);
    CHECK(wire_send(fd, str_from(gzip + 10, sizeof(hello) - 10)));
    (void)wire_held(&w, 0);
    wait_for(&budgets, 5);
    wire_echo(wire_held(&w, 0));
    wire_check(fd, 200, "[hello]");
    wait_for(&budgets, 0);
    close(fd);
    wire_stop(&w);
}

/* Sends a request that is held and, once it is, another; the bytes of the second. */
static size_t send_ahead(struct wire *w, int fd, unsigned held)
{
    static const char next[] = "GET /next HTTP/1.1\r\n" HOST "\r\n";

    CHECK(wire_say(fd, "GET /held HTTP/1.1\r\n" HOST "\r\n"));
    (void)wire_held(w, held);
    CHECK(wire_say(fd, next));
    return strlen(next);
}

static void wait_for_ahead(const struct budgets *budgets, int64_t n)
{
    while (budget_used(&budgets->open, BUDGET_PIPELINED) != n)
        usleep(1000);
}

/* Reads replies until one has this text. */
static void read_until(int fd, const char *text)
{
    struct buf replies;
    ssize_t n = 1;

    buf_init(&replies, KIB(16));
    while (n > 0 && !wire_has(&replies, text)) {
        n = read(fd, buf_reserve(&replies, KIB(1)), KIB(1));
        if (n > 0)
            buf_added(&replies, (size_t)n);
    }
    CHECK(n > 0);
    buf_done(&replies);
}

TEST(requests_sent_ahead_count_and_end_the_connection_where_there_is_no_room)
{
    struct budgets budgets;
    struct wire w;
    size_t n;
    int fd;

    start(&w, &budgets);
    fd = wire_connect(&w);
    n = send_ahead(&w, fd, 0);
    wait_for_ahead(&budgets, (int64_t)n);
    wire_echo(wire_held(&w, 0));
    read_until(fd, "GET /next");
    wait_for_ahead(&budgets, 0);
    budgets.address_level.max[BUDGET_PIPELINED] = (int64_t)n - 1;
    (void)send_ahead(&w, fd, 1);
    while (budgets.address_level.refused[BUDGET_PIPELINED] == 0)
        usleep(1000);
    wire_echo(wire_held(&w, 1));
    wire_check(fd, 200, "Connection: close");
    CHECK_INT(read(fd, bytes, 1), 0);
    wait_for_ahead(&budgets, 0);
    close(fd);
    wire_stop(&w);
}
