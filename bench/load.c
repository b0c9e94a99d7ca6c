/* load.c - load for an ingest endpoint from one thread over many keep-alive connections.
 *
 * Closed loop (the default): every connection sends its next request when it
 * has its answer. Open loop (--rate): requests are due at fixed times whatever
 * the server does, wait for a free connection when there is none, and their
 * latency counts from when they were due.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "client.h"
#include "events.h"
#include "histogram.h"
#include "options.h"

enum { STATUS_MAX = 600, HEAD_ROOM = 512, DRAIN_S = 10, READY_MAX = 256 };

struct options {
    uint64_t port, connections, seconds, count, batch, rate, seed, first, open_runs, new_agents;
    const char *token, *tenant;
};

struct peer {
    struct client client;     /* first */
    uint64_t due_ns, sent_ns; /* of the request under way */
    bool busy, polls_write;
};

struct load {
    struct options options;
    struct event_source source;
    struct peer *peers, **idle;
    size_t n_idle, n_busy;
    int epoll;
    uint64_t next_event, end_event, sent; /* sent: requests */
    uint64_t began_ns, ends_ns;
    bool over; /* nothing is sent any more */

    uint64_t event_bytes, events;                /* made */
    uint64_t answers, accepted, last_ns, broken; /* answers by the end of the time */
    uint64_t by_status[STATUS_MAX];              /* the late ones too */
    struct histogram good, refused;
};

static uint64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

