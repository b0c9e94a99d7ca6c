/* user_routes.c - users of the platform, for its admins. */
#include "api/api.h"
#include "api/call.h"
#include "features/access/auth.h"
#include "features/access/sessions.h"
#include "features/access/shapes.h"
#include "features/users/accounts.h"
#include "features/users/routes.h"
#include "features/users/second_factor/factor.h"
#include "features/users/shapes.h"
#include "features/users/users.h"

static int list_platform_users(struct api_call *call, struct db *db, struct error *err)
{
    return users_list(db, call->arena, call->answer, err);
}

static int add_user(struct api_call *call, struct db *db, struct error *err)
{
    struct user_create create = *(const struct user_create *)call->body;

    call->audit_target = create.email;
    call->audit_detail =
        arena_printf(call->arena, "{\"role\":\"%s\"}", platform_role_names[create.role]);
    create.password = *(const struct str *)call->own;
    create.confirmed = true; /* the platform knows its people */
    return users_add(db, &create, call->arena, call->answer, err);
}

static int begin_add_user(struct api_call *call, struct error *err)
{
    const struct user_create *create = call->body;

    return accounts_hash(call, create->password, create->email, false, err);
}

/* What the audit log says of a change. */
static struct str patch_detail(struct arena *arena, const struct user_patch *patch)
{
    struct str text = STR_LIT("{");
    const char *comma = "";

    if (patch->role >= 0) {
        text = arena_printf(arena, "{\"role\":\"%s\"", platform_role_names[patch->role]);
        comma = ",";
    }
    if (!str_is_null(patch->password)) {
        text = arena_printf(arena, "%.*s%s\"password\":\"set\"", STR_ARG(text), comma);
        comma = ",";
    }
    if (patch->email_confirmed.has)
        text = arena_printf(arena, "%.*s%s\"email_confirmed\":true", STR_ARG(text), comma);
    return arena_printf(arena, "%.*s}", STR_ARG(text));
}

static int set_user(struct api_call *call, struct db *db, struct error *err)
{
    const struct user_path *path = call->params;
    struct user_patch patch = *(const struct user_patch *)call->body;

    call->audit_target = path->email;
    call->audit_detail = patch_detail(call->arena, &patch);
    patch.password = *(const struct str *)call->own;
    if (accounts_forget_factor(call, db, path->email, &patch, err) != 0)
        return -1;
    return users_set(db, path->email, &patch, call->arena, call->answer, err);
}

static int begin_set_user(struct api_call *call, struct error *err)
{
    const struct user_path *path = call->params;
    const struct user_patch *patch = call->body;

    /* an open session must not be enough for a new password of its own user */
    if (!str_is_null(patch->password) && call->caller->user != NULL &&
        str_eq(call->caller->user->email, path->email))
        return call_refuse(call, err, 403,
                           "Not allowed for your own password; change it under Your account, which "
                           "asks for the current one");
    return accounts_hash(call, patch->password, path->email, false, err);
}

static int remove_user(struct api_call *call, struct db *db, struct error *err)
{
    const struct user_path *path = call->params;
    struct user_row user;

    call->audit_target = path->email;
    if (users_find(db, path->email, call->arena, &user, err) != 0 ||
        users_remove(db, path->email, err) != 0 || factor_remove(db, user.user_id, NULL, err) != 0)
        return -1;
    return list_platform_users(call, db, err);
}

/* clang-format off */
const struct route user_routes[] = {
    { ROUTE(GET, "/api/v1/platform/users", PLATFORM, 200), .read = list_platform_users, .answer = &user_list_shape,
      .id = "list_users", .summary = "List all users",
      .description = "With their platform role and their roles in workspaces." },
    { ROUTE(POST, "/api/v1/platform/users", PLATFORM, 201), .handler = begin_add_user, .change = add_user, .topic = CHANGE_USERS, .body = &user_create_shape, .answer = &user_shape, .audit = "user.add",
      .id = "create_user", .summary = "Create a user",
      .description = "The e-mail address identifies the user. Passwords need at least 12 characters and must not be common ones." },
    { ROUTE(PATCH, "/api/v1/platform/users/{email}", PLATFORM, 200), .handler = begin_set_user, .change = set_user, .topic = CHANGE_USERS, .params = &user_path_shape, .body = &user_patch_shape, .answer = &user_shape, .audit = "user.set",
      .id = "update_user", .summary = "Change a user's platform role or password, or confirm their address",
      .description = "A new role or password ends the user's sessions, a new password also deletes the user's personal access tokens. Confirming the address without a new password does both, too, and leaves the account without a password and second factor: the owner gets a new one by a reset link. The last platform admin cannot lose the role, and an account whose e-mail address is not confirmed cannot get it: 409. 403 for one's own password, which `POST /api/v1/auth/password` changes." },
    { ROUTE(DELETE, "/api/v1/platform/users/{email}", PLATFORM, 200), .change = remove_user, .topic = CHANGE_USERS, .params = &user_path_shape, .answer = &user_list_shape, .audit = "user.remove",
      .id = "delete_user", .summary = "Delete a user",
      .description = "Ends the user's sessions and removes all their roles. The last platform admin cannot be deleted: 409." },
    { 0 },
};
/* clang-format on */

