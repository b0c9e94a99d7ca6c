/* hooks.c - the API's hooks: checks at each request. */
#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/engine.h"
#include "features/access/access.h"
#include "features/access/auth.h"
#include "features/access/key_check.h"
#include "features/access/rate.h"
#include "features/access/registry.h"
#include "features/access/users/cookies.h"
#include "features/access/users/sessions.h"

static int identify_caller(struct api_call *call, struct error *err)
{
    if (auth_identify(call, err) != 0)
        return -1;
    return key_check_needed(call) ? key_check(call, err) : 0;
}

static int check_rate(struct api_call *call, struct error *err)
{
    struct rate_verdict verdict;

    if (call->user != NULL)
        verdict = sessions_rate(access_sessions(call->api->engine), &call->user->session,
                                clock_mono_us());
    else if (call->key != NULL)
        verdict =
            rate_take(call->key->rate,
                      atomic_load_explicit(&call->key->tenant->rate_limit, memory_order_relaxed),
                      clock_mono_us());
    else
        return 0;
    call->has_rate = true;
    call->rate = (struct call_rate){ verdict.limit, verdict.remaining, verdict.reset_s };
    if (verdict.allowed)
        return 0;
    return call_refuse(call, err, 429, "Rate limit exceeded: %lld requests in %d seconds per %s",
                       (long long)verdict.limit, RATE_WINDOW_S,
                       call->user != NULL && !call->personal ? "session" : "token");
}

static int check_caller(struct api_call *call, struct error *err)
{
    return session_check(call, err) != 0 ? -1 : check_rate(call, err);
}

/* A user counts for the tenant of the path when they have a role there. */
static struct budget *budget_of_user(const struct api_call *call)
{
    bool has_slug = call->values.n > 0 && str_eq(call->values.names[0], STR_LIT("slug"));
    const struct tenant_entry *tenant = NULL;

    if (has_slug)
        tenant = registry_tenant(access_registry(call->api->engine), call->values.values[0]);
    if (tenant != NULL &&
        (call->user->is_platform_admin || user_role(call->user, tenant->id) != ROLE_NONE))
        return tenant_budget(tenant);
    return call->user->is_platform_admin ? &engine_budgets(call->api->engine)->service : NULL;
}

static struct budget *budget_of_caller(const struct api_call *call)
{
    if (call->key != NULL)
        return key_budget(call->key);
    return call->user != NULL ? budget_of_user(call) : NULL;
}

static bool named_address(const struct api_call *call, struct address *ret)
{
    const struct address_list *proxies = &call->api->trusted_proxies;

    if (proxies->n == 0)
        return false;
    *ret = auth_address(call);
    return ret->family != ADDRESS_NONE && !address_list_has(proxies, ret);
}

/* Behind a trusted proxy the peer is the proxy. */
static void log_client(const struct api_call *call, struct log_line *line)
{
    char text[ADDRESS_CHARS_MAX];
    struct address from;

    if (call->api->trusted_proxies.n == 0)
        return;
    from = auth_address(call);
    if (from.family != ADDRESS_NONE)
        log_str(line, "client", address_format(&from, text));
}

static void log_caller(const struct api_call *call, struct log_line *line)
{
    log_client(call, line);
    if (call->user != NULL) {
        if (call->tenant != NULL)
            log_str(line, "tenant", call->tenant->slug);
        log_str(line, "person", call->user->user_id);
        if (call->personal)
            log_str(line, "token", call->user->token_id);
    } else if (call->key != NULL) {
        log_str(line, "tenant", call->key->tenant->slug);
        log_str(line, "key", call->key->key_id);
    }
}

const struct api_hooks access_hooks = {
    .identify = identify_caller,
    .check_caller = check_caller,
    .budget_of = budget_of_caller,
    .named_address = named_address,
    .look_up = auth_look_up,
    .authorize = auth_authorize,
    .log_caller = log_caller,
};
