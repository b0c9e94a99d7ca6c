/* auth.c - tokens, sessions, operators, and authority over names. */
#include "features/access/auth.h"

#include <assert.h>

#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "features/access/registry.h"
#include "features/access/sessions.h"
#include "features/metrics.h"
#include "http/exchange.h"

/* The token of "Bearer <token>"; STR_NULL when the header is absent or says anything else. Programs
 * that do not decode OTEL_EXPORTER_OTLP_HEADERS, whose values are percent-encoded, send
 * "Bearer%20<token>". */
static struct str bearer_token(const struct http_request *request)
{
    const struct str encoded = STR_LIT("Bearer%20");
    struct str value = str_trim(http_header_get(request, "authorization"));
    struct str scheme;

    if (value.len > encoded.len && str_eq_nocase(str_from(value.data, encoded.len), encoded))
        return str_from(value.data + encoded.len, value.len - encoded.len);
    scheme = str_split(&value, ' ');
    value = str_trim(value);
    if (!str_eq_nocase(scheme, STR_LIT("Bearer")) || value.len == 0)
        return STR_NULL;
    return value;
}

/* The routes on which agents report and pull need a key, even from the operator. */
static bool is_operator(const struct api_call *call)
{
    return call->exchange->request.peer == PEER_OPERATOR && call->route->auth >= AUTH_READ;
}

bool auth_look_up(struct api_call *call)
{
    int64_t now_us = clock_wall_us();

    if (call->caller->personal || !str_is_null(call->caller->cookie)) {
        call->caller->user = sessions_find(access_sessions(call->api->engine),
                                           &call->caller->digest, now_us, call->arena);
        call->caller->unknown_token = call->caller->user == NULL;
        return call->caller->user != NULL;
    }
    call->caller->key =
        registry_key(access_registry(call->api->engine), &call->caller->digest, now_us);
    call->caller->unknown_token = call->caller->key == NULL;
    call->by_program = call->caller->key != NULL;
    if (call->caller->key != NULL) {
        arena_defer(call->arena, key_unhold, call->caller->key->use);
        key_use_remember(call->caller->key->use, now_us);
    }
    return call->caller->key != NULL;
}

/* A request without Authorization may be a signed-in user's; agents' routes accept only keys. */
static int identify_user(struct api_call *call, struct error *err)
{
    struct str cookie = call->route->auth >= AUTH_USER ? session_cookie(call) : STR_NULL;

    if (cookie.len == BASE64URL_LEN) {
        call->caller->cookie = cookie;
        call->caller->digest = digest_sha256(cookie);
        (void)auth_look_up(call);
        return 0;
    }
    return call_refuse_caller(call, err, false);
}

int auth_identify(struct api_call *call, struct error *err)
{
    struct str token;

    if (is_operator(call))
        return 0;
    if (str_is_null(http_header_get(&call->exchange->request, "authorization")))
        return identify_user(call, err);
    token = bearer_token(&call->exchange->request);
    if (str_is_null(token) || !token_is_well_formed(token))
        return call_refuse_caller(call, err, !str_is_null(token));
    call->caller->personal = token_is_personal(token);
    call->caller->digest = digest_sha256(token);
    (void)auth_look_up(call);
    return 0;
}

/* The path's {slug}; every route that has one has it first. */
static struct str path_slug(const struct api_call *call)
{
    bool has = call->values.n > 0 && str_eq(call->values.names[0], STR_LIT("slug"));

    return has ? call->values.values[0] : STR_NULL;
}

static void enter_tenant(struct api_call *call, struct tenant_entry *tenant)
{
    assert(tenant->id > 0);
    call->tenant = tenant;
    call->tenant_id = tenant->id;
    call->budget = &tenant->budget;
}

static int authorize_operator(struct api_call *call, struct str slug, struct error *err)
{
    struct tenant_entry *tenant;

    if (str_is_null(slug))
        return 0;
    tenant = registry_tenant(access_registry(call->api->engine), slug);
    if (tenant == NULL)
        return call_refuse(call, err, 404, "There is no tenant '%.*s'", STR_ARG(slug));
    enter_tenant(call, tenant);
    return 0;
}

