/* auth.c - tokens, sessions, operators, and authority over names. */
#include "features/access/auth.h"

#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "features/access/registry.h"
#include "features/access/token.h"
#include "features/access/users/cookies.h"
#include "features/access/users/sessions.h"
#include "http/exchange.h"

/* The token of "Bearer <token>"; STR_NULL when the header is absent or says anything else. */
static struct str bearer_token(const struct http_request *request)
{
    struct str value = str_trim(http_header_get(request, "authorization"));
    struct str scheme = str_split(&value, ' ');

    value = str_trim(value);
    if (!str_eq_nocase(scheme, STR_LIT("Bearer")) || value.len == 0)
        return STR_NULL;
    return value;
}

/* Keys alone report and pull: an operator who wants to do so uses one. */
static bool is_operator(const struct api_call *call)
{
    return call->exchange->request.peer == PEER_OPERATOR && call->route->auth >= AUTH_READ;
}

bool auth_look_up(struct api_call *call)
{
    int64_t now_us = clock_wall_us();

    if (!str_is_null(call->cookie)) {
        call->user =
            sessions_find(engine_sessions(call->api->engine), &call->digest, now_us, call->arena);
        call->unknown_token = call->user == NULL;
        return call->user != NULL;
    }
    call->key = registry_key(engine_registry(call->api->engine), &call->digest, now_us);
    call->unknown_token = call->key == NULL;
    if (call->key != NULL)
        key_use_remember(call->key->use, now_us);
    return call->key != NULL;
}

/* Who sends no Authorization may be somebody who is logged in; agents' routes take keys alone. */
static bool identify_user(struct api_call *call)
{
    struct str cookie = call->route->auth >= AUTH_USER ? session_cookie(call) : STR_NULL;

    if (cookie.len == BASE64URL_LEN) {
        call->cookie = cookie;
        call->digest = digest_sha256(cookie);
        (void)auth_look_up(call);
        return true;
    }
    call_reply_unauthorized(call, false);
    return false;
}

bool auth_identify(struct api_call *call)
{
    struct str token;

    if (call->route->auth == AUTH_OPEN || is_operator(call))
        return true;
    if (str_is_null(http_header_get(&call->exchange->request, "authorization")))
        return identify_user(call);
    token = bearer_token(&call->exchange->request);
    if (str_is_null(token)) {
        call_reply_unauthorized(call, false);
        return false;
    }
    if (!token_is_well_formed(token)) {
        call_reply_unauthorized(call, true);
        return false;
    }
    call->digest = digest_sha256(token);
    (void)auth_look_up(call);
    return true;
}

/* The path's {slug}; every route that has one has it first. */
static struct str path_slug(const struct api_call *call)
{
    bool has = call->values.n > 0 && str_eq(call->values.names[0], STR_LIT("slug"));

    return has ? call->values.values[0] : STR_NULL;
}

static bool authorize_operator(struct api_call *call, struct str slug)
{
    if (str_is_null(slug))
        return true;
    call->tenant = registry_tenant(engine_registry(call->api->engine), slug);
    if (call->tenant == NULL)
        call_reply_error(call, 404, "There is no tenant '%.*s'", STR_ARG(slug));
    return call->tenant != NULL;
}

/* A platform admin is the operator, but for being logged in. Anybody else is told the same of a
 * tenant they have no role in and of one that is not there. */
static bool authorize_user(struct api_call *call, struct str slug)
{
    const struct tenant_entry *tenant;
    enum tenant_role role;

    if (call->route->auth == AUTH_USER)
        return true;
    if (call->user->is_platform_admin)
        return authorize_operator(call, slug);
    if (call->route->auth == AUTH_PLATFORM) {
        call_reply_error(call, 403, "This is for platform admins");
        return false;
    }
    tenant = registry_tenant(engine_registry(call->api->engine), slug);
    role = tenant == NULL ? ROLE_NONE : user_role(call->user, tenant->id);
    if (role == ROLE_NONE) {
        call_reply_error(call, 403, "You have no access to that tenant");
        return false;
    }
    if (call->route->auth == AUTH_ADMIN && role != ROLE_ADMIN) {
        call_reply_error(call, 403, "This is for admins of the tenant");
        return false;
    }
    call->tenant = tenant;
    return true;
}

bool auth_authorize(struct api_call *call)
{
    struct str slug = path_slug(call);
    const struct key_entry *key = call->key;

    if (call->route->auth == AUTH_OPEN)
        return true;
    if (call->user != NULL)
        return authorize_user(call, slug);
    if (key == NULL)
        return authorize_operator(call, slug);
    if (call->route->auth >= AUTH_MEMBER || call->route->auth == AUTH_USER) {
        call_reply_error(call, 403,
                         "This is for administrators; a workspace or agent key cannot do it");
        return false;
    }
    if (call->route->auth == AUTH_OWN_AGENT && key->kind != TOKEN_AGENT) {
        call_reply_error(call, 403,
                         "Only the agent's own key gives this; a workspace key does not");
        return false;
    }
    if (call->route->auth == AUTH_READ && key->kind == TOKEN_AGENT) {
        call_reply_error(call, 403, "A per-agent key cannot read; use a workspace key");
        return false;
    }
    if (!str_is_null(slug) && !str_eq(slug, key->tenant->slug)) {
        call_reply_error(call, 403, "This key does not give access to that tenant");
        return false;
    }
    call->tenant = key->tenant;
    return true;
}

bool auth_may_report(struct api_call *call, struct str client_id, struct str agent_name)
{
    const struct key_entry *key = call->key;

    if (!str_is_null(client_id) && !str_eq(client_id, key->tenant->slug)) {
        call_reply_error(call, 403, "This key does not belong to tenant '%.*s'",
                         STR_ARG(client_id));
        return false;
    }
    if (key->kind == TOKEN_AGENT && !str_eq(agent_name, key->agent_name)) {
        call_reply_error(call, 403, "This key is bound to agent '%.*s'", STR_ARG(key->agent_name));
        return false;
    }
    return true;
}

bool auth_is_admin(const struct api_call *call)
{
    const struct session_user *user = call->user;

    if (call->key != NULL)
        return false;
    return user == NULL || user->is_platform_admin ||
           user_role(user, call->tenant->id) == ROLE_ADMIN;
}
