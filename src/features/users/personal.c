/* personal.c - personal access tokens: a user's own, and any user's for the operator.
 *
 * A token cannot create another one: it would outlive the first, and could allow more.
 * A session creates one only soon after the sign-in that opened it, or with the
 * password: else a stolen cookie could become a token that outlives it.
 */
#include <assert.h>

#include "api/call.h"
#include "base/clock.h"
#include "db/db.h"
#include "features/access/auth.h"
#include "features/access/sessions.h"
#include "features/users/accounts.h"
#include "features/users/routes.h"
#include "features/users/shapes.h"
#include "features/users/users.h"
#include "shape/rows.h"
#include "shape/table.h"

struct personal_row {
    struct str token_id, user_id, name;
    struct sha256 digest;
    int role; /* enum token_role */
    int64_t created_at, expires_at;
};

/* clang-format off */
DB_QUERY(insert_token,
    "INSERT INTO personal_tokens (token_id, digest, user_id, name, role, created_at, expires_at)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7)");
DB_QUERY(delete_token, "DELETE FROM personal_tokens WHERE user_id = $1 AND token_id = $2");
DB_RUN_FN(personal_end, (struct str user_id, int64_t before),
    (db_text(user_id), db_int(before)),
    "DELETE FROM personal_tokens WHERE user_id = $1 AND expires_at < $2");
DB_QUERY(count_tokens,
    "SELECT COUNT(*) FROM personal_tokens WHERE user_id = $1");
DB_ROWS_QUERY(select_of_user, personal_token_shape,
    "SELECT token_id, name, role, created_at, expires_at FROM personal_tokens"
    " WHERE user_id = $1 ORDER BY created_at, token_id");
/* clang-format on */

static int personal_remove(struct db *db, struct str user_id, struct str token_id,
                           struct error *err)
{
    return db_run_or(db, &delete_token, DB_ARGS(db_text(user_id), db_text(token_id)), err,
                     ERR_NOT_FOUND, "There is no token '%.*s'", STR_ARG(token_id));
}

/* Answers a user's tokens. */
static int list_of(struct api_call *call, struct db *db, struct str user_id, struct error *err)
{
    struct listing *answer = call->answer;

    return rows_list(db, &select_of_user, DB_ARGS(db_text(user_id)), call->arena, &answer->list,
                     err);
}

enum { TOKENS_MAX = 20, DAY_S = 24 * 3600, FRESH_S = 10 * 60 };

static int check_room(struct db *db, struct str user_id, int64_t now, struct error *err)
{
    int64_t n;

    if (personal_end(db, user_id, now, err) != 0 ||
        db_exec_int(db, &count_tokens, DB_ARGS(db_text(user_id)), &n, err) != 0)
        return -1;
    if (n >= TOKENS_MAX)
        return err_set(err, ERR_CONFLICT, "A user can have %d tokens; delete one first",
                       TOKENS_MAX);
    return 0;
}

static void name_token(struct api_call *call, struct str email, struct str token_id, int role)
{
    call->audit_target = email;
    call->audit_detail =
        role < 0 ? arena_printf(call->arena, "{\"token_id\":\"%.*s\"}", STR_ARG(token_id))
                 : arena_printf(call->arena, "{\"token_id\":\"%.*s\",\"role\":\"%s\"}",
                                STR_ARG(token_id), token_role_names[role]);
}

static int add_for(struct api_call *call, struct db *db, const struct user_row *user,
                   struct error *err)
{
    const struct personal_create *create = call->body;
    struct personal_created *answer = call->answer;
    char token[TOKEN_PERSONAL_LEN + 1];
    struct personal_row row = { .user_id = user->user_id,
                                .name = create->name,
                                .role = create->role,
                                .created_at = clock_wall_us() };