/* A token may end itself, and nothing else of its user's account. */
static bool deletes_itself(const struct api_call *call)
{
    return call->exchange->request.method == METHOD_DELETE && call->values.n == 1 &&
           str_eq(call->values.names[0], STR_LIT("token_id")) &&
           str_eq(call->values.values[0], call->caller->user->token_id);
}

/* A signed-in platform admin may do what the operator may. Other users get the same answer for a
 * tenant they have no role in and for one that does not exist. */
static int authorize_user(struct api_call *call, struct str slug, struct error *err)
{
    struct tenant_entry *tenant;
    enum tenant_role role;

    assert(call->caller->user != NULL && call->caller->key == NULL);
    if (call->route->auth == AUTH_READ_KEY)
        return call_refuse(call, err, 403,
                           "A personal access token does not work here; use a read-only key or a "
                           "workspace key");
    if (call->route->auth < AUTH_USER)
        return call_refuse(call, err, 403,
                           "A personal access token cannot report or pull; use a key");
    if (call->route->auth == AUTH_USER && call->caller->personal &&
        call->exchange->request.method != METHOD_GET && !deletes_itself(call))
        return call_refuse(call, err, 403,
                           "Not allowed with a personal access token; sign in as the user");
    if (call->route->auth == AUTH_USER)
        return 0;
    if (call->caller->user->is_platform_admin)
        return authorize_operator(call, slug, err);
    if (call->route->auth == AUTH_PLATFORM)
        return call_refuse(call, err, 403, "Only platform admins may do this");
    tenant = registry_tenant(access_registry(call->api->engine), slug);
    role = tenant == NULL ? ROLE_NONE : user_role(call->caller->user, tenant->id);
    if (role == ROLE_NONE)
        return call_refuse(call, err, 403, "You have no access to that tenant");
    if (call->route->auth == AUTH_ADMIN && role != ROLE_ADMIN)
        return call_refuse(call, err, 403, "Only admins of the tenant may do this");
    enter_tenant(call, tenant);
    return 0;
}

static int authorize_key(struct api_call *call, struct str slug, struct error *err)
{
    const struct key_entry *key = call->caller->key;

    if (call->route->auth >= AUTH_MEMBER || call->route->auth == AUTH_USER)
        return call_refuse(call, err, 403, "Not allowed with a key; sign in as a user");
    if (call->route->auth == AUTH_REPORT && key->kind == TOKEN_READ_ONLY)
        return call_refuse(call, err, 403,
                           "A read-only key cannot report; use a workspace key or an agent key");
    if (call->route->auth == AUTH_OWN_AGENT && key->kind != TOKEN_AGENT)
        return call_refuse(call, err, 403, "Only the agent's own key may do this");
    if ((call->route->auth == AUTH_READ || call->route->auth == AUTH_READ_KEY) &&
        key->kind == TOKEN_AGENT)
        return call_refuse(call, err, 403,
                           "An agent key cannot read; use a workspace key or a read-only key");
    if (!str_is_null(slug) && !str_eq(slug, key->tenant->slug))
        return call_refuse(call, err, 403, "This key does not give access to that tenant");
    enter_tenant(call, key->tenant);
    return 0;
}

int auth_authorize(struct api_call *call, struct error *err)
{
    struct str slug = path_slug(call);

    if (call->caller->user != NULL)
        return authorize_user(call, slug, err);
    if (call->caller->key != NULL)
        return authorize_key(call, slug, err);
    return authorize_operator(call, slug, err);
}

int auth_may_report(struct api_call *call, struct str client_id, struct str agent_name,
                    struct error *err)
{
    const struct key_entry *key = call->caller->key;

    if (!str_is_null(client_id) && !str_eq(client_id, key->tenant->slug))
        return call_refuse(call, err, 403, "This key does not belong to tenant '%.*s'",
                           STR_ARG(client_id));
    if (key->kind == TOKEN_AGENT && !str_eq(agent_name, key->agent_name))
        return call_refuse(call, err, 403, "This key is bound to agent '%.*s'",
                           STR_ARG(key->agent_name));
    return 0;
}

