/* metrics_routes.c - what monitoring systems are told, and who may ask. */
#include "features/status/metrics_routes.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/api.h"
#include "api/call.h"
#include "api/handlers.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/metrics.h"
#include "engine/engine.h"
#include "features/access/access.h"
#include "features/access/registry.h"
#include "features/alerts/alerts.h"
#include "features/export/exports.h"
#include "features/retention/retention.h"
#include "http/exchange.h"

#define CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum { TEXT_MAX = 4 << 20 };

/* Each route has a cell for each of these, and one for any other; after the last route come those
 * for what fits none. */
static const int statuses[] = { 200, 201, 202, 304, 400, 401, 403, 404, 405,
                                408, 409, 413, 415, 422, 429, 500, 503 };
enum { STATUSES = METRICS_STATUSES };
_Static_assert(STATUSES == COUNT_OF(statuses) + 1, "a cell for each, and one for the others");

static size_t status_cell(int status)
{
    size_t i = 0;

    while (i < COUNT_OF(statuses) && statuses[i] != status)
        i++;
    return i;
}

static enum metric_histogram class_of(const struct route *route)
{
    if (route == NULL)
        return HISTOGRAM_OTHER;
    if (route->method == METHOD_POST && strncmp(route->path, "/api/v1/telemetry", 17) == 0)
        return HISTOGRAM_INGEST;
    switch (route->auth) {
    case AUTH_OPEN:
        return HISTOGRAM_OTHER;
    case AUTH_ANY_KEY:
    case AUTH_OWN_AGENT:
        return HISTOGRAM_PULL;
    case AUTH_READ:
        return HISTOGRAM_READ;
    default:
        return HISTOGRAM_ADMIN;
    }
}

void metrics_count(const struct http_exchange *x, int status)
{
    const struct api_call *call = x->app;
    const struct route *route = call == NULL ? NULL : call->route;
    size_t index = route == NULL ? n_routes : (size_t)(route - routes);

    metric_extra_add(index * STATUSES + status_cell(status), 1);
    if (x->stream == NULL) /* which is over when its reader likes */
        metric_observe(class_of(route), (uint64_t)(clock_mono_us() - x->request.began_us));
}

static void print_requests_of(struct buf *out, size_t index)
{
    const struct route *route = index < n_routes ? &routes[index] : NULL;

    for (size_t i = 0; i < STATUSES; i++) {
        uint64_t n = metric_extra_sum(index * STATUSES + i);

        if (n == 0)
            continue;
        buf_printf(out, "muster_requests_total{method=\"%s\",route=\"%s\",status=\"",
                   route == NULL ? "" : route_method_name(route->method),
                   route == NULL ? "" : route->path);
        if (i < COUNT_OF(statuses))
            buf_printf(out, "%d", statuses[i]);
        else
            buf_add_c(out, "other");
        buf_printf(out, "\"} %llu\n", (unsigned long long)n);
    }
}

static void print_number(struct buf *out, const char *name, const char *type, const char *help,
                         double value)
{
    metric_print_head(out, name, type, help);
    buf_printf(out, "%s %.17g\n", name, value);
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

static void print_process(struct api *api, struct buf *out)
{
    struct rusage usage;
    struct rlimit files;

    if (getrusage(RUSAGE_SELF, &usage) == 0)
        print_number(out, "process_cpu_seconds_total", "counter", "CPU time of this process",
                     seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
    print_number(out, "process_resident_memory_bytes", "gauge", "Memory of this process",
                 resident_bytes());
    print_number(out, "process_open_fds", "gauge", "Open files and sockets", open_files());
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        print_number(out, "process_max_fds", "gauge", "Files and sockets that may be open",
                     (double)files.rlim_cur);
    print_number(out, "process_start_time_seconds", "gauge", "When this process began",
                 (double)api->started_at / (double)USEC_PER_SEC);
}

static void print_engine(struct api *api, struct buf *out)
{
    struct engine_stats s;

    engine_stats(api->engine, &s);
    print_number(out, "muster_healthy", "gauge", "1 while the database answers", s.healthy);
    print_number(out, "muster_queue_events", "gauge", "Events waiting to be stored",
                 (double)s.queue_events);
    print_number(out, "muster_queue_bytes", "gauge", "Bytes waiting to be stored",
                 (double)s.queue_bytes);
    print_number(out, "muster_reads_waiting", "gauge", "Reads waiting for a thread",
                 (double)s.reads_waiting);
    print_number(out, "muster_exports_running", "gauge", "Exports under way",
                 exports_running(export_exports(api->engine)));
    print_number(out, "muster_store_bytes", "gauge", "Size of the database",
                 (double)retention_store_bytes(api->engine));
    print_number(out, "muster_alerts_open", "gauge", "Alerts that are open, of all tenants",
                 (double)alerts_count_open(api->engine));
    print_number(out, "muster_registry_number", "gauge",
                 "The change number of tenants, keys and settings that this process has",
                 (double)registry_number(access_registry(api->engine)));
}

void metrics_write(struct api *api, struct buf *out)
{
    metric_print_head(out, "muster_build_info", "gauge", "The version that runs");
    buf_printf(out, "muster_build_info{version=\"%s\"} 1\n", api->version);
    metric_print_head(out, "muster_requests_total", "counter",
                      "Answered requests by route and status");
    for (size_t i = 0; i <= n_routes; i++)
        print_requests_of(out, i);
    metric_print(out);
    print_engine(api, out);
    print_process(api, out);
}

static void reply(struct api *api, struct http_exchange *x)
{
    struct buf text;

    buf_init(&text, TEXT_MAX);
    metrics_write(api, &text);
    http_reply(x, &(struct http_reply){ .status = 200,
                                        .content_type = CONTENT_TYPE,
                                        .body = buf_str(&text),
                                        .body_take = text.data });
}

/* "Bearer <metrics_token>". Both are hashed, so that the time taken tells nothing. */
static bool has_token(const struct api_call *call)
{
    struct str value = http_header_get(&call->exchange->request, "authorization");
    struct str scheme = str_split(&value, ' ');
    const struct sha256 wanted = digest_sha256(str_of(call->api->metrics_token));
    const struct sha256 given = digest_sha256(str_trim(value));

    return str_eq_nocase(scheme, STR_LIT("Bearer")) && digest_equal(&wanted, &given);
}

void get_metrics(struct api_call *call)
{
    bool by_token = call->api->metrics_token != NULL && call->api->metrics_token[0] != '\0';

    if (call->exchange->request.peer == PEER_OPERATOR || (by_token && has_token(call)))
        reply(call->api, call->exchange);
    else if (by_token)
        call_reply_unauthorized(call, true);
    else
        call_reply_error(call, 404, "Not Found");
}

/* A listener of its own: no token, no route but one. */

static void plain(struct http_exchange *x, int status, const char *text)
{
    http_reply(x, &(struct http_reply){
                      .status = status, .content_type = "text/plain", .body = str_of(text) });
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
        plain(x, 404, "Only GET /metrics is answered here\n");
}

static void on_too_large(void *ctx, struct http_exchange *x)
{
    (void)ctx;
    plain(x, 413, "No body is taken here\n");
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
