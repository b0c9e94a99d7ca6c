/* forgot_routes.c - anyone asks for a reset link, which is mailed to the user of the address.
 *
 * The same is answered, at the next tick, whatever happened: no stranger learns who has
 * an account.
 */
#include "api/api.h"
#include "api/call.h"
#include "cli/settings.h"
#include "engine/engine.h"
#include "features/access/access.h"
#include "features/access/auth.h"
#include "features/access/cookies.h"
#include "features/access/sessions.h"
#include "features/users/accounts.h"
#include "features/users/links/forgot.h"
#include "features/users/links/links.h"
#include "features/users/links/shapes.h"
#include "features/users/routes.h"
#include "features/users/shapes.h"
#include "features/users/users_store.h"

/* State between the steps. */
struct forgot_step {
    struct user_row user;
    struct link_made made;
};

static int enter_request(struct api_call *call, struct db *db, struct error *err)
{
    const struct forgot_step *step = call->own;
    const bool known = !str_is_null(step->user.user_id);

    if (!str_is_null(step->made.mailed))
        call->audit_detail =
            arena_printf(call->arena, "{\"link_id\":\"%.*s\"}", STR_ARG(step->made.row.link_id));
    else if (known && step->user.password.len == 0)
        call->audit_detail = STR_LIT("{\"reason\":\"no password\"}");
    else if (known)
        call->audit_detail = STR_LIT("{\"reason\":\"limit\"}");
    return accounts_audit_row(call, db, &step->user, "reset.ask", err);
}

/* On the writer. */
static int ask(struct api_call *call, struct db *db, struct error *err)
{
    const struct forgot_request *body = call->body;
    struct forgot_step *step = call->own;

    if (links_ask(db, body->email, call->arena, &step->user, &step->made, err) != 0)
        return -1;
    return enter_request(call, db, err);
}

static void post_link(struct api_call *call, const struct forgot_step *step)
{
    const struct engine *e = call->api->engine;
    const struct str text = arena_printf(
        call->arena,
        "A new password was asked for, for your account at %s.\r\n"
        "Choose one within an hour:\r\n\r\n%s/#/link?token=%.*s\r\n\r\n"
        "The link works once. If you did not ask, ignore this mail: your password "
        "is unchanged.\r\n",
        engine_settings(e)->public_url, engine_settings(e)->public_url, STR_ARG(step->made.mailed));

    forgot_post(users_forgot(e), step->user.email, text, step->made.row.link_id);
}

static void asked(struct api_call *call, const struct error *err)
{
    const struct forgot_step *step = call->own;
    const struct error busy = { .code = ERR_BUSY };

    if (err != NULL) {
        call_reply(call, err);
        return;
    }
    if (!str_is_null(step->made.mailed))
        post_link(call, step);
    if (!forgot_hold(users_forgot(call->api->engine), call))
        call_reply(call, &busy);
}

static int begin_ask(struct api_call *call, struct error *err)
{
    struct forgot_answer *answer = call->answer;
    const struct address from = auth_address(call);
    const struct engine *e = call->api->engine;
    int64_t wait_s;

    if (session_check_origin(call, err) != 0)
        return -1;
    if (engine_settings(e)->password_sign_in == 0)
        return call_refuse(call, err, 409, "Sign-in with a password is switched off here");
    if (!forgot_is_possible(e))
        return call_refuse(
            call, err, 409,
            "This service cannot send e-mail: ask a platform admin or the operator of "
            "the service for a reset link");
    wait_s = forgot_admit(users_forgot(e), &from);
    if (wait_s > 0) {
        call->rate.reset_s = wait_s;
        return call_refuse(call, err, 429, "Too many requests from this address; wait");
    }
    answer->status = STR_LIT("ok");
    call->own = ARENA_NEW(call->arena, struct forgot_step);
    call_change(call, CHANGE_NOTHING, ask, asked);
    return 0;
}

/* clang-format off */
const struct route forgot_routes[] = {
    { ROUTE(POST, "/api/v1/auth/forgot", OPEN, 202), .handler = begin_ask, .also = ALSO_CONFLICT, .body = &forgot_request_shape, .answer = &forgot_answer_shape,
      .id = "forgot_password", .summary = "Ask for a reset link by e-mail",
      .description = "The answer is the same whether there is such a user or not. A user is sent a link with which to choose a new password, once, within an hour; a second factor is still asked for at sign-in. At most three mails per user in an hour, and one after five in 24 hours; ten requests per address in 15 minutes: then 429. 409 when the service cannot send e-mail; `GET /api/v1/auth/setup` says so in advance." },
    { 0 },
};
/* clang-format on */
