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
#include "features/access/rates/rate_share.h"
#include "features/access/registry.h"
#include "features/access/users/cookies.h"
#include "features/access/users/sessions.h"

enum { TENANT_CHANGES_MAX = 600 }; /* per rate window */

static int identify_caller(struct api_call *call, struct error *err)
{
    if (auth_identify(call, err) != 0)
        return -1;
    return key_check_needed(call) ? key_check(call, err) : 0;
}

static void free_window(void *window)
{
    rate_window_free(window);
}

/* The window in which the caller counts, valid as long as the call; NULL: in none. */
static struct rate_window *window_of(struct api_call *call, int64_t *ret_limit)
{
    struct rate_window *window;

    if (call->user == NULL) {
        if (call->key == NULL)
            return NULL;
        *ret_limit = atomic_load_explicit(&call->key->tenant->rate_limit, memory_order_relaxed);
        return key_rate(call->key);
    }
    *ret_limit = USER_RATE_LIMIT;
    window = sessions_rate(access_sessions(call->api->engine), &call->user->session);
    if (window != NULL)
        arena_defer(call->arena, free_window, window);
    return window;
}

static void note_rate(struct api_call *call, const struct rate_verdict *verdict)
{
    call->has_rate = true;
    call->rate = (struct call_rate){ verdict->limit, verdict->remaining, verdict->reset_s };
}

static int refuse_rate(struct api_call *call, const struct rate_verdict *verdict, struct error *err)
{
    return call_refuse(call, err, 429, "Rate limit exceeded: %lld requests in %d seconds per %s",
                       (long long)verdict->limit, RATE_WINDOW_S,
                       call->user != NULL && !call->personal ? "session" : "token");
}

/* A call that waits for what other nodes let through. */
struct waiting_call {
    struct rate_waiter waiter;
    struct api_call *call;
    struct rate_window *window;
    int64_t limit;
};

static int refuse_waiting(struct api_call *call, struct error *err)
{
    const struct waiting_call *waiting = call->own;
    const struct rate_verdict verdict = rate_look(waiting->window, waiting->limit, clock_mono_us());

    note_rate(call, &verdict);
    return refuse_rate(call, &verdict, err);
}

static void rate_decided(struct api_call *call)
{
    const struct waiting_call *waiting = call->own;

    if (waiting->waiter.denied) {
        call_run_or_reply(call, refuse_waiting);
        return;
    }
    call->own = NULL;
    call_checked(call);
}

static void wait_done(struct rate_waiter *waiter, const struct error *err)
{
    call_resume(CONTAINER_OF(waiter, struct waiting_call, waiter)->call, err, rate_decided);
}

static void wait_for_others(struct api_call *call, struct rate_window *window, int64_t limit)
{
    struct waiting_call *waiting = ARENA_NEW(call->arena, struct waiting_call);

    *waiting = (struct waiting_call){
        .waiter = { .done = wait_done }, .call = call, .window = window, .limit = limit
    };
    call->own = waiting;
    call->checks_on = true;
    call->exchange->waits = true;
    rate_share_wait(access_rates(call->api->engine), window, limit, &waiting->waiter);
}

static int check_rate(struct api_call *call, struct error *err)
{
    int64_t limit = 0;
    struct rate_window *window = window_of(call, &limit);
    struct rate_verdict verdict;
    bool waits;

    if (window == NULL)
        return 0;
    verdict = rate_share_take(access_rates(call->api->engine), window, limit, &waits);
    note_rate(call, &verdict);
    if (!verdict.allowed)
        return refuse_rate(call, &verdict, err);
    if (waits)
        wait_for_others(call, window, limit);
    return 0;
}

static int check_caller(struct api_call *call, struct error *err)
{
    return session_check(call, err) != 0 ? -1 : check_rate(call, err);
}

/* Each change is an entry of the audit log, which is kept for ever and which no quota counts. What
 * admins remove is counted apart, so that a key can be revoked whatever others change. NULL: it is
 * not counted. */
static struct rate_window *change_window(const struct api_call *call)
{
    const struct route *route = call->route;

    if (route->audit == NULL || route->method == METHOD_GET || call->tenant == NULL ||
        call->user == NULL || call->user->is_platform_admin)
        return NULL;
    if (route->method == METHOD_DELETE && user_role(call->user, call->tenant->id) == ROLE_ADMIN)
        return call->tenant->removals;
    return call->tenant->changes;
}

static int authorize_caller(struct api_call *call, struct error *err)
{
    struct rate_window *window;
    struct rate_verdict verdict;

    if (auth_authorize(call, err) != 0)
        return -1;
    window = change_window(call);
    if (window == NULL)
        return 0;
    verdict = rate_take(window, TENANT_CHANGES_MAX, clock_mono_us());
    if (verdict.allowed)
        return 0;
    call->rate.reset_s = verdict.reset_s;
    return call_refuse(call, err, 429,
                       "The people of this workspace made %lld changes in %d seconds, which is the "
                       "limit for all of them together",
                       (long long)verdict.limit, RATE_WINDOW_S);
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
    .authorize = authorize_caller,
    .log_caller = log_caller,
};
