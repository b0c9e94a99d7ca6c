/* metrics_routes.c - metrics for monitoring systems, and who may read them. */
#include "features/status/metrics_routes.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/api.h"
#include "api/call.h"
#include "api/exposition.h"
#include "base/budget.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/metrics.h"
#include "db/embedded.h"
#include "engine/engine.h"
#include "engine/space.h"
#include "features/access/rate.h"
#include "features/access/registry.h"
#include "features/alerts/alerts.h"
#include "features/export/exports.h"
#include "features/retention/retention.h"
#include "http/exchange.h"

enum { TEXT_MAX = 4 << 20 };

/* As on every reply of the API (S16); nothing of it may be kept. */
static const struct http_header headers[] = {
    { STR_INIT("X-Content-Type-Options"), STR_INIT("nosniff") },
    { STR_INIT("Referrer-Policy"), STR_INIT("no-referrer") },
    { STR_INIT("Cross-Origin-Opener-Policy"), STR_INIT("same-origin") },
    { STR_INIT("Cache-Control"), STR_INIT("no-store") },
    { STR_INIT("Content-Security-Policy"), STR_INIT("default-src 'none'; frame-ancestors 'none'") },
};

static void print_number(struct exposition *e, const char *name, const char *type, const char *help,
                         double value)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%.17g", value);
    exposition_head(e, name, type, help);
    exposition_add(e, name, NULL, 0, str_of(text));
}

static double resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    char line[128] = "";
    struct str rest;
    int64_t pages;

    if (file == NULL)
        return 0;
    if (fgets(line, sizeof(line), file) == NULL)
        line[0] = '\0';
    (void)fclose(file);
    rest = str_of(line);
    (void)str_split(&rest, ' ');
    return str_to_int(str_split(&rest, ' '), &pages) ? (double)pages * (double)sysconf(_SC_PAGESIZE)
                                                     : 0;
}

static double open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    double n = -3; /* ".", "..", and the folder itself */

    if (folder == NULL)
        return 0;
    while (readdir(folder) != NULL)
        n++;
    (void)closedir(folder);
    return n;
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / (double)USEC_PER_SEC;
}

