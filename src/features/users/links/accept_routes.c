/* accept_routes.c - the person who has a link sees what it is for, and chooses a password.
 *
 * Without a key, so all of it is throttled as sign-in is: a wrong token counts as
 * a failure of its address. A password is hashed only for a link that is valid.
 * No session is opened: the person signs in with the new password, and a second
 * factor that they have is asked for.
 */
#include "api/call.h"
#include "base/clock.h"
#include "features/access/cookies.h"
#include "features/access/sessions.h"
#include "features/users/accounts.h"
#include "features/users/links/links.h"
#include "features/users/links/shapes.h"
#include "features/users/routes.h"
#include "features/users/shapes.h"
#include "features/users/sign_in.h"
#include "features/users/throttle.h"
#include "features/users/users.h"

/* State between the steps. */
struct accept_step {
    struct throttle_attempt attempt;
    struct link_row link;
    struct str hash;
};

/* An unknown or ended link is a failure; anything else that goes wrong decides nothing. */
static void end_attempt(struct api_call *call, const struct error *err)
{
    const struct accept_step *step = call->own;
    const bool wrong = err != NULL && err->code == ERR_NOT_FOUND;

    accounts_end_attempt(call, &step->attempt, wrong, false);
}

/* Failures count for the address; the token is its own account, so that they lock out no other. */
static int begin(struct api_call *call, struct str token, call_work_fn *work, call_then_fn *then,
                 struct error *err)
{
    struct accept_step *step = ARENA_NEW(call->arena, struct accept_step);
    const struct sha256 digest = digest_sha256(token);
    char text[BASE64URL_LEN + 1];

    call->own = step;
    if (session_check_origin(call, err) != 0)
        return -1;
    digest_base64url(digest.bytes, text);
    step->attempt.account = arena_printf(call->arena, "link:%s", text);
    if (accounts_begin_attempt(call, &step->attempt, err) != 0)
        return -1;
    if (call_read(call, work, then, err) == 0)
        return 0;
    end_attempt(call, NULL);
    return -1;
}

/* What the link is for */

static int show_link(struct api_call *call, struct db *db, struct error *err)
{
    const struct link_token *body = call->body;
    struct link_shown *answer = call->answer;
    struct link_row link;

    if (links_find(db, body->token, clock_wall_us(), call->arena, &link, err) != 0)
        return -1;
    *answer = (struct link_shown){ .kind = str_of(link_kind_names[link.kind]),
                                   .email = link.email,
                                   .role = users_role_name(link.platform_role),
                                   .expires_at = link.expires_at };
    return store_link_roles(db, link.link_id, call->arena, &answer->tenants, err);
}

static void link_shown(struct api_call *call, const struct error *err)
{
    end_attempt(call, err);
    call_reply(call, err);
}

static int begin_show(struct api_call *call, struct error *err)
{
    const struct link_token *body = call->body;

    return begin(call, body->token, show_link, link_shown, err);
}

/* Choosing the password */

static int find_link(struct api_call *call, struct db *db, struct error *err)
{
    const struct link_accept *body = call->body;
    struct accept_step *step = call->own;

    if (links_find(db, body->token, clock_wall_us(), call->arena, &step->link, err) != 0)
        return -1;
    return links_check_user(db, &step->link, err); /* before a password is hashed for nothing */
}

static int hash_chosen(struct api_call *call, struct db *db, struct error *err)
{
    const struct link_accept *body = call->body;
    struct accept_step *step = call->own;

    (void)db;
    return sign_in_hash(body->password, call->arena, &step->hash, err);
}

/* From here on the caller is the person of the link. */
static int accept_link(struct api_call *call, struct db *db, struct error *err)
{
    const struct accept_step *step = call->own;
    const struct link_row *link = &step->link;
    struct link_accepted *answer = call->answer;
    struct session_user *user = ARENA_NEW(call->arena, struct session_user);
    struct user person;
    const struct user_patch patch = { .role = -1, .password = step->hash };
    const char *action = link->kind == LINK_RESET ? "password.reset" : "invitation.accept";

    if (accounts_forget_factor(call, db, link->email, &patch, err) != 0 ||
        links_accept(db, link, step->hash, call->arena, &person, err) != 0)
        return -1;
    answer->email = user->email = link->email;
    user->user_id = person.user_id;
    user->is_platform_admin = !str_is_null(person.role);
    call->user = user;
    call->audit_target = link->email;
    call->audit_detail =
        arena_printf(call->arena, "{\"link_id\":\"%.*s\"}", STR_ARG(link->link_id));
    return accounts_audit(call, db, user, action, err);
}

static void chosen_hashed(struct api_call *call, const struct error *err)
{
    end_attempt(call, err);
    if (err != NULL)
        call_reply(call, err);
    else
        call_change(call, CHANGE_USERS, accept_link, call_reply);
}

static int check_and_hash(struct api_call *call, struct error *err)
{
    const struct link_accept *body = call->body;
    const struct accept_step *step = call->own;

    if (accounts_check_password(call, "password", body->password, step->link.email, err) != 0) {
        end_attempt(call, NULL);
        return -1;
    }
    call_hash(call, hash_chosen, chosen_hashed);
    return 0;
}

static void link_found(struct api_call *call, const struct error *err)
{
    if (err == NULL) {
        call_run_or_reply(call, check_and_hash);
        return;
    }
    end_attempt(call, err);
    call_reply(call, err);
}

static int begin_accept(struct api_call *call, struct error *err)
{
    const struct link_accept *body = call->body;

    return begin(call, body->token, find_link, link_found, err);
}

/* clang-format off */
const struct route accept_routes[] = {
    { ROUTE(POST, "/api/v1/auth/link", OPEN, 200), .handler = begin_show, .also = ALSO_NOT_FOUND, .body = &link_token_shape, .answer = &link_shown_shape,
      .id = "show_link", .summary = "See what an invitation or reset link is for",
      .description = "404, with a sentence, for a link that is unknown, used, revoked or expired. After ten of those in 15 minutes from an address the answer is 429." },
    { ROUTE(POST, "/api/v1/auth/link/accept", OPEN, 200), .handler = begin_accept, .also = ALSO_NOT_FOUND | ALSO_CONFLICT, .body = &link_accept_shape, .answer = &link_accepted_shape,
      .id = "accept_link", .summary = "Choose a password by an invitation or reset link",
      .description = "An invitation creates the user with the roles that it was made for: 409 when there is a user by now, unless the link was sent by e-mail and the address of the user is not confirmed: then the person gets that account. A reset ends the user's sessions and the links that they made, and deletes their personal access tokens. The second factor of an account that was not confirmed ends. Sign in afterwards. Throttled as above." },
    { 0 },
};
/* clang-format on */
