/* routes.c - users add and remove a second factor; platform admins remove any user's.
 *
 * An open session alone is not enough to add or remove one: the password is asked
 * for again.
 */
#include "features/users/routes.h"
#include "api/api.h"
#include "api/call.h"
#include "features/access/auth.h"
#include "features/access/sessions.h"
#include "features/users/accounts.h"
#include "features/users/second_factor/factor.h"
#include "features/users/shapes.h"
#include "features/users/users.h"
#include "shape/table.h"

/* clang-format off */
SHAPE(factor_state, "SecondFactor", (.doc = "Whether a user has a second factor.",
      .example = EXAMPLE({"active": true, "recovery_codes_left": 10})),
    BOOL(active,             .flags = F_REQUIRED, .doc = "True: sign-in asks for a code."),
    INT(recovery_codes_left, .flags = F_REQUIRED, .doc = "Recovery codes that were not used yet."),
    TIME(confirmed_at,       .flags = F_REQUIRED | F_NULL, .doc = "Since when. Null: not active."));

SHAPE(factor_password, "SecondFactorPassword", (.doc = "The password of the signed-in user.", .secret = true,
      .example = EXAMPLE({"current_password": "seven green teapots"})),
    STR(current_password, .max = PASSWORD_MAX, .flags = F_REQUIRED, .doc = "The user's password."));

