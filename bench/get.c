/* get.c - reads over one keep-alive connection, one after the other: how long does each take?
 *
 * The paths come on standard input, a line each, and are asked in turn until
 * the count is reached or the time is over.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client.h"
#include "histogram.h"
#include "options.h"

enum { PATHS_MAX = 4096, REQUEST_MAX = 8192 };

struct options {
    uint64_t port, count, seconds, rate;
    const char *token;
};

static uint64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The time at which it is over: `due_ns`, or now when that is past. */
static uint64_t wait_until(uint64_t due_ns)
{
    struct timespec t = { (time_t)(due_ns / 1000000000u), (long)(due_ns % 1000000000u) };

    while (now_ns() < due_ns)
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    return now_ns();
}

_Noreturn static void fail(const char *what)
{
    (void)fprintf(stderr, "get: %s: %s\n", what, strerror(errno));
    exit(1);
}

static size_t read_paths(char **paths)
{
    size_t n = 0, room = 0;
    char *line = NULL;
    ssize_t len;

    while (n < PATHS_MAX && (len = getline(&line, &room, stdin)) > 0) {
        if (line[len - 1] == '\n')
            line[len - 1] = '\0';
        paths[n] = strdup(line);
        if (paths[n++] == NULL)
            fail("strdup");
    }
    free(line);
    return n;
}

/* Sends the request and waits for the whole answer; opens the connection again when it closed. */
static void ask(struct client *c, const struct options *o, const char *path)
{
    struct pollfd ready = { .events = POLLIN };
    enum client_state state;

    if (c->fd < 0 && client_connect(c, (unsigned)o->port) != 0)
        fail("connect");
    c->out_sent = 0;
    c->out_len = (size_t)snprintf(c->out, REQUEST_MAX,
                                  "GET %s HTTP/1.1\r\nHost: localhost\r\n"
                                  "Authorization: Bearer %s\r\n\r\n",
                                  path, o->token);
    if (c->out_len >= REQUEST_MAX || client_send(c) == CLIENT_BROKEN || c->wants_write)
        fail("send");
    ready.fd = c->fd;
    do {
        if (poll(&ready, 1, -1) < 0 && errno != EINTR)
            fail("poll");
        state = client_receive(c);
    } while (state == CLIENT_WAITING);
    if (state == CLIENT_BROKEN)
        fail("receive");
    if (c->closing)
        client_close(c);
}

int main(int argc, char **argv)
{
    static struct options o = { .port = 8080, .count = 1000, .token = "none" };
    const struct option_row rows[] = {
        { "port", &o.port, NULL, "of 127.0.0.1" },
        { "token", NULL, &o.token, "bearer token" },
        { "count", &o.count, NULL, "requests in all" },
        { "seconds", &o.seconds, NULL, "stop after so long; 0: never" },
        { "rate", &o.rate, NULL, "requests a second; 0: each at once after the one before" },
    };
    static char out[REQUEST_MAX], *paths[PATHS_MAX];
    static struct histogram latencies;
    static struct client client = { .fd = -1, .out = out };
    uint64_t refused = 0, began = now_ns();
    size_t n;

    options_read(argc, argv, rows, sizeof(rows) / sizeof(rows[0]));
    n = read_paths(paths);
    for (uint64_t i = 0; n > 0 && i < o.count; i++) {
        uint64_t asked = wait_until(o.rate > 0 ? began + i * 1000000000u / o.rate : 0);

        if (o.seconds > 0 && asked > began + o.seconds * 1000000000u)
            break;
        ask(&client, &o, paths[i % n]);
        histogram_add(&latencies, (now_ns() - asked) / 1000);
        refused += client.status != 200;
    }
    (void)printf("requests %" PRIu64 "\nrefused %" PRIu64 "\np50_us %" PRIu64 "\np99_us %" PRIu64
                 "\nmax_us %" PRIu64 "\n",
                 latencies.n, refused, histogram_at(&latencies, 0.5),
                 histogram_at(&latencies, 0.99), latencies.max);
    return 0;
}