_Noreturn static void fail(const char *what)
{
    (void)fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* The next request's bytes. */
static void fill(struct load *l, struct client *c)
{
    static const char opening[] = "{\"events\":[";
    const struct options *o = &l->options;
    char *body = c->out + HEAD_ROOM, *at = body, head[HEAD_ROOM];
    int n;

    if (o->batch > 0)
        at = mempcpy(at, opening, sizeof(opening) - 1);
    for (uint64_t i = 0; i < (o->batch > 0 ? o->batch : 1); i++) {
        size_t len = events_write(&l->source, l->next_event++, at);

        l->event_bytes += len;
        l->events++;
        at += len;
        *at++ = ',';
    }
    at--; /* the last comma */
    if (o->batch > 0) {
        *at++ = ']';
        *at++ = '}';
    }
    n = snprintf(head, sizeof(head),
                 "POST /api/v1/telemetry%s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                 "Authorization: Bearer %s\r\nContent-Type: application/json\r\n"
                 "Content-Length: %zu\r\n\r\n",
                 o->batch > 0 ? "/batch" : "", o->token, (size_t)(at - body));
    if (n < 0 || n >= (int)sizeof(head))
        fail("the token is too long");
    /* The head ends where the body begins. */
    memcpy(body - n, head, (size_t)n);
    c->out_sent = HEAD_ROOM - (size_t)n;
    c->out_len = (size_t)(at - c->out);
}

static void poll_for(struct load *l, struct peer *p, int how)
{
    struct epoll_event e = { .events = EPOLLIN, .data.ptr = p };

    if (p->client.wants_write)
        e.events |= EPOLLOUT;
    p->polls_write = p->client.wants_write;
    if (epoll_ctl(l->epoll, how, p->client.fd, &e) != 0)
        fail("epoll_ctl");
}

static void open_peer(struct load *l, struct peer *p)
{
    if (client_connect(&p->client, (unsigned)l->options.port) != 0)
        fail("connect");
    poll_for(l, p, EPOLL_CTL_ADD);
}

static void make_idle(struct load *l, struct peer *p)
{
    p->busy = false;
    l->n_busy--;
    l->idle[l->n_idle++] = p;
}

/* The server hung up or answered what is no answer. */
static void broke(struct load *l, struct peer *p)
{
    l->broken++;
    client_close(&p->client);
    if (l->over) {
        l->n_busy -= p->busy;
        p->busy = false;
        return;
    }
    open_peer(l, p);
    if (p->busy)
        make_idle(l, p);
}

static bool has_more(const struct load *l)
{
    return !l->over && (l->options.count == 0 || l->next_event < l->end_event);
}

static void send_next(struct load *l, uint64_t due_ns)
{
    struct peer *p = l->idle[--l->n_idle];

    p->busy = true;
    p->due_ns = due_ns;
    p->sent_ns = now_ns();
    l->n_busy++;
    l->sent++;
    fill(l, &p->client);
    if (client_send(&p->client) == CLIENT_BROKEN)
        broke(l, p);
    else if (p->client.wants_write != p->polls_write)
        poll_for(l, p, EPOLL_CTL_MOD);
}

/* Sends what is due. */
static void send_all(struct load *l, uint64_t now)
{
    while (l->n_idle > 0 && has_more(l)) {
        uint64_t due = now;

        if (l->options.rate > 0) {
            due = l->began_ns + l->sent * 1000000000u / l->options.rate;
            if (due > now)
                return;
        }
        send_next(l, due);
    }
}

static void answered(struct load *l, struct peer *p)
{
    struct client *c = &p->client;
    uint64_t now = now_ns();

    if (c->status != 202 && l->refused.n == 0) /* one for the reader, who wants to know why */
        (void)fprintf(stderr, "load: first refusal: %.*s\n", (int)c->look_len, c->look);
    l->by_status[c->status >= 0 && c->status < STATUS_MAX ? c->status : 0]++;
    if (c->status == 202)
        histogram_add(&l->good, (now - p->due_ns) / 1000);
    else /* how fast it says no: the wait for a free connection is not its own */
        histogram_add(&l->refused, (now - p->sent_ns) / 1000);
    if (l->options.count > 0 || now <= l->ends_ns) {
        l->answers++;
        l->accepted += c->status == 202 ? c->accepted : 0;
        l->last_ns = now;
    }
    if (c->closing) {
        client_close(c);
        open_peer(l, p);
    }
    make_idle(l, p);
}

static void on_ready(struct load *l, struct peer *p, uint32_t events)
{
    struct client *c = &p->client;
    enum client_state state = CLIENT_WAITING;

    if (events & EPOLLOUT)
        state = client_send(c);
    if (state == CLIENT_WAITING && (events & ~(uint32_t)EPOLLOUT))
        state = p->busy ? client_receive(c) : CLIENT_BROKEN;
    if (state == CLIENT_BROKEN)
        broke(l, p);
    else if (c->wants_write != p->polls_write)
        poll_for(l, p, EPOLL_CTL_MOD);
    if (state == CLIENT_ANSWERED)
        answered(l, p);
}

/* How long there is nothing to send. */
static struct timespec pause_of(const struct load *l, uint64_t now)
{
    uint64_t until = l->over ? l->ends_ns + DRAIN_S * 1000000000ull : l->ends_ns;

    if (l->options.rate > 0 && has_more(l) && l->n_idle > 0) {
        uint64_t due = l->began_ns + l->sent * 1000000000u / l->options.rate;

        until = due < until ? due : until;
    }
    until = until > now ? until - now : 0;
    return (struct timespec){ .tv_sec = (time_t)(until / 1000000000u),
                              .tv_nsec = (long)(until % 1000000000u) };
}

static void run(struct load *l)
{
    struct epoll_event ready[READY_MAX];

    l->began_ns = l->last_ns = now_ns();
    l->ends_ns =
        l->options.count > 0 ? UINT64_MAX / 2 : l->began_ns + l->options.seconds * 1000000000u;
    for (;;) {
        uint64_t now = now_ns();
        struct timespec pause;
        int n;

        l->over |= now >= l->ends_ns;
        if ((!has_more(l) && l->n_busy == 0) || now >= l->ends_ns + DRAIN_S * 1000000000ull)
            return;
        send_all(l, now);
        pause = pause_of(l, now);
        n = epoll_pwait2(l->epoll, ready, READY_MAX, &pause, NULL);
        if (n < 0 && errno != EINTR)
            fail("epoll_pwait2");
        for (int i = 0; i < n; i++)
            on_ready(l, ready[i].data.ptr, ready[i].events);
    }
}

static void start(struct load *l)
{
    struct options *o = &l->options;
    size_t room = HEAD_ROOM + 64 + (o->batch > 0 ? o->batch : 1) * (EVENT_BYTES_MAX + 1);

    if (o->new_agents > 0)
        events_init_new_agents(&l->source, o->tenant, o->seed);
    else
        events_init(&l->source, o->tenant, o->seed, o->open_runs);
    l->next_event = o->first;
    l->end_event = o->first + o->count;
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->peers = calloc(o->connections, sizeof(*l->peers));
    l->idle = (struct peer **)calloc(o->connections, sizeof(struct peer *));
    if (l->epoll < 0 || l->peers == NULL || l->idle == NULL)
        fail("start");
    for (uint64_t i = 0; i < o->connections; i++) {
        struct peer *p = &l->peers[i];

        p->client.out = malloc(room);
        if (p->client.out == NULL)
            fail("malloc");
        open_peer(l, p);
        l->idle[l->n_idle++] = p;
    }
}

static void report(const struct load *l)
{
    uint64_t until = l->options.count > 0 ? l->last_ns : l->ends_ns;
    double seconds = (double)(until - l->began_ns) / 1e9;
    uint64_t due = l->options.rate > 0 ? l->options.rate * l->options.seconds : l->sent;

    (void)printf("seconds %.3f\nrequests_per_s %.1f\nevents_per_s %.1f\n", seconds,
                 (double)l->answers / seconds, (double)l->accepted / seconds);
    (void)printf("p50_us %" PRIu64 "\np99_us %" PRIu64 "\nmax_us %" PRIu64 "\n",
                 histogram_at(&l->good, 0.5), histogram_at(&l->good, 0.99), l->good.max);
    if (l->refused.n > 0)
        (void)printf("refused_p50_us %" PRIu64 "\nrefused_p99_us %" PRIu64 "\n",
                     histogram_at(&l->refused, 0.5), histogram_at(&l->refused, 0.99));
    for (int i = 0; i < STATUS_MAX; i++)
        if (l->by_status[i] > 0)
            (void)printf("status_%d %" PRIu64 "\n", i, l->by_status[i]);
    (void)printf("events %" PRIu64 "\nevent_bytes %.1f\nbroken %" PRIu64 "\nunanswered %zu\n"
                 "unsent %" PRIu64 "\n",
                 l->events, (double)l->event_bytes / (double)l->events, l->broken, l->n_busy,
                 due > l->sent ? due - l->sent : 0);
}

int main(int argc, char **argv)
{
    static struct load l = { .options = { .port = 8080,
                                          .connections = 64,
                                          .seconds = 5,
                                          .seed = 1,
                                          .open_runs = 100,
                                          .token = "none",
                                          .tenant = "bench" } };
    struct options *o = &l.options;
    const struct option_row rows[] = {
        { "port", &o->port, NULL, "of 127.0.0.1" },
        { "token", NULL, &o->token, "bearer token" },
        { "tenant", NULL, &o->tenant, "its slug, the events' client_id" },
        { "connections", &o->connections, NULL, "kept alive" },
        { "seconds", &o->seconds, NULL, "how long" },
        { "count", &o->count, NULL, "events to send, instead of seconds; 0: by time" },
        { "batch", &o->batch, NULL, "events a request to .../batch; 0: single events" },
        { "rate", &o->rate, NULL, "requests/s whether answered or not; 0: closed loop" },
        { "seed", &o->seed, NULL, "another seed, other ids" },
        { "first", &o->first, NULL, "number of the first event" },
        { "open-runs", &o->open_runs, NULL, "runs whose events are interleaved" },
        { "new-agents", &o->new_agents, NULL, "1: each event is of an agent never seen before" },
    };

    options_read(argc, argv, rows, sizeof(rows) / sizeof(rows[0]));
    if (o->connections == 0)
        o->connections = 1;
    start(&l);
    run(&l);
    report(&l);
    return 0;
}