static int list_tenant_users(struct api_call *call, struct db *db, struct error *err)
{
    struct listing *answer = call->answer;

    return tenant_users(db, call->tenant_id, call->arena, &answer->list, err);
}

static void name_role(struct api_call *call, struct str email, int role)
{
    call->audit_target = email;
    call->audit_detail = arena_printf(call->arena, "{\"role\":\"%s\"}", tenant_role_names[role]);
}

static int add_role(struct api_call *call, struct db *db, struct error *err)
{
    struct tenant_user_create create = *(const struct tenant_user_create *)call->body;

    name_role(call, create.email, create.role);
    create.password = *(const struct str *)call->own;
    create.vouched = call->caller->user == NULL || call->caller->user->is_platform_admin;
    return users_add_role(db, call->tenant_id, &create, call->arena, call->answer, err);
}

static int begin_add_role(struct api_call *call, struct error *err)
{
    const struct tenant_user_create *create = call->body;

    return accounts_hash(call, create->password, create->email, true, err);
}

static int set_role(struct api_call *call, struct db *db, struct error *err)
{
    const struct tenant_user_path *path = call->params;
    const struct tenant_user_patch *patch = call->body;

    const struct role_change change = { call->tenant_id, path->email,
                                        (enum tenant_role)patch->role };

    name_role(call, path->email, patch->role);
    return users_set_role(db, &change, call->arena, call->answer, err);
}

static int remove_role(struct api_call *call, struct db *db, struct error *err)
{
    const struct tenant_user_path *path = call->params;

    call->audit_target = path->email;
    if (users_remove_role(db, call->tenant_id, path->email, err) != 0)
        return -1;
    return list_tenant_users(call, db, err);
}

/* clang-format off */
const struct route tenant_user_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/users", ADMIN, 200), .read = list_tenant_users, .params = &tenant_path_shape, .answer = &tenant_user_list_shape,
      .id = "list_tenant_users", .summary = "List a workspace's users",
      .description = "Everyone with a role in the workspace." },
    { ROUTE(POST, "/api/v1/tenants/{slug}/users", ADMIN, 201), .handler = begin_add_role, .change = add_role, .topic = CHANGE_USERS, .params = &tenant_path_shape, .body = &tenant_user_create_shape, .answer = &tenant_user_added_shape, .audit = "role.add",
      .id = "add_tenant_user", .summary = "Give a user a role in a workspace",
      .description = "A known e-mail address gets the role and keeps its password. An unknown one needs a `password`, and the user is created. 409 for an account that another tenant made and whose e-mail address was never confirmed: invite the person by e-mail instead." },
    { ROUTE(PATCH, "/api/v1/tenants/{slug}/users/{email}", ADMIN, 200), .change = set_role, .topic = CHANGE_USERS, .params = &tenant_user_path_shape, .body = &tenant_user_patch_shape, .answer = &tenant_user_shape, .audit = "role.set",
      .id = "update_tenant_user", .summary = "Change a user's role in a workspace",
      .description = "In effect at once. Ends the user's sessions if this is their only workspace." },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/users/{email}", ADMIN, 200), .change = remove_role, .topic = CHANGE_USERS, .params = &tenant_user_path_shape, .answer = &tenant_user_list_shape, .audit = "role.remove",
      .id = "remove_tenant_user", .summary = "Remove a user from a workspace",
      .description = "The user keeps their account and their roles elsewhere." },
    { 0 },
};
/* clang-format on */

/* On the hashing thread, after the current password. */
static int hash_next_password(struct api_call *call, struct db *db, struct error *err)
{
    const struct password_change *change = call->body;

    (void)db;
    return sign_in_hash(change->new_password, call->arena, &reauth_result(call)->new_hash, err);
}

static int set_password(struct api_call *call, struct db *db, struct error *err)
{
    const struct password_change *change = call->body;
    const struct session_user *user = call->caller->user;

    if (sign_in_set_password(db, reauth_result(call), &user->session, err) != 0 ||
        (!change->keep_tokens && personal_end(db, user->user_id, INT64_MAX, err) != 0) ||
        users_about(db, user->user_id, err) != 0 || accounts_answer_me(call, db, err) != 0)
        return -1;
    call->audit_target = user->email;
    return accounts_audit(call, db, user, "password.change", err);
}

static int change_password(struct api_call *call, struct error *err)
{
    const struct password_change *change = call->body;
    const struct reauth_next next = { .topic = CHANGE_USERS,
                                      .prepare = hash_next_password,
                                      .work = set_password };

    if (accounts_check_password(call, "new_password", change->new_password,
                                call->caller->user->email, err) != 0)
        return -1;
    return reauth_begin(call, change->current_password, &next, err);
}

/* clang-format off */
const struct route password_routes[] = {
    { ROUTE(POST, "/api/v1/auth/password", USER, 200), .handler = change_password, .also = ALSO_CONFLICT, .body = &password_change_shape, .answer = &session_answer_shape,
      .id = "change_password", .summary = "Change one's own password",
      .description = "Ends all other sessions of the user and deletes the user's personal access tokens, unless `keep_tokens` is true. One at a time: 429 while another change of the same user is under way." },
    { 0 },
};
/* clang-format on */