int auth_refuse_quota(struct api_call *call, struct error *err)
{
    const struct tenant_entry *tenant = call->tenant;

    metric_add(METRIC_QUOTA_REFUSED, 1);
    return call_refuse(
        call, err, 507,
        "The stored reports of tenant '%.*s' take %lld bytes and its plan allows %lld, "
        "so nothing of this request was stored; let retention delete old data, or "
        "have the plan changed",
        STR_ARG(tenant->slug), (long long)atomic_load(&tenant->stored_bytes),
        (long long)atomic_load(&tenant->max_bytes));
}

bool auth_is_admin(const struct api_call *call)
{
    const struct session_user *user = call->caller->user;

    if (call->caller->key != NULL)
        return false;
    return user == NULL || user->is_platform_admin ||
           user_role(user, call->tenant_id) == ROLE_ADMIN;
}

bool auth_may_go_on(const struct api_call *call, int64_t *checked_us, int period_s)
{
    const int64_t now_us = clock_mono_us();

    if (call->caller->key != NULL)
        return key_is_good(call->caller->key, clock_wall_us());
    if (call->caller->user == NULL || now_us - *checked_us < (int64_t)period_s * USEC_PER_SEC)
        return true;
    *checked_us = now_us;
    return sessions_may_look_up(access_sessions(call->api->engine), &call->caller->user->session,
                                call->tenant_id, clock_wall_us());
}

struct str auth_actor(const struct api_call *call)
{
    if (call->caller->user != NULL && call->caller->personal)
        return arena_printf(call->arena, "person:%.*s token:%.*s",
                            STR_ARG(call->caller->user->email),
                            STR_ARG(call->caller->user->token_id));
    if (call->caller->user != NULL)
        return arena_printf(call->arena, "person:%.*s", STR_ARG(call->caller->user->email));
    if (call->caller->key == NULL && call->exchange->request.peer == PEER_OPERATOR)
        return STR_LIT("operator");
    if (call->caller->key == NULL)
        return STR_LIT("anonymous");
    return arena_printf(call->arena, "key:%.*s", STR_ARG(call->caller->key->key_id));
}

/* Cuts the last of a comma-separated list off. */
static struct str take_last(struct str *list)
{
    const char *comma = memrchr(list->data, ',', list->len);
    size_t begin = comma == NULL ? 0 : (size_t)(comma - list->data) + 1;
    struct str last = str_from(list->data + begin, list->len - begin);

    list->len = comma == NULL ? 0 : begin - 1;
    return str_trim(last);
}

/* Moves *from backwards along one header line while it is a trusted proxy. False: the client's
 * address is found. */
static bool walk_back(const struct api_call *call, struct str line, struct address *from)
{
    while (line.len > 0) {
        struct str entry = take_last(&line);

        if (entry.len == 0)
            continue;
        /* a proxy may forward anything: what is no address ends the walk at that proxy */
        if (!address_parse_peer(entry, from) ||
            !address_list_has(&call->api->trusted_proxies, from))
            return false;
    }
    return true;
}

struct address auth_address(const struct api_call *call)
{
    const struct http_request *request = &call->exchange->request;
    struct address from = { .family = ADDRESS_NONE };
    size_t i = request->n_headers;

    if (!address_parse_peer(request->peer_address, &from) ||
        !address_list_has(&call->api->trusted_proxies, &from))
        return from;
    while (i-- > 0)
        if (str_eq(request->headers[i].name, STR_LIT("x-forwarded-for")) &&
            !walk_back(call, request->headers[i].value, &from))
            break;
    return from;
}

struct str auth_origin(struct api_call *call)
{
    const struct address from = auth_address(call);
    char text[ADDRESS_CHARS_MAX];

    if (from.family == ADDRESS_NONE)
        return call->exchange->request.peer_address;
    return arena_copy(call->arena, address_format(&from, text));
}
