/* assemble.c - builds an engine and an API from settings. */
#include "app/assemble.h"

#include <stdlib.h>

#include "api/openapi.h"
#include "app/budgets.h"
#include "app/features.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/client.h"
#include "cli/settings.h"
#include "engine/engine.h"
#include "features/access/auth.h"
#include "features/audit/audit.h"

enum { GROUP_MAX_EVENTS = 4000 };

/* Reads "https://host[:port]": whether TLS is used, and the host. */
static int read_public_url(const char *url, struct api *ret, struct error *err)
{
    static const struct str tls = STR_INIT("https://"), plain = STR_INIT("http://");
    struct str rest = str_of(url);
    const struct str *scheme = str_starts(rest, tls) ? &tls : &plain;

    if (rest.len == 0)
        return 0; /* as it listens */
    if (!str_starts(rest, *scheme))
        return err_set(err, ERR_INVALID, "public_url: '%s' does not begin with https:// or http://",
                       url);
    rest = str_from(rest.data + scheme->len, rest.len - scheme->len);
    if (rest.len > 0 && rest.data[rest.len - 1] == '/')
        rest.len--;
    if (rest.len == 0 || memchr(rest.data, '/', rest.len) != NULL)
        return err_set(err, ERR_INVALID, "public_url: '%s' is not a host, with or without a port",
                       url);
    ret->secure = ret->secure || scheme == &tls; /* by its own TLS, or by a proxy's */
    ret->public_host = rest;
    return 0;
}

int assemble(const struct assembly_options *options, struct assembly *ret, struct error *err)
{
    const struct settings *settings = options->settings;
    const struct engine_options engine = {
        .database = options->database,
        .features = features,
        .settings = settings,
        .budgets = &ret->budgets,
        .serves = options->serves,
        .readers = (unsigned)settings->readers,
        .min_free_bytes = settings->min_free_bytes,
        .reads_max = (size_t)settings->queue_max_reads,
        .writer = { .events_max = (size_t)settings->queue_max_events,
                    .bytes_max = (size_t)settings->queue_max_bytes,
                    .group_max = GROUP_MAX_EVENTS,
                    .wait_max_ms = (unsigned)settings->queue_max_wait_ms },
        .log_max_bytes = settings->wal_max_bytes,
        .on_fatal = options->on_fatal,
        .ctx = options->ctx,
    };

    *ret = (struct assembly){
        .api.limits = { .batch_max_events = (size_t)settings->batch_max_events,
                        .batch_max_bytes = (size_t)settings->batch_max_bytes,
                        .body_max_bytes = (size_t)settings->body_max_bytes,
                        .business_max_bytes = (size_t)settings->business_max_bytes },
    };
    budgets_read(settings, &ret->budgets);
    ret->api.hooks = &access_hooks;
    ret->api.audit = audit_call;
    ret->api.version = MUSTER_VERSION;
    ret->api.metrics_token = settings->metrics_token;
    ret->api.started_at = clock_wall_us();
    ret->api.trusted_proxies = settings->trusted_proxies;
    ret->api.secure = settings->tls_cert[0] != '\0';
    if (read_public_url(settings->public_url, &ret->api, err) != 0 ||
        cors_read(settings->cors_origins, &ret->api.cors, err) != 0)
        return -1;
    if (engine_new(&engine, &ret->api.engine, err) != 0)
        return -1;
    route_table_init(&ret->api.routes, features);
    buf_init(&ret->openapi, MIB(16));
    openapi_write(&ret->api.routes, &ret->openapi);
    ret->api.openapi = buf_str(&ret->openapi);
    return 0;
}

void disassemble(struct assembly *a)
{
    engine_free(a->api.engine);
    route_table_done(&a->api.routes);
    buf_done(&a->openapi);
}

/* A command's process ends by itself; it gets the failure as a reply. */
static void local_on_fatal(void *ctx, const struct error *err)
{
    (void)ctx;
    log_write(LOG_ERROR, "storage", "%s", err->text);
}

static int local_open(const struct settings *settings, const char *database, struct api **ret,
                      struct error *err)
{
    const struct assembly_options options = { .settings = settings,
                                              .database = database,
                                              .on_fatal = local_on_fatal };
    struct assembly *a = NEW(struct assembly);

    if (assemble(&options, a, err) != 0) {
        free(a);
        return -1;
    }
    *ret = &a->api;
    return 0;
}

static void local_close(struct api *api)
{
    struct assembly *a = CONTAINER_OF(api, struct assembly, api);

    disassemble(a);
    free(a);
}

const struct client_local assemble_local = { .open = local_open, .close = local_close };
