/* hooks.c - the API's hooks: checks at each request. */
#include <assert.h>

#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/engine.h"
#include "features/access/auth.h"
#include "features/access/rate.h"
#include "features/access/registry.h"
#include "features/access/sessions.h"

enum { TENANT_CHANGES_MAX = 600 }; /* per rate window */

static struct token_guess_limiter *token_guesses_of(const struct api_call *call)
{
    return access_token_guesses(call->api->engine);
}

/* Must the database be read or written before the caller is admitted? */
static bool key_check_needed(const struct api_call *call)
{
    return call->caller->unknown_token ||
           (call->caller->key != NULL && !key_use_is_noted(call->caller->key->use));
}

static int count_token_guess(struct api_call *call, struct error *err)
{
    const struct address from = auth_address(call);
    int64_t wait_s = token_guess_count(token_guesses_of(call), &from);

    if (wait_s == 0)
        return call_refuse_caller(call, err, str_is_null(call->caller->cookie));
    call->rate.reset_s = wait_s;
    return call_refuse(call, err, 429,
                       "Too many unknown tokens from this address: at most %d in %d seconds",
                       TOKEN_GUESSES_MAX, TOKEN_GUESSES_WINDOW_S);
}

/* The writer job of a key's first use. */
struct first_use_call {
    struct key_first_use use;
    struct api_call *call;
};

static void first_use_noted(struct key_first_use *use, const struct error *err)
{
    const struct error revoked = { .code = ERR_UNAUTHORIZED };

    call_resume(CONTAINER_OF(use, struct first_use_call, use)->call,
                err != NULL || use->good ? err : &revoked, call_admit);
}

static int note_first_use(struct api_call *call, struct error *err)
{
    struct first_use_call *first = ARENA_NEW(call->arena, struct first_use_call);

    assert(call->caller->key != NULL);
    call->exchange->waits = true;
    *first = (struct first_use_call){
        .use = { .key = call->caller->key, .asked_us = call->asked_us, .done = first_use_noted },
        .call = call
    };
    return key_use_note(engine_writer(call->api->engine), &first->use, err);
}

static int check_refreshed(struct api_call *call, struct error *err)
{
    if (!auth_look_up(call)) {
        token_guess_missed(token_guesses_of(call));
        return count_token_guess(call, err);
    }
    if (key_check_needed(call))
        return note_first_use(call, err);
    call_admit(call);
    return 0;
}

static void caches_refreshed(struct api_call *call)
{
    call_run_or_reply(call, check_refreshed);
}

static int caches_refresh_run(struct reader_job *job, struct db *db, struct error *err)
{
    struct api_call *call = CONTAINER_OF(job, struct api_call, read);

    if (call->caller->personal || !str_is_null(call->caller->cookie))
        return sessions_refresh(access_sessions(call->api->engine), db, err);
    return registry_look_for(access_registry(call->api->engine), db, &call->caller->digest, err);
}

static void caches_refresh_done(struct reader_job *job, const struct error *err)
{
    call_resume(CONTAINER_OF(job, struct api_call, read), err, caches_refreshed);
}

/* Another process may just have created this key or session. */
static int refresh_caches(struct api_call *call, struct error *err)
{
    call->exchange->waits = true;
    call->read = (struct reader_job){ .asked_us = call->asked_us,
                                      .run = caches_refresh_run,
                                      .done = caches_refresh_done };
    return engine_read(call->api->engine, &call->read, err);
}

/* The key may have been loaded since it was looked up. */
static int check_known(struct api_call *call, struct error *err)
{
    if (!auth_look_up(call))
        return count_token_guess(call, err);
    return key_check_needed(call) ? note_first_use(call, err) : 0;
}

/* While keys are being loaded, most tokens that are not in memory are valid: only misses count. */
static int check_unknown(struct api_call *call, struct error *err)
{
    struct token_guess_limiter *guesses = token_guesses_of(call);
    const struct address from = auth_address(call);
    struct engine *engine = call->api->engine;
    struct registry *registry = access_registry(engine);
    const bool may_be_key = !call->caller->personal && str_is_null(call->caller->cookie);
    const bool loading = may_be_key && !registry_is_complete(registry);

    assert(call->caller->key == NULL && call->caller->user == NULL);
    if ((!loading && !engine_is_shared(engine)) ||
        registry_knew_key(registry, &call->caller->digest) ||
        (!loading && token_guesses_exceeded(guesses, &from)))
        return check_known(call, err);
    if (loading ? token_guess_may_miss(guesses) : token_guess_may_look_up(guesses))
        return refresh_caches(call, err);
    return err_set(err, ERR_BUSY, "too many unknown tokens to look up");
}

