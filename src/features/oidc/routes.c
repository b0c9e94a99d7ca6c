/* routes.c - platform admins say which groups give which role, and link users to the provider. */
#include "features/oidc/routes.h"

#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "base/digest.h"
#include "cli/settings.h"
#include "engine/engine.h"
#include "features/access/access.h"
#include "features/access/registry.h"
#include "features/oidc/shapes.h"
#include "features/oidc/store.h"
#include "features/users/accounts.h"
#include "features/users/identities/identities_store.h"
#include "features/users/shapes.h"
#include "features/users/users.h"
#include "features/users/users_store.h"

enum { IDENTITIES_MAX = 10 };

static int list_groups(struct api_call *call, struct db *db, struct error *err)
{
    struct listing *answer = call->answer;

    return store_groups(db, call->arena, &answer->list, err);
}

static int add_group(struct api_call *call, struct db *db, struct error *err)
{
    const struct oidc_group_create *create = call->body;
    struct oidc_group *row = call->answer;

    *row = (struct oidc_group){ .group_id = digest_random_id("grp_", call->arena),
                                .group = create->group,
                                .role = create->role,
                                .tenant = create->tenant,
                                .created_at = clock_wall_us() };
    if (!str_is_null(create->tenant)) {
        const struct tenant_entry *tenant =
            registry_tenant(access_registry(call->api->engine), create->tenant);

        if (tenant == NULL)
            return err_set(err, ERR_NOT_FOUND, "There is no tenant '%.*s'",
                           STR_ARG(create->tenant));
        row->tenant_id = tenant->id;
    }
    call->audit_target = create->group;
    return store_groups_check_room(db, err) != 0 ? -1 : store_group_add(db, row, err);
}

static int remove_group(struct api_call *call, struct db *db, struct error *err)
{
    const struct oidc_group_path *path = call->params;

    call->audit_target = path->group_id;
    ((struct oidc_group_deleted *)call->answer)->group_id = path->group_id;
    return store_group_remove(db, path->group_id, err);
}

/* Identities */

static int answer_identities(struct api_call *call, struct db *db, struct str user_id,
                             struct error *err)
{
    struct listing *answer = call->answer;

    return store_identities_of(db, user_id, call->arena, &answer->list, err);
}

static struct str email_of(const struct api_call *call)
{
    return ((const struct user_path *)call->params)->email;
}

static int list_identities(struct api_call *call, struct db *db, struct error *err)
{
    struct user_row user;

    if (users_find(db, email_of(call), call->arena, &user, err) != 0)
        return -1;
    return answer_identities(call, db, user.user_id, err);
}

static int add_identity(struct api_call *call, struct db *db, struct error *err)
{
    const struct settings *settings = engine_settings(call->api->engine);
    const struct identity_create *create = call->body;
    struct identity_row row = { .issuer = str_of(settings->oidc_issuer),
                                .subject = create->subject,
                                .created_at = clock_wall_us(),
                                .last_login_at = TIME_NULL };
    struct user_row user;
    struct list now;

    call->audit_target = email_of(call);
    if (row.issuer.len == 0)
        return err_set(err, ERR_CONFLICT, "No identity provider is set up: set oidc_issuer first");
    if (users_find(db, email_of(call), call->arena, &user, err) != 0 ||
        store_identities_of(db, user.user_id, call->arena, &now, err) != 0)
        return -1;
    if (users_check_confirmed(&user, 0, err) != 0) /* a password that is known stays valid */
        return -1;
    if (now.n >= IDENTITIES_MAX)
        return err_set(err, ERR_CONFLICT, "A user can have %d identities; delete them first",
                       IDENTITIES_MAX);
    row.user_id = user.user_id;
    if (store_identity_add(db, &row, err) != 0)
        return -1;
    return answer_identities(call, db, user.user_id, err);
}

static int remove_identities(struct api_call *call, struct db *db, struct error *err)
{
    struct user_row user;
    int64_t n;

    call->audit_target = email_of(call);
    if (users_find(db, email_of(call), call->arena, &user, err) != 0 ||
        store_identities_remove(db, user.user_id, &n, err) != 0)
        return -1;
    if (n == 0)
        return err_set(err, ERR_NOT_FOUND, "'%.*s' is not linked to an identity provider",
                       STR_ARG(user.email));
    return answer_identities(call, db, user.user_id, err);
}

/* A link is a way in: a stolen session or token must not be enough to make one. */
static int begin_link(struct api_call *call, struct error *err)
{
    if (accounts_check_helper(call, email_of(call), err) != 0)
        return -1;
    return call_proceed(call, err);
}

#define GROUPS     "/api/v1/platform/oidc/groups"
#define IDENTITIES "/api/v1/platform/users/{email}/identities"

/* clang-format off */
const struct route oidc_routes[] = {
    { ROUTE(GET, GROUPS, PLATFORM, 200), .read = list_groups, .answer = &oidc_group_list_shape,
      .id = "list_oidc_groups", .summary = "List the identity provider's groups that give a role",
      .description = "Only people in one of them may sign in by the provider." },
    { ROUTE(POST, GROUPS, PLATFORM, 201), .change = add_group, .topic = CHANGE_NOTHING, .also = ALSO_NOT_FOUND | ALSO_CONFLICT, .body = &oidc_group_create_shape, .answer = &oidc_group_shape, .audit = "group.add",
      .id = "create_oidc_group", .summary = "Give a group of the identity provider a role",
      .description = "In effect at the next sign-in of each person. Where a tenant, or the platform, has a group, groups alone decide the roles of people who sign in by the provider; of several roles the stronger holds." },
    { ROUTE(DELETE, GROUPS "/{group_id}", PLATFORM, 200), .change = remove_group, .topic = CHANGE_NOTHING, .also = ALSO_NOT_FOUND, .params = &oidc_group_path_shape, .answer = &oidc_group_deleted_shape, .audit = "group.delete",
      .id = "delete_oidc_group", .summary = "Take the role from a group of the identity provider",
      .description = "In effect at the next sign-in of each person; end their sessions to have it at once. Once a tenant has no group, the roles in it stay as they are." },
    { ROUTE(GET, IDENTITIES, PLATFORM, 200), .read = list_identities, .also = ALSO_NOT_FOUND, .params = &user_path_shape, .answer = &identity_list_shape,
      .id = "list_user_identities", .summary = "See who a user is at the identity provider",
      .description = "By issuer and subject; empty for a user who signs in with a password only." },
    { ROUTE(POST, IDENTITIES, PLATFORM, 200), .handler = begin_link, .change = add_identity, .topic = CHANGE_USERS, .also = ALSO_NOT_FOUND | ALSO_CONFLICT, .params = &user_path_shape, .body = &identity_create_shape, .answer = &identity_list_shape, .audit = "identity.add",
      .id = "link_user_identity", .summary = "Link a user to a person at the identity provider",
      .description = "That person then signs in as this user, with the roles of their groups. 409 when the e-mail address of the user is not confirmed. 403 for one's own user, and with a personal access token." },
    { ROUTE(DELETE, IDENTITIES, PLATFORM, 200), .handler = begin_link, .change = remove_identities, .topic = CHANGE_USERS, .also = ALSO_NOT_FOUND, .params = &user_path_shape, .answer = &identity_list_shape, .audit = "identity.delete",
      .id = "unlink_user_identities", .summary = "Unlink a user from the identity provider",
      .description = "The user can no longer sign in by it; open sessions go on. 403 for one's own user, and with a personal access token." },
    { 0 },
};
/* clang-format on */
