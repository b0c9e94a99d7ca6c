/* server.c - starts the loops and stops them. */
#include "http/server.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/internal.h"

const struct http_limits http_default_limits = {
    .target_max = KIB(8),
    .header_max = KIB(16),
    .header_fields = 64,
    .handshake_ms = 10 * 1000,
    .header_ms = 10 * 1000,
    .body_ms = 30 * 1000,
    .idle_ms = 60 * 1000,
    .write_ms = 30 * 1000,
};

struct http_server {
    struct http_app app;
    struct http_limits limits;
    struct http_admission admission;
    struct http_loop *loops;
    unsigned n_loops; /* initialised */
    struct http_large large;
    unsigned port;
    char *unix_path;
    bool stopped;
};

static int start_threads(struct http_server *server, bool large_apart, struct error *err)
{
    if (large_apart && http_large_start(&server->large, &server->app, server->n_loops, err) != 0)
        return -1;
    for (unsigned i = 0; i < server->n_loops; i++) {
        struct http_loop *loop = &server->loops[i];
        int r = uv_thread_create(&loop->thread, http_loop_run, loop);

        if (r != 0)
            return err_set(err, ERR_INTERNAL, "cannot start a thread: %s", uv_strerror(r));
        loop->started = true;
    }
    return 0;
}

static int start(struct http_server *server, const struct http_options *options, struct error *err)
{
    unsigned n = options->loops == 0 ? 1 : options->loops;

    server->loops = mem_new(n * sizeof(*server->loops));
    for (; server->n_loops < n; server->n_loops++) {
        if (http_loop_init(&server->loops[server->n_loops], &server->app, &server->limits,
                           &server->admission, err) != 0)
            return -1;
        if (options->tls != NULL)
            http_transport_prepare(&server->loops[server->n_loops], options->tls);
        if (options->large_apart)
            server->loops[server->n_loops].large = &server->large;
    }
    /* Another process that shares its port would silently get half of our clients, and the other
     * way round: a socket that does not share is refused where one that does is not. */
    if (http_server_try(options->host, server->port, err) != 0)
        return -1;
    for (unsigned i = 0; i < n; i++)
        if (http_listener_tcp(&server->loops[i], options->host, &server->port, err) != 0)
            return -1;
    if (options->unix_path != NULL) {
        if (http_listener_unix(&server->loops[0], options->unix_path, err) != 0)
            return -1;
        server->unix_path = mem_strdup(options->unix_path);
    }
    if (options->bound != NULL)
        options->bound(options->bound_ctx, server->port);
    return start_threads(server, options->large_apart, err);
}

int http_server_new(const struct http_options *options, const struct http_app *app,
                    struct http_server **ret, struct error *err)
{
    struct http_server *server = NEW(struct http_server);

    server->app = *app;
    server->limits = options->limits;
    server->port = options->port;
    http_admission_init(&server->admission, options, http_loop_evict);
    if (start(server, options, err) != 0) {
        http_server_free(server);
        return -1;
    }
    *ret = server;
    return 0;
}

unsigned http_server_port(const struct http_server *server)
{
    return server->port;
}

unsigned http_server_stop(struct http_server *server, unsigned deadline_ms)
{
    unsigned n_cut = 0;

    if (server->stopped)
        return 0;
    server->stopped = true;
    if (server->unix_path != NULL)
        (void)unlink(server->unix_path);
    for (unsigned i = 0; i < server->n_loops; i++) {
        if (server->loops[i].started)
            http_loop_stop(&server->loops[i], deadline_ms);
    }
    for (unsigned i = 0; i < server->n_loops; i++) {
        struct http_loop *loop = &server->loops[i];

        if (loop->started)
            (void)uv_thread_join(&loop->thread);
        n_cut += loop->n_cut;
    }
    http_large_stop(&server->large);
    return n_cut;
}

void http_server_free(struct http_server *server)
{
    if (server == NULL)
        return;
    (void)http_server_stop(server, 0);
    for (unsigned i = 0; i < server->n_loops; i++)
        http_loop_done(&server->loops[i]);
    http_admission_done(&server->admission);
    free(server->loops);
    free(server->unix_path);
    free(server);
}

unsigned http_server_connections(const struct http_server *server)
{
    return (unsigned)budget_used(&server->admission.budgets->service, BUDGET_CONNECTIONS);
}