/* A token that is not known here may belong to a key that is not loaded yet, or that another
 * process has just created (PostgreSQL): the registry is read again, within limits. And the first
 * use of a rotated key is stored before it is answered, so that a key in use is never replaced.
 * Fails, or sets exchange->waits and later calls call_admit(). */
static int key_check(struct api_call *call, struct error *err)
{
    return call->caller->unknown_token ? check_unknown(call, err) : note_first_use(call, err);
}

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

    if (call->caller->user == NULL) {
        if (call->caller->key == NULL)
            return NULL;
        *ret_limit =
            atomic_load_explicit(&call->caller->key->tenant->rate_limit, memory_order_relaxed);
        return key_rate(call->caller->key);
    }
    *ret_limit = USER_RATE_LIMIT;
    window = sessions_rate(access_sessions(call->api->engine), &call->caller->user->session);
    if (window != NULL)
        arena_defer(call->arena, free_window, window);
    return window;
}

static int refuse_rate(struct api_call *call, const struct rate_verdict *verdict, struct error *err)
{
    const long long limit = (long long)verdict->limit;

    if (call->caller->key != NULL)
        return call_refuse(call, err, 429,
                           "Rate limit exceeded: %lld requests in %d seconds per token; send "
                           "more in each request, or have the limit raised with `muster tenant "
                           "set %.*s --rate-limit N`",
                           limit, RATE_WINDOW_S, STR_ARG(call->caller->key->tenant->slug));
    return call_refuse(call, err, 429, "Rate limit exceeded: %lld requests in %d seconds per %s",
                       limit, RATE_WINDOW_S, call->caller->personal ? "token" : "session");
}

static int check_rate(struct api_call *call, struct error *err)
{
    int64_t limit = 0;
    struct rate_window *window = window_of(call, &limit);
    struct rate_verdict verdict;

    if (window == NULL)
        return 0;
    verdict = rate_share_take(access_rates(call->api->engine), window, limit);
    call->has_rate = true;
    call->rate = (struct call_rate){ verdict.limit, verdict.remaining, verdict.reset_s };
    return verdict.allowed ? 0 : refuse_rate(call, &verdict, err);
}

static int check_caller(struct api_call *call, struct error *err)
{
    return session_check(call, err) != 0 ? -1 : check_rate(call, err);
}

/* Each change is an entry of the audit log, which is kept for ever and which no quota counts.
 * Removals by admins count in a window of their own, so that a key can be revoked however much
 * others change. NULL: the change is not counted. */
static struct rate_window *change_window(const struct api_call *call)
{
    const struct route *route = call->route;

    if (route->audit == NULL || route->method == METHOD_GET || call->tenant == NULL ||
        call->caller->user == NULL || call->caller->user->is_platform_admin)
        return NULL;
    if (route->method == METHOD_DELETE &&
        user_role(call->caller->user, call->tenant->id) == ROLE_ADMIN)
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
    if (tenant != NULL && (call->caller->user->is_platform_admin ||
                           user_role(call->caller->user, tenant->id) != ROLE_NONE))
        return tenant_budget(tenant);
    return call->caller->user->is_platform_admin ? &engine_budgets(call->api->engine)->service
                                                 : NULL;
}

static struct budget *budget_of_caller(const struct api_call *call)
{
    if (call->caller->key != NULL)
        return key_budget(call->caller->key);
    return call->caller->user != NULL ? budget_of_user(call) : NULL;
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
    if (call->caller->user != NULL) {
        if (call->tenant != NULL)
            log_str(line, "tenant", call->tenant->slug);
        log_str(line, "person", call->caller->user->user_id);
        if (call->caller->personal)
            log_str(line, "token", call->caller->user->token_id);
    } else if (call->caller->key != NULL) {
        log_str(line, "tenant", call->caller->key->tenant->slug);
        log_str(line, "key", call->caller->key->key_id);
    }
}

static int check_again(struct api_call *call, struct error *err)
{
    const bool known = call->caller->key != NULL || call->caller->user != NULL;

    if (!known || auth_look_up(call))
        return 0;
    return call_refuse_caller(call, err, str_is_null(call->caller->cookie));
}

const struct api_hooks access_hooks = {
    .caller_size = sizeof(struct caller),
    .identify = identify_caller,
    .check_caller = check_caller,
    .budget_of = budget_of_caller,
    .named_address = named_address,
    .check_again = check_again,
    .authorize = authorize_caller,
    .log_caller = log_caller,
};