    if (create->role == TOKEN_ROLE_PLATFORM_ADMIN && user->role != PLATFORM_ADMIN)
        return err_set(err, ERR_FORBIDDEN,
                       "'%.*s' is no platform admin: choose the role admin or member",
                       STR_ARG(user->email));
    if (check_room(db, user->user_id, row.created_at, err) != 0)
        return -1;
    token_make_personal(token);
    row.token_id = digest_random_id("pat_", call->arena);
    row.digest = digest_sha256(str_from(token, TOKEN_PERSONAL_LEN));
    row.expires_at = row.created_at + create->expires_in_days * DAY_S * USEC_PER_SEC;
    assert(row.expires_at > row.created_at);
    if (db_run(db, &insert_token,
               DB_ARGS(db_text(row.token_id), db_blob(digest_str(&row.digest)),
                       db_text(row.user_id), db_text(row.name), db_int(row.role),
                       db_int(row.created_at), db_int(row.expires_at)),
               err) != 0 ||
        users_about(db, user->user_id, err) != 0)
        return -1;
    *answer = (struct personal_created){
        .token_id = row.token_id,
        .token = arena_copy(call->arena, str_from(token, TOKEN_PERSONAL_LEN)),
        .name = row.name,
        .role = str_of(token_role_names[row.role]),
        .created_at = row.created_at,
        .expires_at = row.expires_at,
    };
    name_token(call, user->email, row.token_id, row.role);
    return 0;
}

/* Did the user sign in just now? */
static bool is_fresh(const struct session_user *user)
{
    return clock_wall_us() - user->began_at <= (int64_t)FRESH_S * USEC_PER_SEC;
}

/* A user's own */

static int list_own(struct api_call *call, struct db *db, struct error *err)
{
    return list_of(call, db, call->caller->user->user_id, err);
}

static int add_own(struct api_call *call, struct db *db, struct error *err)
{
    struct user_row user;

    if (users_find(db, call->caller->user->email, call->arena, &user, err) != 0 ||
        add_for(call, db, &user, err) != 0)
        return -1;
    return call_audit(call, db, "token.add", err);
}

/* A user who signs in by the identity provider has no password. */
static int ask_for_password(struct api_call *call, struct db *db, struct error *err)
{
    struct user_row user;

    if (users_find(db, call->caller->user->email, call->arena, &user, err) != 0)
        return -1;
    if (user.password.len == 0)
        return call_refuse(call, err, 403,
                           "Sign in again by the identity provider, then create the token within "
                           "ten minutes");
    return call_refuse_body(call, err, "current_password", STR_NULL,
                            "Needed, since you signed in more than ten minutes ago; or sign in "
                            "again");
}

/* The caller proves to be more than a cookie. */
static int begin_add_own(struct api_call *call, struct error *err)
{
    const struct personal_create *create = call->body;
    const struct reauth_next next = {
        .topic = CHANGE_USERS, .work = add_own, .asks_code = true, .code = create->code
    };

    if (!str_is_null(create->current_password))
        return reauth_begin(call, create->current_password, &next, err);
    if (!is_fresh(call->caller->user))
        return call_read(call, ask_for_password, call_reply, err);
    call_change(call, CHANGE_USERS, add_own, call_reply);
    return 0;
}

static int remove_own(struct api_call *call, struct db *db, struct error *err)
{
    const struct personal_path *path = call->params;

    name_token(call, call->caller->user->email, path->token_id, -1);
    if (personal_remove(db, call->caller->user->user_id, path->token_id, err) != 0 ||
        users_about(db, call->caller->user->user_id, err) != 0)
        return -1;
    return list_own(call, db, err);
}

/* Any user's */

/* Only the operator, who controls the machine, may create a token that acts as another user. */
static bool may_act_as(const struct api_call *call, const struct user_row *user)
{
    return call->caller->user == NULL ||
           (!call->caller->user->by_token && str_eq(call->caller->user->user_id, user->user_id));
}

static int list_of_user(struct api_call *call, struct db *db, struct error *err)
{
    const struct user_path *path = call->params;
    struct user_row user;

    if (users_find(db, path->email, call->arena, &user, err) != 0)
        return -1;
    return list_of(call, db, user.user_id, err);
}

