/* dispatch.c - checks a request and calls its handler.
 *
 * The order is fixed: path and method, caller, rate, body size, media type,
 * JSON and shape, authority over names; then the handler or work (overload).
 */
#include <assert.h>
#include <stdio.h>

#include "api/api.h"
#include "api/call.h"
#include "api/exposition.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "http/exchange.h"
#include "shape/problems.h"

/* Requests counted by route and status, and how long they took. The first cells count requests that
 * match no route; the others belong to one route each: one cell per status listed here, and one for
 * all other statuses. */
enum { NO_ROUTE = 0 };
static const int statuses[] = { 200, 201, 202, 304, 400, 401, 403, 404, 405,
                                408, 409, 413, 415, 422, 429, 500, 503 };
enum { STATUSES = API_STATUSES };
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

static void count_request(const struct http_exchange *x, int status)
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

void api_print_requests(const struct route_table *table, struct buf *out)
{
    struct exposition e;

    exposition_begin(&e, out, SIZE_MAX);
    exposition_head(&e, "muster_requests_total", "counter",
                    "Answered requests by route and status");
    for (size_t i = 0; i < table->n; i++)
        print_requests_of(&e, table->entries[i].route, 1 + i);
    print_requests_of(&e, NULL, NO_ROUTE);
}

enum {
    FRESH_US = 500000,         /* after a longer wait for the body, the caller is looked up again */
    OPEN_BODY_MAX = 16 * 1024, /* bytes, of callers who need no key */
};

static size_t body_limit(const struct api *api, const struct route *route)
{
    if (route->body_max != 0)
        return route->body_max;
    if (route->auth == AUTH_OPEN)
        return OPEN_BODY_MAX;
    switch (route->limit) {
    case LIMIT_BATCH:
        return api->limits.batch_max_bytes;
    case LIMIT_BUSINESS:
        return api->limits.business_max_bytes;
    case LIMIT_BODY:
        break;
    }
    return api->limits.body_max_bytes;
}

/* The call of an exchange; created with its head, or later if the head was not valid. */
static struct api_call *call_of(struct api *api, struct http_exchange *x)
{
    struct api_call *call = x->app;

    if (call == NULL) {
        call = ARENA_NEW(x->arena, struct api_call);
        call->exchange = x;
        call->arena = x->arena;
        call->api = api;
        call->caller = arena_zalloc(x->arena, api->hooks->caller_size);
        call->asked_us = clock_raw_us();
        x->app = call;
    }
    return call;
}

/* The caller may go on: how much of a body is read, and who pays for it. */
static void expect_body(struct api_call *call)
{
    struct http_exchange *x = call->exchange;
    struct budget *budget;
    struct address named;

    budget = call->api->hooks->budget_of(call);
    if (budget != NULL)
        x->charge.budget = budget;
    else if (call->api->hooks->named_address(call, &named))
        http_count_for(x, &named);
    call->body_us = clock_raw_us();
    x->body_max = body_limit(call->api, call->route);
    x->drops_body = call->route->body == NULL && call->route->takes == NULL;
}

/* The caller is known: checks before the body is read. */
static int want_body(struct api_call *call, struct error *err)
{
    if (call->api->hooks->check_caller(call, err) != 0)
        return -1;
    expect_body(call);
    return 0;
}

static int read_body(struct api_call *call, struct error *err)
{
    if (want_body(call, err) != 0)
        return -1;
    http_read_on(call->exchange);
    return 0;
}

void call_admit(struct api_call *call)
{
    call_run_or_reply(call, read_body);
}

static int refuse_path(struct api_call *call, struct error *err)
{
    struct str allowed =
        route_methods(&call->api->routes, call->exchange->request.path, call->arena);

    if (allowed.len > 0)
        return call_refuse_method(call, err, allowed);
    return call_refuse(call, err, 404, "Not Found");
}

/* Browsers and many clients resolve "." and ".." in a path, also when they are escaped, before they
 * send it. So an agent of such a name is written with a semicolon after it, which these clients
 * keep; in any other value a semicolon is a part of it. */
static struct str value_of_segment(struct str segment, struct arena *arena)
{
    if (str_eq_c(segment, ".;") || str_eq_c(segment, "..;"))
        return str_from(segment.data, segment.len - 1);
    return shape_decode_segment(segment, arena);
}

/* No byte of the body is read before the caller is known. */
static int handle_head(struct api_call *call, struct error *err)
{
    const struct http_request *request = &call->exchange->request;

    if (cors_preflight(call))
        return 0;
    call->route = route_find(&call->api->routes, request->method, request->path, &call->values);
    if (call->route == NULL)
        return refuse_path(call, err);
    for (size_t i = 0; i < call->values.n; i++)
        call->values.values[i] = value_of_segment(call->values.values[i], call->arena);
    if (mem_is_short())
        return err_set(err, ERR_BUSY, "no memory left for new requests");
    if (call->route->auth != AUTH_OPEN && call->api->hooks->identify(call, err) != 0)
        return -1;
    return call->exchange->waits ? 0 : want_body(call, err);
}

static void on_head(void *ctx, struct http_exchange *x)
{
    call_run_or_reply(call_of(ctx, x), handle_head);
}

static bool is_json(struct str type)
{
    if (str_is_null(type) || type.len == 0)
        return true;
    if (str_eq_nocase(type, STR_LIT("application/json")))
        return true;
    return type.len > 5 && str_eq_nocase(str_from(type.data + type.len - 5, 5), STR_LIT("+json"));
}

static bool is_taken(const struct route *route, struct str type)
{
    if (route->takes == NULL || str_is_null(type) || type.len == 0)
        return is_json(type);
    for (size_t i = 0; route->takes[i] != NULL; i++)
        if (str_eq_nocase(type, str_of(route->takes[i])))
            return true;
    return false;
}

