/* feature.c - sign-in by an identity provider, if one is set up. */
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
#include "engine/feature.h"
#include "features/features.h"
#include "features/oidc/oidc.h"
#include "features/users/accounts.h"
#include "features/users/users.h"

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

    return identities_idle(db, before, LAPSE_USERS_MAX, arena, ret, err);
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

#define GROUPS     "/api/v1/platform/oidc/groups"
#define IDENTITIES "/api/v1/platform/users/{email}/identities"
#define EMAIL_ARG  { "email", OPTION_NAME, "EMAIL", .help = "e-mail address of the user" }

/* clang-format off */
const struct command oidc_commands[] = {
    { "group", "add", .args = { { "group", OPTION_NAME, "GROUP", .help = "name of the group, exactly as the identity provider sends it" } },
      .options = OPTIONS({ "role", OPTION_WORD, "platform_admin|admin|member", .required = true, .help = "platform_admin, or with --tenant admin or member" },
                         { "tenant", OPTION_TENANT, .help = "tenant in which people in the group get the role" }),
      .help = "give a group of the identity provider a role, from each person's next sign-in on",
      .examples = "muster group add acme-operators --tenant acme --role admin",
      .method = METHOD_POST, .path = GROUPS, .body = &oidc_group_create_shape,
      .answer = &oidc_group_shape, .line = "group '{group}' has the role {role}{tenant? in tenant '{tenant}'} ({group_id})" },
    { "group", "list",
      .help = "list the groups of the identity provider that give a role",
      .examples = "muster group list",
      .method = METHOD_GET, .path = GROUPS, .answer = &oidc_group_list_shape, .list = "groups",
      .columns = COLUMNS({ "GROUP ID", .cell = "{group_id}" }, { "GROUP", .cell = "{group}" }, { "ROLE", .cell = "{role}" }, { "TENANT", .cell = "{tenant}" }, { "CREATED", .cell = "{created_at}" }) },
    { "group", "delete", .args = { { "group_id", OPTION_NAME, "GROUP_ID", .help = "id of the row, as `group list` shows it" } },
      .help = "take the role from a group, from each person's next sign-in on",
      .examples = "muster group delete grp_8sYt0KcPq2mWx4Zb",
      .method = METHOD_DELETE, .path = GROUPS "/{group_id}", .line = "group '{group_id}' deleted" },
    { "identity", "add", .args = { EMAIL_ARG, { "subject", OPTION_NAME, "SUBJECT", .help = "subject (sub) of the person at the identity provider" } },
      .help = "link a user to a person at the identity provider, who then signs in as this user",
      .examples = "muster identity add ada@example.com 248289761001",
      .method = METHOD_POST, .path = IDENTITIES, .body = &identity_create_shape,
      .line = "'{email}' signs in by the identity provider as '{subject}'" },
    { "identity", "list", .args = { EMAIL_ARG },
      .help = "show who a user is at the identity provider",
      .examples = "muster identity list ada@example.com",
      .method = METHOD_GET, .path = IDENTITIES, .answer = &identity_list_shape, .list = "identities",
      .columns = COLUMNS({ "ISSUER", .cell = "{issuer}" }, { "SUBJECT", .cell = "{subject}" }, { "CREATED", .cell = "{created_at}" }, { "LAST SIGN-IN", .cell = "{last_login_at}" }) },
    { "identity", "delete", .args = { EMAIL_ARG },
      .help = "unlink a user from the identity provider",
      .examples = "muster identity delete ada@example.com",
      .method = METHOD_DELETE, .path = IDENTITIES, .line = "'{email}' is not linked to the identity provider any longer" },
    { 0 },
};
/* clang-format on */
