/* client.c - choosing between a running server and this process. */
#include "cli/client.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/datadir.h"
#include "cli/login_file.h"
#include "cli/settings.h"

enum { WAIT_MAX_S = 10, RETRY_MS = 20 };

struct client {
    struct arena arena;
    struct datadir datadir;
    const struct client_local *local;
    struct api *api;      /* ours when there is no server; else NULL */
    struct remote remote; /* the server */
};

static void pause_briefly(void)
{
    const struct timespec pause = { .tv_nsec = RETRY_MS * 1000000L };

    (void)nanosleep(&pause, NULL);
}

/* The lock is held by a server that answers, by one that is starting or stopping, or by another
 * command: waits until it is clear which. */
static int find_way(struct client *c, const struct settings *settings, struct error *err)
{
    const struct client_request probe = { METHOD_GET, STR_LIT("/api/v1/health"), STR_NULL };
    int64_t until = clock_mono_us() + (int64_t)WAIT_MAX_S * USEC_PER_SEC;
    struct client_reply reply;

    /* only `serve` and `restore` create a database: a wrong --data, or that of a service with
     * PostgreSQL, must not take what is meant for another one */
    if (!datadir_is_used(&c->datadir))
        return datadir_check_database(&c->datadir, err);
    for (;;) {
        if (datadir_lock(&c->datadir, err) == 0)
            return datadir_check_database(&c->datadir, err) != 0
                       ? -1
                       : c->local->open(settings, c->datadir.database, &c->api, err);
        if (err->code != ERR_BUSY)
            return -1;
        if (remote_call(&c->remote, &probe, NULL, &c->arena, &reply, NULL) == 0)
            return 0;
        if (clock_mono_us() > until)
            return -1;
        pause_briefly();
    }
}

int client_new(const struct settings *settings, const struct login *login,
               const struct client_local *local, struct client **ret, struct error *err)
{
    struct client *c = NEW(struct client);
    int r;

    c->local = local;
    arena_init(&c->arena);
    datadir_init(&c->datadir, settings->data, &c->arena);
    c->remote = (struct remote){ .socket = c->datadir.socket, .server = "http://localhost" };
    if (login != NULL) {
        c->remote = login_remote(login);
        r = 0;
    } else if (settings->server[0] != '\0') {
        r = remote_read(settings, &c->arena, &c->remote, err);
    } else if (settings->database[0] != '\0') {
        r = local->open(settings, settings->database, &c->api, err);
    } else {
        r = datadir_ensure(&c->datadir, false, err);
        if (r == 0)
            r = find_way(c, settings, err);
    }
    if (r != 0) {
        client_free(c);
        return -1;
    }
    *ret = c;
    return 0;
}

void client_free(struct client *c)
{
    if (c == NULL)
        return;
    if (c->api != NULL)
        c->local->close(c->api);
    datadir_done(&c->datadir);
    arena_done(&c->arena);
    free(c);
}

int client_call(struct client *c, const struct client_request *request,
                const struct client_sink *sink, struct arena *arena, struct client_reply *ret,
                struct error *err)
{
    if (c->api == NULL)
        return remote_call(&c->remote, request, sink, arena, ret, err);
    return local_call(c->api, request, sink, arena, ret, err);
}
