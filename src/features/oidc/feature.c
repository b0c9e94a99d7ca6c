/* feature.c - sign-in by an identity provider, if one is set up. */
#include "engine/feature.h"

#include <curl/curl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/settings.h"
#include "engine/change.h"
#include "engine/engine.h"
#include "features/features.h"
#include "features/oidc/fetch.h"
#include "features/oidc/oidc.h"
#include "features/oidc/provider.h"
#include "features/oidc/routes.h"
#include "features/oidc/workers.h"
#include "features/users/identities/identities_store.h"
#include "features/users/users_store.h"
#include "features/users/vouched.h"

/* The groups of a person are known only when they sign in. Sessions end after seven days by
 * themselves; a token may live for a year, and would keep the roles of a group that its user has
 * left. So tokens of users who have an identity end once their user has not signed in for
 * LAPSE_DAYS. */
enum { LAPSE_DAYS = 30, LAPSE_PERIOD_S = 3600, LAPSE_USERS_MAX = 100 };

struct lapse {
    struct change change; /* first: apply() and done() get it */
    atomic_bool busy;     /* the writer has it */
    int64_t looked_us;    /* monotonic; 0: never */
};

static int find_idle(struct db *db, struct arena *arena, struct list *ret, struct error *err)
{
    const int64_t before = clock_wall_us() - (int64_t)LAPSE_DAYS * 24 * 3600 * USEC_PER_SEC;

    return store_identities_idle(db, before, LAPSE_USERS_MAX, arena, ret, err);
}

static int lapse_apply(struct change *change, struct db *db, struct error *err)
{
    ARENA_SCOPED(arena);
    struct list idle;
    int r;

    (void)change;
    r = find_idle(db, &arena, &idle, err);
    for (size_t i = 0; r == 0 && i < idle.n; i++) {
        const struct identity_row *row = &((const struct identity_row *)idle.items)[i];
        const struct user_row user = { .user_id = row->user_id, .email = row->email };

        r = vouched_revoke(db, &user, err);
        if (r == 0)
            log_write(LOG_INFO, "oidc", "tokens of '%.*s' ended: no sign-in for %d days",
                      STR_ARG(row->email), LAPSE_DAYS);
    }
    return r;
}

static void lapse_done(struct change *change, const struct error *err)
{
    struct lapse *l = (struct lapse *)change;

    if (err != NULL)
        log_write(LOG_WARNING, "oidc", "tokens that have lapsed could not be ended: %s", err->text);
    atomic_store(&l->busy, false);
}

/* Looks every LAPSE_PERIOD_S, and has the writer end what it finds. */
static int lapse_tick(struct lapse *l, struct engine *e, const struct tick *tick, struct error *err)
{
    ARENA_SCOPED(arena);
    struct list idle = { 0 };
    int r;

    if (atomic_load(&l->busy) || (l->looked_us != 0 && tick->mono_us - l->looked_us <
                                                           (int64_t)LAPSE_PERIOD_S * USEC_PER_SEC))
        return 0;
    l->looked_us = tick->mono_us;
    r = find_idle(engine_watch_db(e), &arena, &idle, err);
    if (r != 0 || idle.n == 0)
        return r;
    if (idle.n == LAPSE_USERS_MAX)
        l->looked_us = 0; /* there may be more */
    l->change = (struct change){ .engine = e,
                                 .topic = CHANGE_USERS,
                                 .administrative = true,
                                 .apply = lapse_apply,
                                 .done = lapse_done };
    atomic_store(&l->busy, true);
    r = change_submit(e, &l->change, err);
    if (r != 0)
        atomic_store(&l->busy, false);
    return r;
}

struct oidc_state_owned {
    struct oidc oidc; /* first: oidc_of() */
    struct arena arena;
    struct lapse lapse;
    bool looks_for_lapsed;
    bool has_curl;
};

const struct oidc *oidc_of(const struct engine *e)
{
    return engine_state(e, &oidc_feature);
}

static int oidc_open(struct engine *e, void **ret_state, struct error *err)
{
    struct oidc_state_owned *state = NEW(struct oidc_state_owned);

    (void)e;
    (void)err;
    arena_init(&state->arena);
    *ret_state = state;
    return 0;
}

static bool has_word(struct str words, const char *word)
{
    while (!str_is_null(words))
        if (str_eq_c(str_split(&words, ' '), word))
            return true;
    return false;
}