static void print_process(struct api *api, struct exposition *e)
{
    struct rusage usage;
    struct rlimit files;

    if (getrusage(RUSAGE_SELF, &usage) == 0)
        print_number(e, "process_cpu_seconds_total", "counter", "CPU time of this process",
                     seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
    print_number(e, "process_resident_memory_bytes", "gauge", "Resident memory of this process",
                 resident_bytes());
    print_number(e, "process_open_fds", "gauge", "Open files and sockets", open_files());
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        print_number(e, "process_max_fds", "gauge", "Maximum number of open files and sockets",
                     (double)files.rlim_cur);
    print_number(e, "process_start_time_seconds", "gauge",
                 "Start time of this process in Unix time",
                 (double)api->started_at / (double)USEC_PER_SEC);
}

static void print_engine(struct engine *engine, struct exposition *e)
{
    struct engine_stats s;
    const struct space *space = engine_space(engine);

    engine_stats(engine, &s);
    const struct {
        const char *name, *help;
        double value;
    } gauges[] = {
        { "muster_healthy", "1 while reports can be stored", s.healthy },
        { "muster_nodes", "Processes that share the database and its limits",
          (double)rate_share_nodes(access_rates(engine)) },
        { "muster_tenants_over_quota", "Tenants whose plan has no room for further reports",
          (double)registry_over_quota(access_registry(engine)) },
        { "muster_queue_events", "Events waiting to be stored", (double)s.queue.events },
        { "muster_queue_bytes", "Bytes waiting to be stored", (double)s.queue.bytes },
        { "muster_queue_tenants", "Tenants with events waiting to be stored",
          (double)s.queue.tenants },
        { "muster_queue_tenant_events_max", "Most events of one tenant waiting to be stored",
          (double)s.queue.tenant_largest },
        { "muster_reads_waiting", "Reads waiting for a thread", (double)s.reads_waiting },
        { "muster_exports_running", "Running exports", exports_running(export_exports(engine)) },
        { "muster_store_bytes", "Size of the database", (double)retention_store_bytes(engine) },
        { "muster_disk_free_bytes",
          "Free bytes of the embedded database's file system; 0 with PostgreSQL",
          (double)atomic_load(&space->free_bytes) },
        { "muster_disk_floor_bytes",
          "Free bytes below which reports are refused; 0 with PostgreSQL",
          (double)atomic_load(&space->floor_bytes) },
        { "muster_disk_low", "1 while reports are refused for lack of disk space",
          space_is_low(space) },
        { "muster_wal_bytes", "Size of SQLite's write-ahead log",
          (double)db_log_bytes(engine_database(engine)) },
        { "muster_alerts_open", "Open alerts of all tenants", (double)alerts_count_open(engine) },
        { "muster_registry_number",
          "Change number of the tenants, keys and settings that this process has loaded",
          (double)registry_number(access_registry(engine)) },
    };

    for (size_t i = 0; i < COUNT_OF(gauges); i++)
        print_number(e, gauges[i].name, "gauge", gauges[i].help, gauges[i].value);
}

static void print_by_level(struct exposition *e, const char *name, const struct budget_level *level,
                           enum budget_kind kind, int64_t value)
{
    const struct exposition_label labels[] = { { "level", str_of(level->name) },
                                               { "kind", str_of(budget_kind_name(kind)) } };

    exposition_add_int(e, name, labels, COUNT_OF(labels), value);
}

/* At the levels with one node, its use; of the tenants, the one that holds most. */
static void print_used(struct api *api, struct budgets *b, struct exposition *e)
{
    exposition_head(e, "muster_budget_used", "gauge",
                    "What callers hold now, by kind: all, those without a key (open), and the "
                    "tenant that holds most");
    for (unsigned kind = 0; kind < BUDGET_KINDS; kind++) {
        print_by_level(e, "muster_budget_used", &b->service_level, kind,
                       budget_used(&b->service, kind));
        print_by_level(e, "muster_budget_used", &b->open_level, kind, budget_used(&b->open, kind));
        print_by_level(e, "muster_budget_used", &b->tenant_level, kind,
                       registry_largest_use(access_registry(api->engine), kind));
    }
}

/* Limits, and what was refused beyond them. */
static void print_bounds(struct budgets *b, const char *name, bool refused, struct exposition *e)
{
    const struct budget_level *level;

    for (size_t i = 0; (level = budgets_level(b, i)) != NULL; i++)
        for (unsigned kind = 0; kind < BUDGET_KINDS; kind++) {
            int64_t n = level->max[kind];

            if (n == 0)
                continue; /* no limit */
            if (n < 0)
                n = 0; /* nothing is allowed */
            if (refused)
                n = (int64_t)atomic_load_explicit(&level->refused[kind], memory_order_relaxed);
            print_by_level(e, name, level, kind, n);
        }
}

/* What callers hold, by level and kind. */
static void print_budgets(struct api *api, struct exposition *e)
{
    struct budgets *b = engine_budgets(api->engine);

    print_used(api, b, e);
    exposition_head(e, "muster_budget_max", "gauge",
                    "What one caller of a level may hold, by kind; absent: no limit");
    print_bounds(b, "muster_budget_max", false, e);
    exposition_head(e, "muster_budget_refused_total", "counter",
                    "Requests for more than a caller of this level may hold, by kind");
    print_bounds(b, "muster_budget_refused_total", true, e);
}

static void print_all(struct api *api, struct buf *out)
{
    const struct exposition_label version = { "version", str_of(api->version) };
    struct exposition e;

    exposition_begin(&e, out, SIZE_MAX);
    exposition_head(&e, "muster_build_info", "gauge", "Version of this process");
    exposition_add_int(&e, "muster_build_info", &version, 1, 1);
    api_print_requests(&api->routes, out);
    metric_print(out);
    print_engine(api->engine, &e);
    print_budgets(api, &e);
    print_process(api, &e);
}

static void reply(struct api *api, struct http_exchange *x)
{
    struct buf text;

    buf_init(&text, TEXT_MAX);
    print_all(api, &text);
    http_reply(x, &(struct http_reply){ .status = 200,
                                        .content_type = EXPOSITION_TYPE,
                                        .body = buf_str(&text),
                                        .body_take = text.data,
                                        .headers = headers,
                                        .n_headers = COUNT_OF(headers) });
}

/* "Bearer <metrics_token>". Both are hashed, so that timing reveals nothing. */
static bool has_token(const struct api_call *call)
{
    struct str value = http_header_get(&call->exchange->request, "authorization");
    struct str scheme = str_split(&value, ' ');
    const struct sha256 wanted = digest_sha256(str_of(call->api->metrics_token));
    const struct sha256 given = digest_sha256(str_trim(value));

    return str_eq_nocase(scheme, STR_LIT("Bearer")) && digest_equal(&wanted, &given);
}

static bool has_metrics_token(const struct api *api)
{
    return api->metrics_token != NULL && api->metrics_token[0] != '\0';
}

bool metrics_may_read(const struct api_call *call)
{
    return call->exchange->request.peer == PEER_OPERATOR ||
           (has_metrics_token(call->api) && has_token(call));
}

static int send_metrics(struct api_call *call, struct error *err)
{
    bool is_operator = call->exchange->request.peer == PEER_OPERATOR;

    if (!is_operator && !has_metrics_token(call->api))
        return call_refuse(call, err, 404, "Not Found");
    if (!metrics_may_read(call))
        return call_refuse_caller(call, err, true);
    reply(call->api, call->exchange);
    return 0;
}

/* A listener of its own: no token, and only one route. */

static void plain(struct http_exchange *x, int status, const char *text)
{
    http_reply(x, &(struct http_reply){ .status = status,
                                        .content_type = "text/plain",
                                        .body = str_of(text),
                                        .headers = headers,
                                        .n_headers = COUNT_OF(headers) });
}

static void on_head(void *ctx, struct http_exchange *x)
{
    (void)ctx;
    x->body_max = 0;
}

static void on_request(void *ctx, struct http_exchange *x)
{
    enum http_method method = x->request.method;

    if (str_eq(x->request.path, STR_LIT("/metrics")) &&
        (method == METHOD_GET || method == METHOD_HEAD))
        reply(ctx, x);
    else
        plain(x, 404, "Only GET /metrics is served here\n");
}

static void on_too_large(void *ctx, struct http_exchange *x)
{
    (void)ctx;
    plain(x, 413, "No body is accepted here\n");
}

static void on_refused(void *ctx, struct http_exchange *x, int status, const char *detail)
{
    (void)ctx;
    plain(x, status, detail);
}

static void on_done(void *ctx, const struct http_exchange *x, int status, size_t bytes)
{
    (void)ctx;
    (void)x;
    (void)status;
    (void)bytes;
}

void metrics_app(struct api *api, struct http_app *ret)
{
    *ret = (struct http_app){ .ctx = api,
                              .on_head = on_head,
                              .on_request = on_request,
                              .on_too_large = on_too_large,
                              .on_refused = on_refused,
                              .on_done = on_done };
}

/* clang-format off */
const struct route metrics_routes[] = {
    { ROUTE(GET, "/metrics", OPEN, 200), .handler = send_metrics, .page = true,
      .summary = "Get metrics in the text format of Prometheus" },
    { 0 },
};
/* clang-format on */
