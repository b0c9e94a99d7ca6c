/* cookies.c - session cookies, and checks against requests from other sites. */
#include "features/access/auth.h"

#include <assert.h>

#include "api/api.h"
#include "api/call.h"
#include "http/exchange.h"

static const struct cookie session = { STR_INIT("__Host-muster_session"),
                                       STR_INIT("muster_session") };

static struct str cookie_name(const struct api_call *call, const struct cookie *cookie)
{
    return call->api->secure ? cookie->secure_name : cookie->plain_name;
}

struct str cookie_value(const struct api_call *call, const struct cookie *cookie)
{
    struct str rest = http_header_get(&call->exchange->request, "cookie");
    const struct str name = cookie_name(call, cookie);

    while (!str_is_null(rest)) {
        struct str value = str_trim(str_split(&rest, ';'));

        if (str_eq(str_split(&value, '='), name) && !str_is_null(value))
            return value;
    }
    return STR_NULL;
}

void cookie_set(struct api_call *call, const struct cookie *cookie, struct str value,
                const char *more)
{
    const struct str name = cookie_name(call, cookie);

    call->set_cookie =
        arena_printf(call->arena, "%.*s=%.*s; Path=/; HttpOnly; SameSite=Strict%s%s", STR_ARG(name),
                     STR_ARG(value), call->api->secure ? "; Secure" : "", more);
}

struct str session_cookie(const struct api_call *call)
{
    return cookie_value(call, &session);
}

struct sha256 session_begin(struct api_call *call)
{
    char text[BASE64URL_LEN + 1];

    digest_random_base64url(text);
    call->caller->cookie = arena_copy(call->arena, str_from(text, BASE64URL_LEN));
    cookie_set(call, &session, call->caller->cookie, "");
    return digest_sha256(call->caller->cookie);
}

void session_forget(struct api_call *call)
{
    cookie_set(call, &session, STR_LIT(""), "; Max-Age=0");
}

struct str session_csrf_token(struct api_call *call)
{
    const struct str text = arena_printf(call->arena, "csrf:%.*s", STR_ARG(call->caller->cookie));
    const struct sha256 digest = digest_sha256(text);
    char token[BASE64URL_LEN + 1];

    assert(call->caller->cookie.len == BASE64URL_LEN); /* one that this service made */
    digest_base64url(digest.bytes, token);
    return arena_copy(call->arena, str_from(token, BASE64URL_LEN));
}

/* "https://host:port" names this service. An opaque origin ("null") does not. */
static bool is_own_origin(const struct api_call *call, struct str origin)
{
    struct str rest = origin, host;

    (void)str_split(&rest, ':');
    if (!str_starts(rest, STR_LIT("//")))
        return false;
    host = str_from(rest.data + 2, rest.len - 2);
    return str_eq_nocase(host, http_header_get(&call->exchange->request, "host")) ||
           (!str_is_null(call->api->public_host) && str_eq_nocase(host, call->api->public_host));
}

static bool is_same_origin(const struct api_call *call)
{
    struct str site = http_header_get(&call->exchange->request, "sec-fetch-site");
    struct str origin = http_header_get(&call->exchange->request, "origin");

    if (!str_is_null(site))
        return str_eq(site, STR_LIT("same-origin")) || str_eq(site, STR_LIT("none"));
    return str_is_null(origin) || is_own_origin(call, origin);
}

int session_check_origin(struct api_call *call, struct error *err)
{
    if (is_same_origin(call))
        return 0;
    return call_refuse(call, err, 403, "This request was made by another site");
}

int session_check(struct api_call *call, struct error *err)
{
    const struct http_request *request = &call->exchange->request;
    struct str given;

    if (call->caller->user == NULL || call->caller->personal || request->method == METHOD_GET ||
        request->method == METHOD_HEAD)
        return 0;
    if (session_check_origin(call, err) != 0)
        return -1;
    given = http_header_get(request, "x-csrf-token");
    if (!str_is_null(given) && digest_equal_text(given, session_csrf_token(call)))
        return 0;
    return call_refuse(call, err, 403,
                       "A change needs the header X-CSRF-Token with the session's csrf_token");
}