static int add_of_user(struct api_call *call, struct db *db, struct error *err)
{
    const struct user_path *path = call->params;
    struct user_row user;

    if (users_find(db, path->email, call->arena, &user, err) != 0)
        return -1;
    if (!may_act_as(call, &user))
        return err_set(err, ERR_FORBIDDEN, "Only '%.*s' may create a token, after signing in",
                       STR_ARG(user.email));
    return add_for(call, db, &user, err);
}

static int begin_add_of_user(struct api_call *call, struct error *err)
{
    const struct user_path *path = call->params;

    if (call->caller->user != NULL && !call->caller->user->by_token &&
        str_eq(call->caller->user->email, path->email) && !is_fresh(call->caller->user))
        return call_refuse(call, err, 403,
                           "You signed in more than ten minutes ago: sign in again, or create the "
                           "token under Your account, which asks for the password");
    return call_proceed(call, err);
}

static int remove_of_user(struct api_call *call, struct db *db, struct error *err)
{
    const struct personal_user_path *path = call->params;
    struct user_row user;

    name_token(call, path->email, path->token_id, -1);
    if (users_find(db, path->email, call->arena, &user, err) != 0 ||
        personal_remove(db, user.user_id, path->token_id, err) != 0 ||
        users_about(db, user.user_id, err) != 0)
        return -1;
    return list_of(call, db, user.user_id, err);
}

/* clang-format off */
const struct route personal_routes[] = {
    { ROUTE(GET, "/api/v1/auth/tokens", USER, 200), .read = list_own, .answer = &personal_list_shape,
      .id = "list_own_tokens", .summary = "List one's own personal access tokens",
      .description = "Oldest first, without the tokens themselves, which are not stored." },
    { ROUTE(POST, "/api/v1/auth/tokens", USER, 201), .handler = begin_add_own, .also = ALSO_CONFLICT, .body = &personal_create_shape, .answer = &personal_created_shape,
      .id = "create_own_token", .summary = "Create a personal access token",
      .description = "The answer holds the token, which is shown only this once. Send it as bearer token: it acts as the user, with at most its role, until it expires. At most 20 per user: then 409. A token cannot create another one. More than ten minutes after the sign-in it needs `current_password`, and a `code` if the user has a second factor: 422 at that member when it is missing, 403 when it is wrong, throttled as sign-in is. A user without a password, who signs in by the identity provider, signs in again: 403." },
    { ROUTE(DELETE, "/api/v1/auth/tokens/{token_id}", USER, 200), .change = remove_own, .topic = CHANGE_USERS, .also = ALSO_NOT_FOUND, .params = &personal_path_shape, .answer = &personal_list_shape, .audit = "token.remove",
      .id = "delete_own_token", .summary = "Delete one of one's own personal access tokens",
      .description = "In effect at once. A token may delete itself, but no other." },
    { ROUTE(GET, "/api/v1/platform/users/{email}/tokens", PLATFORM, 200), .read = list_of_user, .also = ALSO_NOT_FOUND, .params = &user_path_shape, .answer = &personal_list_shape,
      .id = "list_user_tokens", .summary = "List a user's personal access tokens",
      .description = "Oldest first, without the tokens themselves." },
    { ROUTE(POST, "/api/v1/platform/users/{email}/tokens", PLATFORM, 201), .handler = begin_add_of_user, .change = add_of_user, .topic = CHANGE_USERS, .also = ALSO_NOT_FOUND | ALSO_CONFLICT, .params = &user_path_shape, .body = &personal_create_shape, .answer = &personal_created_shape, .audit = "token.add",
      .id = "create_user_token", .summary = "Create a personal access token for a user",
      .description = "For the operator, on the machine of the service; a platform admin may do so only for themselves, within ten minutes of the sign-in." },
    { ROUTE(DELETE, "/api/v1/platform/users/{email}/tokens/{token_id}", PLATFORM, 200), .change = remove_of_user, .topic = CHANGE_USERS, .also = ALSO_NOT_FOUND, .params = &personal_user_path_shape, .answer = &personal_list_shape, .audit = "token.remove",
      .id = "delete_user_token", .summary = "Delete a user's personal access token",
      .description = "In effect at once." },
    { 0 },
};
/* clang-format on */
