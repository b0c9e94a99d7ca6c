/* sign_in_routes.c - signing in and out, and the first user.
 *
 * A sign-in goes from the loop to the hashing thread, which checks the password,
 * and on to the writer, which opens the session and enters it in the audit log. A
 * failed one takes the same steps, whether the user exists or not, so that its
 * duration reveals nothing.
 */
#include "features/access/auth.h"
#include "features/users/accounts.h"

#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "cli/settings.h"
#include "engine/engine.h"
#include "features/access/sessions.h"
#include "features/metrics.h"
#include "features/users/links/links.h"
#include "features/users/routes.h"
#include "features/users/second_factor/factor.h"
#include "features/users/shapes.h"
#include "features/users/throttle.h"

/* State of a sign-in or setup between its steps. */
struct session_opening {
    struct proof proof; /* first: call->own is both */
    struct sign_in_session session;
    struct str hash; /* of the first user's password */
};

static struct session_opening *prepare_opening(struct api_call *call)
{
    struct session_opening *o = ARENA_NEW(call->arena, struct session_opening);

    o->session = *vouched_prepare(call);
    call->own = o;
    return o;
}

static int open_session(struct api_call *call, struct db *db, struct error *err)
{
    struct session_opening *o = call->own;

    o->session.digest = session_begin(call);
    if (sign_in_open(db, &o->proof.check, &o->session, call->arena, call->answer, err) != 0)
        return -1;
    return vouched_finish(call, db, "session.open", err);
}

/* A refusal here is of a code that another sign-in used first. */
static void session_opened(struct api_call *call, const struct error *err)
{
    if (err == NULL || err->code == ERR_INVALID)
        metric_add(err == NULL ? METRIC_SIGN_INS : METRIC_SIGN_INS_REFUSED, 1);
    vouched_opened(call, err);
}

/* Does the browser have a session of the account that it claims? */
static bool has_session_of(struct api_call *call, const struct sha256 *cookie, struct str email)
{
    const struct session_user *user = NULL;

    if (cookie != NULL)
        user =
            sessions_find(access_sessions(call->api->engine), cookie, clock_wall_us(), call->arena);
    return user != NULL && str_eq(user->email, email);
}

static int sign_in(struct api_call *call, struct error *err)
{
    const struct sign_in *claim = call->body;
    struct session_opening *o;

    if (session_check_origin(call, err) != 0)
        return -1;
    if (engine_settings(call->api->engine)->password_sign_in == 0)
        return call_refuse(call, err, 403,
                           "Sign-in with a password is switched off here: sign in by the identity "
                           "provider");
    o = prepare_opening(call);
    o->proof = (struct proof){
        .attempt = { .account = claim->email,
                     .known = has_session_of(call, o->session.instead_of, claim->email) },
        .claim = *claim,
        .signs_in = true,
        .topic = CHANGE_USERS,
        .work = open_session,
        .done = session_opened,
    };
    return proof_begin(call, &o->proof, err);
}

static int show_set_up(struct api_call *call, struct error *err)
{
    struct set_up_state *answer = call->answer;

    (void)err;
    *answer = (struct set_up_state){
        .needed = sessions_has_no_user(access_sessions(call->api->engine)),
        .mails_links = forgot_is_possible(call->api->engine),
    };
    call_reply(call, NULL);
    return 0;
}

static int hash_first_password(struct api_call *call, struct db *db, struct error *err)
{
    const struct set_up *set_up = call->body;
    struct session_opening *o = call->own;

    (void)db;
    return sign_in_hash(set_up->password, call->arena, &o->hash, err);
}

static int add_first_user(struct api_call *call, struct db *db, struct error *err)
{
    const struct set_up *set_up = call->body;
    const struct session_opening *o = call->own;
    const struct sign_in first = { .email = set_up->email, .password = o->hash };

    if (sign_in_set_up(db, &first, &o->session, call->arena, call->answer, err) != 0)
        return -1;
    return vouched_finish(call, db, "user.setup", err);
}

static void first_password_hashed(struct api_call *call, const struct error *err)
{
    struct session_opening *o = call->own;

    if (err != NULL) {
        call_reply(call, err);
        return;
    }
    o->session.digest = session_begin(call);
    call_change(call, CHANGE_USERS, add_first_user, vouched_opened);
}

static int set_up(struct api_call *call, struct error *err)
{
    const struct set_up *set_up = call->body;
    struct sessions *sessions = access_sessions(call->api->engine);
    bool valid = sessions_is_set_up_code(sessions, set_up->code); /* until there is a user */

    if (session_check_origin(call, err) != 0)
        return -1;
    if (!sessions_has_no_user(sessions))
        return call_refuse(call, err, 409, "The first user exists already; sign in instead");
    if (!valid)
        return call_refuse(call, err, 403,
                           "This setup link is not valid; the service prints one when it starts");
    if (accounts_check_password(call, "password", set_up->password, set_up->email, err) != 0)
        return -1;
    (void)prepare_opening(call);
    call_hash(call, hash_first_password, first_password_hashed);
    return 0;
}

static int end_session(struct api_call *call, struct db *db, struct error *err)
{
    if (session_end(db, &call->caller->user->session, err) != 0 ||
        users_about(db, call->caller->user->user_id, err) != 0)
        return -1;
    call->audit_target = call->caller->user->email;
    return accounts_audit(call, db, call->caller->user, "session.close", err);
}

static void session_ended(struct api_call *call, const struct error *err)
{
    if (err == NULL)
        session_forget(call);
    call_reply(call, err);
}

static int sign_out(struct api_call *call, struct error *err)
{
    struct logged_out *answer = call->answer;

    (void)err;
    answer->status = STR_LIT("ok");
    call_change(call, CHANGE_USERS, end_session, session_ended);
    return 0;
}

/* clang-format off */
const struct route sign_in_routes[] = {
    { ROUTE(GET, "/api/v1/auth/setup", OPEN, 200), .handler = show_set_up, .answer = &set_up_state_shape,
      .id = "get_setup_state", .summary = "Check whether the first platform admin is missing",
      .description = "While there is no user, each start of the service prints a setup link." },
    { ROUTE(POST, "/api/v1/auth/setup", OPEN, 200), .handler = set_up, .sends = SENDS_COOKIE, .also = ALSO_CONFLICT, .body = &set_up_shape, .answer = &session_answer_shape,
      .id = "set_up", .summary = "Create the first platform admin and sign in",
      .description = "Needs the code of the setup link. 409 once there is a user." },
    { ROUTE(POST, "/api/v1/auth/login", OPEN, 200), .handler = sign_in, .sends = SENDS_COOKIE, .also = ALSO_CONFLICT, .body = &sign_in_shape, .answer = &session_answer_shape,
      .id = "sign_in", .summary = "Sign in",
      .description = "Sets the session cookie and answers the `csrf_token` that changes must send as X-CSRF-Token. After ten failures in 15 minutes for an account or address the answer is 429. A user with a second factor also sends a `code`: 422 at `code` when it is missing, 401 when it is wrong." },
    { ROUTE(POST, "/api/v1/auth/logout", USER, 200), .handler = sign_out, .sends = SENDS_COOKIE, .answer = &logged_out_shape,
      .id = "sign_out", .summary = "Sign out",
      .description = "Ends the session and deletes its cookie." },
    { ROUTE(GET, "/api/v1/auth/me", USER, 200), .read = accounts_answer_me, .answer = &session_answer_shape,
      .id = "get_current_user", .summary = "Get the signed-in user",
      .description = "Roles in workspaces, the session's `csrf_token`, and when the session expires if it is not used." },
    { 0 },
};
/* clang-format on */
