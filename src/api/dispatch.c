/* dispatch.c - from a request to its handler, check by check.
 *
 * The order is fixed: path and method, token, rate, body size, media type,
 * JSON and shape, authority over names; then the handler (saturation, work).
 */
#include "api/api.h"
#include "api/call.h"
#include "api/request_metrics.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/engine.h"
#include "features/access/auth.h"
#include "features/access/key_check.h"
#include "features/access/registry.h"
#include "features/access/users/cookies.h"
#include "features/access/users/sessions.h"
#include "http/exchange.h"
#include "shape/problems.h"

enum { FRESH_US = 500000 }; /* who called is not looked up again for a request this young */

static size_t body_limit(const struct api *api, const struct route *route)
{
    if (route->body_max != 0)
        return route->body_max;
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

/* The call of an exchange; made at its head, or when it never got that far. */
static struct api_call *call_of(struct api *api, struct http_exchange *x)
{
    struct api_call *call = x->app;

    if (call == NULL) {
        call = ARENA_NEW(x->arena, struct api_call);
        call->exchange = x;
        call->arena = x->arena;
        call->api = api;
        x->app = call;
    }
    return call;
}

/* False when it has answered. */
static bool check_rate(struct api_call *call)
{
    int64_t limit;

    if (call->user != NULL) {
        call->rate = sessions_rate(engine_sessions(call->api->engine), &call->user->session,
                                   clock_mono_us());
    } else if (call->key != NULL) {
        limit = atomic_load_explicit(&call->key->tenant->rate_limit, memory_order_relaxed);
        call->rate = rate_take(call->key->rate, limit, clock_mono_us());
    } else {
        return true;
    }
    call->has_rate = true;
    if (!call->rate.allowed)
        call_reply_error(call, 429, "Rate limit exceeded: %lld requests in %d seconds with one %s",
                         (long long)call->rate.limit, RATE_WINDOW_S,
                         call->user != NULL ? "session" : "token");
    return call->rate.allowed;
}

/* The token is known: the rest of what is checked before the body. False when it has answered. */
static bool want_body(struct api_call *call)
{
    if (!session_check(call) || !check_rate(call))
        return false;
    call->exchange->body_max = body_limit(call->api, call->route);
    return true;
}

/* No byte of the body is read before the key is known to be good. */
static void read_on(struct api_call *call)
{
    if (want_body(call))
        http_read_on(call->exchange);
}

static void on_head(void *ctx, struct http_exchange *x)
{
    struct api *api = ctx;
    struct api_call *call = call_of(api, x);
    struct str allowed;

    call->route = route_find(&api->routes, x->request.method, x->request.path, &call->values);
    if (call->route == NULL) {
        allowed = route_methods(&api->routes, x->request.path, x->arena);
        if (allowed.len > 0)
            call_reply_wrong_method(call, allowed);
        else
            call_reply_error(call, 404, "Not Found");
        return;
    }
    for (size_t i = 0; i < call->values.n; i++)
        call->values.values[i] = shape_decode_segment(call->values.values[i], x->arena);
    if (!auth_identify(call))
        return;
    if (key_check_needed(call))
        key_check(call, read_on);
    else
        (void)want_body(call);
}

static bool is_json(struct str content_type)
{
    struct str type = str_trim(str_split(&content_type, ';'));

    if (str_is_null(type) || type.len == 0)
        return true;
    if (str_eq_nocase(type, STR_LIT("application/json")))
        return true;
    return type.len > 5 && str_eq_nocase(str_from(type.data + type.len - 5, 5), STR_LIT("+json"));
}

static bool check_media_type(struct api_call *call)
{
    const struct http_request *request = &call->exchange->request;

    if (call->route->body == NULL)
        return true;
    if (request->coding == CODING_OTHER) {
        call_reply_error(call, 415, "Only gzip is taken as Content-Encoding");
        return false;
    }
    if (request->has_body && !is_json(http_header_get(request, "content-type"))) {
        call_reply_error(call, 415, "The body must be JSON: Content-Type application/json");
        return false;
    }
    return true;
}

/* Fills params, query and body from the request as the route's shapes say. */
static bool check_input(struct api_call *call)
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
        if (route->limit == LIMIT_BATCH)
            problems_set_list_max(problems, call->api->limits.batch_max_events);
        call->body = arena_zalloc(call->arena, route->body->size);
        r = shape_read_json(route->body, request->body, call->arena, call->body, problems);
    }
    if (r != 0 && problems_list_len(problems) > 0)
        call_reply_too_large(call, call->api->limits.batch_max_events, "events");
    else if (r != 0)
        call_reply_problems(call, problems);
    return r == 0;
}

/* A body may take its time: whoever was sent away meanwhile may do nothing with it. */
static bool check_again(struct api_call *call)
{
    bool somebody = call->key != NULL || call->user != NULL;

    if (!somebody || clock_mono_us() - call->exchange->request.began_us < FRESH_US ||
        auth_look_up(call))
        return true;
    call_reply_unauthorized(call, str_is_null(call->cookie));
    return false;
}

/* Everything after the body has come and the token is known. */
static void go_on(struct api_call *call)
{
    if (check_again(call) && check_media_type(call) && check_input(call) && auth_authorize(call))
        call->route->handler(call);
}

static void on_request(void *ctx, struct http_exchange *x)
{
    go_on(call_of(ctx, x));
}

static void on_too_large(void *ctx, struct http_exchange *x)
{
    struct api_call *call = call_of(ctx, x);

    if (x->no_room)
        call_reply_failure(call, &(struct error){ .code = ERR_BUSY });
    else
        call_reply_too_large(call, x->body_max, "bytes");
}

static void on_refused(void *ctx, struct http_exchange *x, int status, const char *detail)
{
    call_reply_error(call_of(ctx, x), status, "%s", detail);
}

/* People's addresses stay out of the log. */
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
    request_metrics_count(x, status);
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
    if (call != NULL && call->user != NULL) {
        if (call->tenant != NULL)
            log_str(&line, "tenant", call->tenant->slug);
        log_str(&line, "person", call->user->user_id);
    } else if (call != NULL && call->key != NULL) {
        log_str(&line, "tenant", call->key->tenant->slug);
        log_str(&line, "key", call->key->key_id);
    }
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
