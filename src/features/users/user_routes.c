/* user_routes.c - users of the platform, for its admins. */
#include "features/users/users.h"

#include "api/api.h"
#include "api/call.h"
#include "features/access/sessions.h"
#include "features/users/accounts.h"
#include "features/users/routes.h"
#include "features/users/second_factor/factor.h"
#include "features/users/second_factor/store.h"
#include "features/users/shapes.h"
#include "features/users/sign_in.h"
#include "features/users/users_store.h"

static int list_platform_users(struct api_call *call, struct db *db, struct error *err)
{
    return users_list(db, call->arena, call->answer, err);
}

/* Sets call->own to the hash, a struct str, of the password in the body. */
static int hash_new_password(struct api_call *call, struct db *db, struct error *err)
{
    const struct user_create *create = call->body;

    (void)db;
    return sign_in_hash(create->password, call->arena, call->own, err);
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

    call->own = ARENA_NEW(call->arena, struct str);
    return accounts_hash(call, create->password, create->email, hash_new_password, err);
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

static int hash_changed_password(struct api_call *call, struct db *db, struct error *err)
{
    const struct user_patch *patch = call->body;

    (void)db;
    return sign_in_hash(patch->password, call->arena, call->own, err);
}

static int begin_set_user(struct api_call *call, struct error *err)
{
    const struct user_path *path = call->params;
    const struct user_patch *patch = call->body;

    call->own = ARENA_NEW(call->arena, struct str);
    if (str_is_null(patch->password))
        return call_proceed(call, err);
    /* an open session must not be enough for a new password of its own user */
    if (call->user != NULL && str_eq(call->user->email, path->email))
        return call_refuse(call, err, 403,
                           "Not allowed for your own password; change it under Your account, which "
                           "asks for the current one");
    return accounts_hash(call, patch->password, path->email, hash_changed_password, err);
}

static int remove_user(struct api_call *call, struct db *db, struct error *err)
{
    const struct user_path *path = call->params;
    struct user_row user;

    call->audit_target = path->email;
    if (users_find(db, path->email, call->arena, &user, err) != 0 ||
        users_remove(db, path->email, err) != 0 ||
        store_factor_remove(db, user.user_id, NULL, err) != 0)
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
