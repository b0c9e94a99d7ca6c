/* key_check.c - looks up unknown tokens in the database, and stores a key's first use. */
#include "features/access/key_check.h"

#include <assert.h>

#include "api/api.h"
#include "api/call.h"
#include "engine/engine.h"
#include "features/access/access.h"
#include "features/access/auth.h"
#include "features/access/key_use.h"
#include "features/access/registry.h"
#include "features/access/token_guess_limiter.h"
#include "features/access/users/sessions.h"
#include "http/exchange.h"

static struct token_guess_limiter *token_guesses_of(const struct api_call *call)
{
    return access_token_guesses(call->api->engine);
}

bool key_check_needed(const struct api_call *call)
{
    return call->unknown_token || (call->key != NULL && !key_use_is_noted(call->key->use));
}

static int count_token_guess(struct api_call *call, struct error *err)
{
    const struct address from = auth_address(call);
    int64_t wait_s = token_guess_count(token_guesses_of(call), &from);

    if (wait_s == 0)
        return call_refuse_caller(call, err, str_is_null(call->cookie));
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

    assert(call->key != NULL);
    call->exchange->waits = true;
    *first = (struct first_use_call){ .use = { .key = call->key, .done = first_use_noted },
                                      .call = call };
    return key_use_note(engine_writer(call->api->engine), &first->use, err);
}

static int check_refreshed(struct api_call *call, struct error *err)
{
    if (!auth_look_up(call))
        return count_token_guess(call, err);
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

    if (call->personal || !str_is_null(call->cookie))
        return sessions_refresh(access_sessions(call->api->engine), db, err);
    return registry_refresh(access_registry(call->api->engine), db, err);
}

static void caches_refresh_done(struct reader_job *job, const struct error *err)
{
    call_resume(CONTAINER_OF(job, struct api_call, read), err, caches_refreshed);
}

/* Another process may just have created this key or session. */
static int refresh_caches(struct api_call *call, struct error *err)
{
    call->exchange->waits = true;
    call->read = (struct reader_job){ .run = caches_refresh_run, .done = caches_refresh_done };
    return engine_read(call->api->engine, &call->read, err);
}

static int check_unknown(struct api_call *call, struct error *err)
{
    const struct address from = auth_address(call);
    struct engine *engine = call->api->engine;

    assert(call->key == NULL && call->user == NULL);
    if (!engine_is_shared(engine) || registry_knew_key(access_registry(engine), &call->digest) ||
        token_guesses_exceeded(token_guesses_of(call), &from))
        return count_token_guess(call, err);
    if (token_guess_may_look_up(token_guesses_of(call)))
        return refresh_caches(call, err);
    return err_set(err, ERR_BUSY, "too many unknown tokens to look up");
}

int key_check(struct api_call *call, struct error *err)
{
    return call->unknown_token ? check_unknown(call, err) : note_first_use(call, err);
}