SHAPE(factor_begun, "SecondFactorBegun", (.doc = "What an authenticator app needs.",
      .example = EXAMPLE({"secret": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", "uri": "otpauth://totp/muster:ada%40example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=muster"})),
    STR(secret, .flags = F_REQUIRED, .doc = "The key to type into the authenticator app, in base32. Shown only once."),
    STR(uri,    .flags = F_REQUIRED, .doc = "The same as an otpauth:// URI, which apps read as a QR code."));

SHAPE(factor_code, "SecondFactorCode", (.doc = "A code of the authenticator app.", .secret = true,
      .example = EXAMPLE({"code": "287082"})),
    STR(code, .max = FACTOR_CODE_MAX, .flags = F_REQUIRED, .doc = "Six digits that the app shows."));

SHAPE(factor_recovery, "NewRecoveryCodes", (.doc = "New recovery codes; earlier ones stop working.",
      .example = EXAMPLE({"recovery_codes": ["k7wq-2mzd-x4pt-9hvc"]})),
    LIST_STR(recovery_codes, .flags = F_REQUIRED, .doc = "Ten codes, each of which signs in once without the app. Shown only once."));
/* clang-format on */

#define FACTOR    "/api/v1/platform/users/{email}/second-factor"
#define EMAIL_ARG { "email", OPTION_NAME, "EMAIL", .help = "e-mail address of the user" }

/* clang-format off */
const struct command factor_commands[] = {
    { "second-factor", "show", .args = { EMAIL_ARG },
      .help = "show whether a user has a second factor",
      .examples = "muster second-factor show ada@example.com",
      .method = METHOD_GET, .path = FACTOR, .answer = &factor_state_shape,
      .line = "{active?active since {confirmed_at}, {recovery_codes_left} recovery codes left|none}" },
    { "second-factor", "delete", .args = { EMAIL_ARG },
      .help = "remove the second factor of a user who lost the app and the recovery codes",
      .examples = "muster second-factor delete ada@example.com",
      .method = METHOD_DELETE, .path = FACTOR,
      .line = "'{email}' has no second factor now; sign-in asks for the password alone" },
    { 0 },
};
/* clang-format on */

static int enter_audit(struct api_call *call, struct db *db, const char *action, struct error *err)
{
    call->audit_target = call->caller->user->email;
    return accounts_audit(call, db, call->caller->user, action, err);
}

static int show_factor(struct api_call *call, struct db *db, struct error *err)
{
    return factor_show(db, call->caller->user->user_id, call->arena, call->answer, err);
}

static int confirm_factor(struct api_call *call, struct db *db, struct error *err)
{
    return factor_confirm(call, db, err) != 0 ? -1 : enter_audit(call, db, "factor.add", err);
}

static int remove_factor(struct api_call *call, struct db *db, struct error *err)
{
    int64_t n;

    if (factor_remove(db, call->caller->user->user_id, &n, err) != 0 ||
        show_factor(call, db, err) != 0)
        return -1;
    return enter_audit(call, db, "factor.remove", err);
}

static int renew_codes(struct api_call *call, struct db *db, struct error *err)
{
    return factor_renew(call, db, err) != 0 ? -1 : enter_audit(call, db, "factor.renew", err);
}

static int after_password(struct api_call *call, call_work_fn *work, struct error *err)
{
    const struct factor_password *body = call->body;
    const struct reauth_next next = { .topic = CHANGE_NOTHING, .work = work };

    return reauth_begin(call, body->current_password, &next, err);
}

static int ask_begin(struct api_call *call, struct error *err)
{
    return after_password(call, factor_begin, err);
}

static int ask_remove(struct api_call *call, struct error *err)
{
    return after_password(call, remove_factor, err);
}

static int ask_renew(struct api_call *call, struct error *err)
{
    return after_password(call, renew_codes, err);
}

static int begin_confirm(struct api_call *call, struct error *err)
{
    (void)err;
    call_change(call, CHANGE_NOTHING, confirm_factor, call_reply);
    return 0;
}

/* Any user's */

static int show_users_factor(struct api_call *call, struct db *db, struct error *err)
{
    const struct user_path *path = call->params;
    struct user_row user;

    if (users_find(db, path->email, call->arena, &user, err) != 0)
        return -1;
    return factor_show(db, user.user_id, call->arena, call->answer, err);
}

static int reset_users_factor(struct api_call *call, struct db *db, struct error *err)
{
    const struct user_path *path = call->params;
    struct user_row user;
    int64_t n;

    call->audit_target = path->email;
    if (users_find(db, path->email, call->arena, &user, err) != 0 ||
        factor_remove(db, user.user_id, &n, err) != 0)
        return -1;
    return factor_show(db, user.user_id, call->arena, call->answer, err);
}

static int begin_reset(struct api_call *call, struct error *err)
{
    if (accounts_check_helper(call, ((const struct user_path *)call->params)->email, err) != 0)
        return -1;
    return call_proceed(call, err);
}

#define PASSWORD_DOC "Needs the password: 403 when it is wrong, throttled as sign-in is."

/* clang-format off */
const struct route factor_routes[] = {
    { ROUTE(GET, "/api/v1/auth/second-factor", USER, 200), .read = show_factor, .answer = &factor_state_shape,
      .id = "get_second_factor", .summary = "See whether one has a second factor",
      .description = "And how many recovery codes are left." },
    { ROUTE(POST, "/api/v1/auth/second-factor", USER, 200), .handler = ask_begin, .also = ALSO_CONFLICT, .body = &factor_password_shape, .answer = &factor_begun_shape,
      .id = "begin_second_factor", .summary = "Begin to add a second factor",
      .description = "Answers the key for an authenticator app (TOTP: SHA-1, 6 digits, 30 seconds). Sign-in asks for codes once one was confirmed. " PASSWORD_DOC },
    { ROUTE(POST, "/api/v1/auth/second-factor/confirm", USER, 200), .handler = begin_confirm, .also = ALSO_CONFLICT, .body = &factor_code_shape, .answer = &factor_recovery_shape,
      .id = "confirm_second_factor", .summary = "Confirm a second factor with a code of the app",
      .description = "Within 15 minutes of the begin, else 409: begin again. From now on sign-in asks for a code. Answers ten recovery codes, shown only this once." },
    { ROUTE(POST, "/api/v1/auth/second-factor/remove", USER, 200), .handler = ask_remove, .body = &factor_password_shape, .answer = &factor_state_shape,
      .id = "remove_second_factor", .summary = "Remove one's second factor",
      .description = "Sign-in asks for the password alone. " PASSWORD_DOC },
    { ROUTE(POST, "/api/v1/auth/second-factor/recovery-codes", USER, 200), .handler = ask_renew, .also = ALSO_CONFLICT, .body = &factor_password_shape, .answer = &factor_recovery_shape,
      .id = "renew_recovery_codes", .summary = "Create new recovery codes",
      .description = "Earlier ones stop working. " PASSWORD_DOC },
    { ROUTE(GET, "/api/v1/platform/users/{email}/second-factor", PLATFORM, 200), .read = show_users_factor, .also = ALSO_NOT_FOUND, .params = &user_path_shape, .answer = &factor_state_shape,
      .id = "get_user_second_factor", .summary = "See whether a user has a second factor",
      .description = "And how many recovery codes are left." },
    { ROUTE(DELETE, "/api/v1/platform/users/{email}/second-factor", PLATFORM, 200), .handler = begin_reset, .change = reset_users_factor, .topic = CHANGE_NOTHING, .also = ALSO_NOT_FOUND, .params = &user_path_shape, .answer = &factor_state_shape, .audit = "factor.reset",
      .id = "reset_user_second_factor", .summary = "Remove a user's second factor",
      .description = "For a user who lost the app and the recovery codes. Sign-in asks for the password alone, until the user adds a new one. 403 for one's own user, and with a personal access token." },
    { 0 },
};
/* clang-format on */
