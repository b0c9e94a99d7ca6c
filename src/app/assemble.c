/* assemble.c - builds an engine and an API from settings. */
#include "app/assemble.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/client.h"
#include "cli/settings.h"
#include "db/db.h"
#include "engine/engine.h"
#include "features/access/auth.h"
#include "features/access/tenants.h"
#include "features/audit/audit.h"

enum {
    GROUP_MAX_EVENTS = 4000,
    READS_MAX = 1024,            /* waiting for a reader */
    REPORT_MAX_BYTES = 32 << 20, /* of a business report, whatever a batch may have */
};

/* "https://host[:port]" says whether TLS is used, and the host. settings.c checked it. */
static void read_public_url(const char *url, struct api *ret)
{
    static const struct str tls = STR_INIT("https://"), plain = STR_INIT("http://");
    struct str rest = str_of(url);
    const struct str *scheme = str_starts(rest, tls) ? &tls : &plain;

    if (rest.len == 0)
        return; /* as it listens */
    assert(str_starts(rest, *scheme));
    ret->secure = ret->secure || scheme == &tls; /* by its own TLS, or by a proxy's */
    ret->public_host = str_from(rest.data + scheme->len, rest.len - scheme->len);
}

void assembly_set_address(struct assembly *a, const struct listen_address *at)
{
    const bool tls = engine_settings(a->api.engine)->tls_cert[0] != '\0';

    a->api.own_url = at->port == 0 ? STR_NULL : listen_url(at, tls, a->own_url);
    a->api.own_url_is_local = listen_is_local(at);
}

static bool is_same_file(const char *path, const char *url)
{
    static const struct str scheme = STR_INIT("sqlite:");
    struct stat one, other;

    return str_starts(str_of(url), scheme) && stat(path, &one) == 0 &&
           stat(url + scheme.len, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* How many workspaces a database has; -1: it is not there, or not one of ours. */
static int64_t count_in(const char *url, struct error *err)
{
    struct db *db = NULL;
    int64_t n = -1;

    if (db_open(url, DB_MAINTENANCE, &db, err) != 0 || tenant_count(db, &n, err) != 0)
        n = -1;
    db_close(db);
    return n;
}

int assembly_check(const struct assembly_options *options, struct error *err)
{
    const struct settings *settings = options->settings;
    struct error why = { 0 };
    int64_t tenants, named;
    ARENA_SCOPED(arena);
    const char *path = arena_printf(&arena, "%s/muster.db", settings->data).data;
    const char *url = arena_printf(&arena, "sqlite:%s", path).data;

    if (settings->database[0] == '\0' || access(path, F_OK) != 0 ||
        is_same_file(path, settings->database))
        return 0;
    tenants = count_in(url, NULL);
    if (tenants <= 0)
        return 0;
    named = count_in(settings->database, &why);
    if (why.code == ERR_UNAVAILABLE && !str_starts(str_of(settings->database), STR_LIT("sqlite:")))
        return err_set(err, why.code, "%s", why.text); /* it may have some */
    if (named > 0 && options->serves)
        log_write(LOG_WARNING, "storage",
                  "'%s' is not used, since `database` names another one; it has %lld workspace%s",
                  path, (long long)tenants, tenants == 1 ? "" : "s");
    if (named > 0 || (named == 0 && !options->serves))
        return 0;
    return err_set(err, ERR_CONFLICT,
                   "there is '%s' with %lld workspace%s, and `database` names an empty one: leave "
                   "out `database` to use that file, or move it and its -wal away",
                   path, (long long)tenants, tenants == 1 ? "" : "s");
}

int assemble(const struct assembly_options *options, struct assembly *ret, struct error *err)
{
    const struct settings *settings = options->settings;
    struct listen_address at;
    int64_t business_max = settings->batch_max_bytes < REPORT_MAX_BYTES / 2
                               ? settings->batch_max_bytes * 2
                               : REPORT_MAX_BYTES;
    const struct engine_options engine = {
        .database = options->database,
        .features = features,
        .settings = settings,
        .budgets = &ret->budgets,
        .serves = options->serves,
        .readers = (unsigned)settings->readers,
        .min_free_bytes = settings->min_free_bytes,
        .reads_max = READS_MAX,
        .writer = { .events_max = (size_t)settings->queue_max_events,
                    /* parsed, an event takes more than in the body that brings it */
                    .bytes_max = (size_t)settings->inflight_max_bytes / 3 * 8,
                    .group_max = GROUP_MAX_EVENTS,
                    /* no request waits behind a command: it has the time that the database takes */
                    .wait_max_ms = options->serves ? (unsigned)settings->queue_max_wait_ms : 0 },
        .log_max_bytes = settings->wal_max_bytes,
        .on_fatal = options->on_fatal,
        .ctx = options->ctx,
    };

    *ret = (struct assembly){
        .api.limits = { .batch_max_events = (size_t)settings->batch_max_events,
                        .batch_max_bytes = (size_t)settings->batch_max_bytes,
                        .body_max_bytes = (size_t)settings->body_max_bytes,
                        .business_max_bytes = (size_t)business_max },
    };
    budgets_read(settings, &ret->budgets);
    ret->api.hooks = &access_hooks;
    ret->api.audit = audit_call;
    ret->api.version = muster_version;
    ret->api.metrics_token = settings->metrics_token;
    ret->api.started_at = clock_wall_us();
    ret->api.trusted_proxies = settings->trusted_proxies;
    ret->api.secure = settings->tls_cert[0] != '\0';
    read_public_url(settings->public_url, &ret->api);
    if (cors_read(settings->cors_origins, &ret->api.cors, err) != 0 ||
        listen_read("listen", settings->listen, &at, err) != 0 ||
        engine_new(&engine, &ret->api.engine, err) != 0)
        return -1;
    assembly_set_address(ret, &at);
    features_register_metrics();
    route_table_init(&ret->api.routes, features);
    openapi_init(&ret->api.openapi);
    return 0;
}

void disassemble(struct assembly *a)
{
    engine_free(a->api.engine);
    route_table_done(&a->api.routes);
    openapi_done(&a->api.openapi);
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

    if (assembly_check(&options, err) != 0 || assemble(&options, a, err) != 0) {
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
