/* key_check.c - asking the database about a token, and noting a key's first use. */
#include "features/access/key_check.h"

#include "api/api.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/access/token_guess_limiter.h"
#include "features/access/users/sessions.h"
#include "http/exchange.h"

static struct token_guess_limiter *token_guesses_of(const struct api_call *call)
{
    return engine_token_guesses(call->api->engine);
}

bool key_check_needed(const struct api_call *call)
{
    return call->unknown_token || (call->key != NULL && !key_use_is_noted(call->key->use));
}

static void noted(struct key_first_use *use, const struct error *err)
{
    struct api_call *call = CONTAINER_OF(use, struct api_call, first_use);
    const struct error revoked = { .code = ERR_UNAUTHORIZED };

    call_resume(call, err != NULL || use->good ? err : &revoked, call->good);
}

static void note_first_use(struct api_call *call)
{
    struct error err = { 0 };

    call->exchange->waits = true;
    call->first_use = (struct key_first_use){ .key = call->key, .done = noted };
    if (key_use_note(engine_writer(call->api->engine), &call->first_use, &err) != 0)
        call_reply_failure(call, &err);
}

static void count_token_guess(struct api_call *call)
{
    int64_t wait_s = token_guess_count(token_guesses_of(call), call_origin(call));

    if (wait_s == 0) {
        call_reply_unauthorized(call, str_is_null(call->cookie));
        return;
    }
    call->rate.reset_s = wait_s; /* what Retry-After tells */
    call_reply_error(call, 429,
                     "Too many unknown tokens from this address: at most %d in %d seconds",
                     MISSES_MAX, MISSES_WINDOW_S);
}

/* The carrier's thread. */
static void decide(struct api_call *call)
{
    if (!auth_look_up(call))
        count_token_guess(call);
    else if (key_check_needed(call))
        note_first_use(call);
    else
        call->good(call);
}

static int refresh(struct reader_job *job, struct db *db, struct error *err)
{
    struct api_call *call = CONTAINER_OF(job, struct api_call, read);

    if (!str_is_null(call->cookie))
        return sessions_refresh(engine_sessions(call->api->engine), db, err);
    return registry_refresh(engine_registry(call->api->engine), db, err);
}

static void refreshed(struct reader_job *job, const struct error *err)
{
    struct api_call *call = CONTAINER_OF(job, struct api_call, read);

    call_resume(call, err, decide);
}

/* Another process may just have made this key. */
static void look_again(struct api_call *call)
{
    struct error err = { 0 };

    call->exchange->waits = true;
    call->read = (struct reader_job){ .run = refresh, .done = refreshed };
    if (engine_read(call->api->engine, &call->read, &err) != 0)
        call_reply_failure(call, &err);
}

static void check_unknown(struct api_call *call)
{
    struct engine *engine = call->api->engine;

    if (!engine_is_shared(engine) || registry_knew_key(engine_registry(engine), &call->digest) ||
        token_guesses_exceeded(token_guesses_of(call), call_origin(call)))
        count_token_guess(call);
    else if (token_guess_may_look_up(token_guesses_of(call)))
        look_again(call);
    else
        call_reply_failure(call, &(struct error){ .code = ERR_BUSY });
}

void key_check(struct api_call *call, call_end_fn *good)
{
    call->good = good;
    if (call->unknown_token)
        check_unknown(call);
    else
        note_first_use(call);
}
