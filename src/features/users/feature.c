/* feature.c - users, their sign-in and what protects it: registers the room. */
#include "engine/feature.h"

#include <stdlib.h>

#include "base/mem.h"
#include "engine/engine.h"
#include "features/features.h"
#include "features/users/links/links.h"
#include "features/users/mailer.h"
#include "features/users/routes.h"
#include "features/users/throttle.h"

struct users_state {
    struct throttle *throttle;
    struct forgot *forgot;
    mail_send_fn *send_mail; /* NULL: no mail can be sent */
};

static struct users_state *state_of(const struct engine *e)
{
    return engine_state(e, &users_feature);
}

struct throttle *users_throttle(const struct engine *e)
{
    return state_of(e)->throttle;
}

struct forgot *users_forgot(const struct engine *e)
{
    return state_of(e)->forgot;
}

void users_set_mailer(struct engine *e, mail_send_fn *send)
{
    state_of(e)->send_mail = send;
}

mail_send_fn *users_mailer(const struct engine *e)
{
    return state_of(e)->send_mail;
}

static int users_open(struct engine *e, void **ret_state, struct error *err)
{
    struct users_state *state = NEW(struct users_state);

    (void)e;
    (void)err;
    state->throttle = throttle_new();
    state->forgot = forgot_new();
    *ret_state = state;
    return 0;
}

static int users_tick(struct engine *e, const struct tick *tick, struct error *err)
{
    (void)tick;
    (void)err;
    forgot_tick(users_forgot(e), e);
    return 0;
}

static void users_stop(struct engine *e)
{
    forgot_stop(users_forgot(e));
}

static void users_close(void *state)
{
    struct users_state *users = state;

    if (users == NULL)
        return;
    forgot_free(users->forgot);
    throttle_free(users->throttle);
    free(users);
}

const struct feature users_feature = {
    .name = "users",
    .about = "Users, sessions, sign-in with second factors, links and tokens.",
    .routes = { sign_in_routes, password_routes, user_routes, tenant_user_routes, personal_routes,
                session_routes, link_routes, accept_routes, forgot_routes, factor_routes },
    .commands = { user_commands, login_commands, link_commands, factor_commands },
    .open = users_open,
    .tick = users_tick,
    .stop = users_stop,
    .close = users_close,
};
