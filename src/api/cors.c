/* cors.c - which origins may call, and what browsers are told. */
#include "api/api.h"
#include "api/call.h"
#include "base/address.h"
#include "http/exchange.h"

#define PREFLIGHT_S "600" /* how long a browser may remember the answer */

/* NULL: it is an origin as browsers send it; otherwise what is wrong. */
static const char *origin_fault(struct str origin)
{
    const struct str own_port =
        str_starts(origin, STR_LIT("https:")) ? STR_LIT(":443") : STR_LIT(":80");

    if (str_eq(origin, STR_LIT("*")))
        return "name each origin: any page could use a token otherwise";
    for (size_t i = 0; i < origin.len; i++)
        if (origin.data[i] >= 'A' && origin.data[i] <= 'Z')
            return "give it in lower case, as browsers do";
    if (!url_is_plain(origin, "https http"))
        return "give https:// or http://, a host and perhaps a port, without a path";
    if (str_eq(str_from(origin.data + origin.len - own_port.len, own_port.len), own_port))
        return "leave the scheme's own port out, as browsers do";
    return NULL;
}

int cors_read(const char *value, struct cors_origins *ret, struct error *err)
{
    struct str rest = str_of(value);

    *ret = (struct cors_origins){ 0 };
    if (str_trim(rest).len == 0)
        return 0;
    while (!str_is_null(rest)) {
        struct str origin = str_trim(str_split(&rest, ','));
        const char *fault = origin_fault(origin);

        if (fault != NULL)
            return err_set(err, ERR_INVALID,
                           "cors_origins: '%.*s' is not an origin such as "
                           "https://app.example.com: %s",
                           STR_ARG(origin), fault);
        if (ret->n == CORS_ORIGINS_MAX)
            return err_set(err, ERR_INVALID, "cors_origins: at most %d origins", CORS_ORIGINS_MAX);
        ret->items[ret->n++] = origin;
    }
    return 0;
}

/* The request's origin, if it is in the list; else STR_NULL. */
static struct str allowed_origin(const struct api_call *call)
{
    const struct cors_origins *list = &call->api->cors;
    struct str origin = http_header_get(&call->exchange->request, "origin");

    for (size_t i = 0; i < list->n; i++)
        if (str_eq(list->items[i], origin))
            return list->items[i];
    return STR_NULL;
}

size_t cors_headers(const struct api_call *call, struct http_header *ret)
{
    static const struct str exposed =
        STR_INIT("ETag, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, "
                 "X-Config-Missing, X-Request-Id");
    struct str origin;
    size_t n = 0;

    if (call->api->cors.n == 0)
        return 0;
    ret[n++] = (struct http_header){ STR_LIT("Vary"), STR_LIT("Origin") };
    origin = allowed_origin(call);
    if (str_is_null(origin))
        return n;
    ret[n++] = (struct http_header){ STR_LIT("Access-Control-Allow-Origin"), origin };
    ret[n++] = (struct http_header){ STR_LIT("Access-Control-Expose-Headers"), exposed };
    return n;
}

bool cors_preflight(struct api_call *call)
{
    const struct http_request *request = &call->exchange->request;
    struct http_header headers[] = {
        { STR_LIT("Access-Control-Allow-Methods"), STR_NULL },
        { STR_LIT("Access-Control-Allow-Headers"),
          STR_LIT("Authorization, Content-Type, Content-Encoding, If-None-Match, Last-Event-ID, "
                  "MCP-Protocol-Version") },
        { STR_LIT("Access-Control-Max-Age"), STR_LIT(PREFLIGHT_S) },
    };

    if (call->api->cors.n == 0 || !str_eq(request->method_name, STR_LIT("OPTIONS")) ||
        str_is_null(http_header_get(request, "access-control-request-method")) ||
        str_is_null(allowed_origin(call)))
        return false;
    headers[0].value = route_methods(&call->api->routes, request->path, call->arena);
    if (headers[0].value.len == 0)
        return false; /* 404 */
    call_reply_empty(call, headers, COUNT_OF(headers));
    return true;
}
