/* tenant_user_routes.c - the users of a tenant and their roles, for its admins. */
#include "api/call.h"
#include "features/access/sessions.h"
#include "features/access/shapes.h"
#include "features/users/accounts.h"
#include "features/users/routes.h"
#include "features/users/shapes.h"
#include "features/users/sign_in.h"
#include "features/users/users.h"
#include "features/users/users_store.h"

static int list_tenant_users(struct api_call *call, struct db *db, struct error *err)
{
    struct listing *answer = call->answer;

    return store_tenant_users(db, call->tenant_id, call->arena, &answer->list, err);
}

static void name_role(struct api_call *call, struct str email, int role)
{
    call->audit_target = email;
    call->audit_detail = arena_printf(call->arena, "{\"role\":\"%s\"}", tenant_role_names[role]);
}

/* An existing user keeps their password, so it is not hashed. */
static int hash_if_new(struct api_call *call, struct db *db, struct error *err)
{
    const struct tenant_user_create *create = call->body;
    bool is_new;

    if (users_is_new(db, create->email, &is_new, err) != 0)
        return -1;
    return is_new ? sign_in_hash(create->password, call->arena, call->own, err) : 0;
}

static int add_role(struct api_call *call, struct db *db, struct error *err)
{
    struct tenant_user_create create = *(const struct tenant_user_create *)call->body;

    name_role(call, create.email, create.role);
    create.password = *(const struct str *)call->own;
    create.vouched = call->user == NULL || call->user->is_platform_admin;
    return users_add_role(db, call->tenant_id, &create, call->arena, call->answer, err);
}

static int begin_add_role(struct api_call *call, struct error *err)
{
    const struct tenant_user_create *create = call->body;

    call->own = ARENA_NEW(call->arena, struct str);
    if (str_is_null(create->password))
        return call_proceed(call, err);
    return accounts_hash(call, create->password, create->email, hash_if_new, err);
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