/* What can only fail later, with the first sign-in, is refused at the start. */
static int check_settings(const struct settings *s, struct error *err)
{
    if (s->oidc_issuer[0] == '\0')
        return s->password_sign_in != 0
                   ? 0
                   : err_set(err, ERR_INVALID,
                             "password_sign_in: 0 leaves no way to sign in: set oidc_issuer too");
    if (!fetch_is_allowed(str_of(s->oidc_issuer)) || strchr(s->oidc_issuer, '?') != NULL)
        return err_set(err, ERR_INVALID,
                       "oidc_issuer: '%s' is not the https:// URL of a provider: give one such as "
                       "https://login.example.com",
                       s->oidc_issuer);
    if (s->oidc_client_id[0] == '\0')
        return err_set(err, ERR_INVALID,
                       "oidc_client_id: '' is no client: give the id that the provider knows this "
                       "service by");
    if (s->public_url[0] == '\0')
        return err_set(err, ERR_INVALID,
                       "public_url: oidc_issuer needs the URL that people open, such as "
                       "https://muster.example.com");
    if (!has_word(str_of(s->oidc_scopes), "openid"))
        return err_set(err, ERR_INVALID,
                       "oidc_scopes: '%s' lacks openid: give words such as 'openid email groups'",
                       s->oidc_scopes);
    if (s->oidc_client_secret_file[0] != '\0' && access(s->oidc_client_secret_file, R_OK) != 0)
        return err_set(err, ERR_INVALID,
                       "oidc_client_secret_file: '%s' cannot be read: give a file that the service "
                       "may read",
                       s->oidc_client_secret_file);
    return 0;
}

static int oidc_start(struct engine *e, struct error *err)
{
    struct oidc_state_owned *state = engine_state(e, &oidc_feature);
    const struct settings *s = engine_settings(e);
    struct provider_options options = { 0 };

    if (!engine_serves(e))
        return 0;
    if (check_settings(s, err) != 0)
        return -1;
    if (s->oidc_issuer[0] == '\0')
        return 0;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
        err_die("libcurl cannot be initialized");
    state->has_curl = true;
    state->oidc.redirect_uri = arena_printf(&state->arena, "%s/oidc/callback", s->public_url);
    if (workers_new(&state->oidc.workers, err) != 0)
        return -1;
    options = (struct provider_options){ .issuer = s->oidc_issuer,
                                         .client_id = s->oidc_client_id,
                                         .secret_file = s->oidc_client_secret_file,
                                         .scopes = s->oidc_scopes,
                                         .groups_claim = s->oidc_groups_claim,
                                         .redirect_uri = state->oidc.redirect_uri,
                                         .cancel = workers_cancel(state->oidc.workers) };
    state->oidc.provider = provider_new(&options);
    state->looks_for_lapsed = true;
    return 0;
}

static int oidc_tick(struct engine *e, const struct tick *tick, struct error *err)
{
    struct oidc_state_owned *state = engine_state(e, &oidc_feature);

    return state->looks_for_lapsed ? lapse_tick(&state->lapse, e, tick, err) : 0;
}

/* Sign-ins that wait for the provider get a 503, so that the stop need not wait for it too. */
static void oidc_leave(struct engine *e)
{
    struct oidc_state_owned *state = engine_state(e, &oidc_feature);

    if (state->oidc.workers != NULL)
        workers_stop(state->oidc.workers);
}

/* While there is a writer: a sign-in under way may need it. */
static void oidc_stop(struct engine *e)
{
    struct oidc_state_owned *state = engine_state(e, &oidc_feature);

    if (state->oidc.workers != NULL)
        workers_end(state->oidc.workers);
}

static void oidc_close(void *ctx)
{
    struct oidc_state_owned *state = ctx;

    if (state == NULL)
        return;
    workers_free(state->oidc.workers);
    provider_free(state->oidc.provider);
    if (state->has_curl)
        curl_global_cleanup();
    arena_done(&state->arena);
    free(state);
}

const struct feature oidc_feature = {
    .name = "oidc",
    .about = "Sign-in by an identity provider (OpenID Connect), and the roles of its groups.",
    .routes = { oidc_sign_in_routes, oidc_routes },
    .commands = { oidc_commands },
    .open = oidc_open,
    .start = oidc_start,
    .tick = oidc_tick,
    .leave = oidc_leave,
    .stop = oidc_stop,
    .close = oidc_close,
};
