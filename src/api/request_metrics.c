/* request_metrics.c - requests counted by route and status, and how long they took. */
#include "api/api.h"

#include <stdio.h>

#include "api/call.h"
#include "api/exposition.h"
#include "base/clock.h"
#include "base/metrics.h"

/* The first cells count requests that match no route; the others belong to one route each: one cell
 * per status listed here, and one for all other statuses. */
enum { NO_ROUTE = 0 };
static const int statuses[] = { 200, 201, 202, 304, 400, 401, 403, 404, 405,
                                408, 409, 413, 415, 422, 429, 500, 503 };
enum { STATUSES = REQUEST_METRICS_STATUSES };
_Static_assert(STATUSES == COUNT_OF(statuses) + 1, "a cell per status, and one for the others");

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
    case AUTH_REPORT:
    case AUTH_OWN_AGENT:
        return HISTOGRAM_PULL;
    case AUTH_READ:
    case AUTH_READ_KEY:
        return HISTOGRAM_READ;
    default:
        return HISTOGRAM_ADMIN;
    }
}

void request_metrics_count(const struct http_exchange *x, int status)
{
    const struct api_call *call = x->app;
    const struct route *route = call == NULL ? NULL : call->route;
    size_t entry = route == NULL ? NO_ROUTE : 1 + call->values.entry;

    metric_extra_add(entry * STATUSES + status_cell(status), 1);
    if (x->stream == NULL) /* the duration of a stream depends on its client */
        metric_observe(class_of(route), (uint64_t)(clock_mono_us() - x->request.began_us));
}

/* `route` NULL: requests that match no route. */
static void print_requests_of(struct exposition *e, const struct route *route, size_t index)
{
    char status[16];
    struct exposition_label labels[] = {
        { "method", str_of(route == NULL ? "" : route_method_name(route->method)) },
        { "route", str_of(route == NULL ? "" : route->path) },
        { "status", STR_NULL },
    };

    for (size_t i = 0; i < STATUSES; i++) {
        uint64_t n = metric_extra_sum(index * STATUSES + i);

        if (n == 0)
            continue;
        (void)snprintf(status, sizeof(status), "%d", i < COUNT_OF(statuses) ? statuses[i] : 0);
        labels[2].value = i < COUNT_OF(statuses) ? str_of(status) : STR_LIT("other");
        exposition_add_int(e, "muster_requests_total", labels, COUNT_OF(labels), (int64_t)n);
    }
}

void request_metrics_write(const struct route_table *table, struct buf *out)
{
    struct exposition e;

    exposition_begin(&e, out, SIZE_MAX);
    exposition_head(&e, "muster_requests_total", "counter",
                    "Answered requests by route and status");
    for (size_t i = 0; i < table->n; i++)
        print_requests_of(&e, table->entries[i].route, 1 + i);
    print_requests_of(&e, NULL, NO_ROUTE);
}
