/* server.h - HTTP/1.1 over libuv and llhttp: loops, listeners, limits.
 *
 * N loop threads, each with its own TCP listener (SO_REUSEPORT), its own
 * connections and nothing shared; loop 0 can also listen on a unix socket. Knows
 * no route and no tenant: every complete, well-framed request goes to the
 * application (exchange.h).
 */
#pragma once
#include "base/budget.h"
#include "base/err.h"
#include "http/exchange.h"

struct address_list;
struct http_server;
struct http_tls;

extern const struct http_limits http_default_limits;

struct http_options {
    const char *host;      /* numeric address, "127.0.0.1", "::1", "0.0.0.0" */
    unsigned port;         /* 0: any free one; see http_server_port() */
    const char *unix_path; /* NULL: none. Made with mode 0600; a stale file is replaced */
    unsigned loops;        /* threads, at least 1 */
    bool large_apart;      /* as many again call on_request for large bodies (large.c) */
    struct http_tls *tls;  /* tls.h; NULL: none. Never on the unix socket; borrowed */
    struct http_limits limits;
    struct budgets *budgets; /* connections, bodies and replies count there; NULL: no limits */
    const struct address_list *exempt; /* peers that are not counted by address, such as proxies,
                                          which bring many clients; borrowed; NULL: none */
    /* Told the port before the first connection is accepted, on the caller's thread; NULL: none. */
    void (*bound)(void *ctx, unsigned port);
    void *bound_ctx;
};

/* Can it be listened on now? For a caller that has other things to do before it listens. */
int http_server_try(const char *host, unsigned port, struct error *err) MUST_CHECK;

/* Binds and starts the loops; on return of 0 it listens. `app` is copied. The caller owns *ret. */
int http_server_new(const struct http_options *options, const struct http_app *app,
                    struct http_server **ret, struct error *err) MUST_CHECK;

/* The TCP port that is listened on. */
unsigned http_server_port(const struct http_server *server);

/* Graceful stop: accepts nothing new (but what already waits to be accepted), closes idle
 * connections, answers requests that are under way with `Connection: close`. Returns when all
 * connections are gone, or after `deadline_ms` the rest is cut off: returns how many were cut. */
unsigned http_server_stop(struct http_server *server, unsigned deadline_ms);

/* After http_server_stop() (else it stops with deadline 0) and after every exchange that the
 * application had was answered: what is answered after the stop is dropped. NULL is fine. */
void http_server_free(struct http_server *server);

/* Connections open now, for tests. Any thread. */
unsigned http_server_connections(const struct http_server *server);