static int refuse_media_type(struct api_call *call, struct error *err)
{
    struct str types = STR_LIT("");

    if (call->route->takes == NULL)
        return call_refuse(call, err, 415, "The body must be JSON: Content-Type application/json");
    for (size_t i = 0; call->route->takes[i] != NULL; i++)
        types = arena_printf(call->arena, "%.*s%s%s", STR_ARG(types), i == 0 ? "" : " or ",
                             call->route->takes[i]);
    return call_refuse(call, err, 415, "The Content-Type must be %.*s", STR_ARG(types));
}

static int check_media_type(struct api_call *call, struct error *err)
{
    const struct http_request *request = &call->exchange->request;
    struct str type = http_header_get(request, "content-type");

    if (call->route->body == NULL && call->route->takes == NULL)
        return 0;
    if (request->coding == CODING_OTHER)
        return call_refuse(call, err, 415, "The only Content-Encoding accepted is gzip");
    if (request->has_body && !is_taken(call->route, str_trim(str_split(&type, ';'))))
        return refuse_media_type(call, err);
    return 0;
}

/* Fills params, query and body from the request as the route's shapes say. */
static int check_input(struct api_call *call, struct error *err)
{
    const struct http_request *request = &call->exchange->request;
    const struct route *route = call->route;
    struct problems *problems = NULL;
    int r = 0;

    if (route->params != NULL) {
        const struct path_values path = { call->values.names, call->values.values, call->values.n };

        problems = problems_new(call->arena, "path");
        call->params = arena_zalloc(call->arena, route->params->size);
        r = shape_read_path(route->params, &path, call->arena, call->params, problems);
    }
    if (r == 0 && route->query != NULL) {
        problems = problems_new(call->arena, "query");
        call->query = arena_zalloc(call->arena, route->query->size);
        r = shape_read_query(route->query, request->query, call->arena, call->query, problems);
    }
    if (r == 0 && route->body != NULL) {
        problems = problems_new(call->arena, "body");
        problems->strict = !route_is_for_agents(route);
        if (route->limit == LIMIT_BATCH)
            problems->list_max = call->api->limits.batch_max_events;
        call->body = arena_zalloc(call->arena, route->body->size);
        r = shape_read_json(route->body, request->body, call->arena, call->body, problems);
    }
    if (r == 0)
        return 0;
    if (problems->list_len > 0)
        return call_refuse_size(call, err, call->api->limits.batch_max_events, "events");
    return call_refuse_input(call, err, problems);
}

/* After the body has arrived. */
static int handle_request(struct api_call *call, struct error *err)
{
    const struct route *route = call->route;

    assert(call->body_us != 0);                       /* expect_body() */
    call->asked_us += clock_raw_us() - call->body_us; /* what the client took is its own */
    if (clock_mono_us() - call->exchange->request.began_us >= FRESH_US &&
        call->api->hooks->check_again(call, err) != 0)
        return -1;
    if (check_media_type(call, err) != 0 || check_input(call, err) != 0)
        return -1;
    if (route->auth != AUTH_OPEN && call->api->hooks->authorize(call, err) != 0)
        return -1;
    if (route->answer != NULL)
        call->answer = arena_zalloc(call->arena, route->answer->size);
    return route->handler != NULL ? route->handler(call, err) : call_proceed(call, err);
}

static void on_request(void *ctx, struct http_exchange *x)
{
    call_run_or_reply(call_of(ctx, x), handle_request);
}

static int refuse_too_large(struct api_call *call, struct error *err)
{
    const struct http_charge *charge = &call->exchange->charge;

    if (call->exchange->no_room && charge->full == NULL)
        return call_refuse(call, err, 503, "%s", HTTP_EVICTED);
    if (call->exchange->no_room)
        return call_refuse_share(call, err, charge->full, BUDGET_BODY_BYTES);
    return call_refuse_size(call, err, call->exchange->body_max, "bytes");
}

static void on_too_large(void *ctx, struct http_exchange *x)
{
    call_run_or_reply(call_of(ctx, x), refuse_too_large);
}

static void on_refused(void *ctx, struct http_exchange *x, int status, const char *detail)
{
    struct api_call *call = call_of(ctx, x);
    struct error err = { 0 };

    (void)call_refuse(call, &err, status, "%s", detail);
    call_reply(call, &err);
}

/* E-mail addresses stay out of the log. */
static struct str path_to_log(const struct api_call *call, const struct http_exchange *x)
{
    for (size_t i = 0; call != NULL && call->route != NULL && i < call->values.n; i++)
        if (str_eq(call->values.names[i], STR_LIT("email")))
            return str_of(call->route->path);
    return x->request.path;
}

static void on_done(void *ctx, const struct http_exchange *x, int status, size_t bytes)
{
    const struct api_call *call = x->app;
    struct log_line line;

    (void)ctx;
    count_request(x, status);
    if (!log_wanted(LOG_INFO))
        return;
    log_begin(&line, LOG_INFO, "access");
    log_str(&line, "request_id", x->request_id);
    log_str(&line, "method", x->request.method_name);
    log_str(&line, "path", path_to_log(call, x));
    log_int(&line, "status", status);
    log_int(&line, "bytes", (int64_t)bytes);
    log_int(&line, "us", clock_mono_us() - x->request.began_us);
    log_str(&line, "peer", x->request.peer_address);
    if (call != NULL)
        call->api->hooks->log_caller(call, &line);
    log_end(&line);
}

void api_app(struct api *api, struct http_app *ret)
{
    *ret = (struct http_app){ .ctx = api,
                              .on_head = on_head,
                              .on_request = on_request,
                              .on_too_large = on_too_large,
                              .on_refused = on_refused,
                              .on_done = on_done };
}
