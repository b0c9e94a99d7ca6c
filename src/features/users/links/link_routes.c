/* link_routes.c - admins create, list and revoke invitations, and create reset links.
 *
 * A link is sent by e-mail if there is a mail server, and then the answer does
 * not have it; else the answer is the only place where it is shown. Its token is
 * after the '#', so that it never reaches a log of the service or of a proxy.
 */
#include "api/api.h"
#include "api/call.h"
#include "cli/settings.h"
#include "engine/engine.h"
#include "features/access/access.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/access/sessions.h"
#include "features/access/shapes.h"
#include "features/users/accounts.h"
#include "features/users/links/forgot.h"
#include "features/users/links/links.h"
#include "features/users/links/shapes.h"
#include "features/users/mailer.h"
#include "features/users/routes.h"
#include "features/users/shapes.h"

/* State between the steps of creating a link. */
struct link_step {
    struct link_wish wish;
    struct link_made made;
    bool show;      /* rather than send it */
    struct str url; /* as it is mailed; the answer has the one to show */
    struct mail mail;
    struct api_call *call;
};

static struct str maker(const struct api_call *call)
{
    return call->user == NULL ? STR_LIT(LINK_OPERATOR) : call->user->email;
}

/* Where people open the portal, as far as it is known. */
static int find_base(const struct api_call *call, struct str *ret, struct error *err)
{
    const struct str named = str_of(engine_settings(call->api->engine)->public_url);

    *ret = named.len > 0 ? named : call->api->own_url;
    if (!str_is_null(*ret))
        return 0;
    return err_set(err, ERR_CONFLICT,
                   "The service listens on any free port, so the link's address is not known: set "
                   "public_url to the URL that people open");
}

/* A link that leads to another machine for every person who opens it. */
static struct str url_note(const struct api_call *call)
{
    if (engine_settings(call->api->engine)->public_url[0] != '\0' || !call->api->own_url_is_local)
        return STR_NULL;
    return STR_LIT("The link works only on the service's own machine: set public_url to the URL "
                   "that people use");
}

static struct str link_url(struct arena *arena, struct str base, struct str token)
{
    return arena_printf(arena, "%.*s/#/link?token=%.*s", STR_ARG(base), STR_ARG(token));
}

/* On the writer. */
static int make_link(struct api_call *call, struct db *db, struct error *err)
{
    struct link_step *step = call->own;
    struct link_created *answer = call->answer;
    struct str base;

    call->audit_target = step->wish.email;
    call->audit_platform = step->wish.tenant_id == 0;
    if (find_base(call, &base, err) != 0 ||
        links_make(db, &step->wish, call->arena, &step->made, err) != 0)
        return -1;
    call->audit_detail =
        arena_printf(call->arena, "{\"link_id\":\"%.*s\"}", STR_ARG(step->made.row.link_id));
    step->url = link_url(call->arena, base, step->made.mailed);
    *answer = (struct link_created){ .link_id = step->made.row.link_id,
                                     .email = step->made.row.email,
                                     .url = step->made.takes_over
                                                ? STR_NULL
                                                : link_url(call->arena, base, step->made.shown),
                                     .url_note = step->made.takes_over ? STR_NULL : url_note(call),
                                     .mail_problem = STR_NULL,
                                     .expires_at = step->made.row.expires_at };
    return 0;
}

/* In the mail, if the person becomes a member of a tenant. */
static const char *what_members_may(struct list roles)
{
    const struct link_role *role = roles.items;

    for (size_t i = 0; i < roles.n; i++)
        if (role[i].role == ROLE_MEMBER)
            return "As a member you can view, acknowledge alerts, mute agents and plan "
                   "maintenance.\r\n";
    return "";
}

static struct str mail_text(const struct link_step *step)
{
    struct arena *arena = step->call->arena;
    const struct tenant_entry *tenant = step->call->tenant;
    const struct str where =
        tenant == NULL ? STR_LIT("")
                       : arena_printf(arena, " in the workspace %.*s", STR_ARG(tenant->slug));

    if (step->wish.kind == LINK_RESET)
        return arena_printf(arena,
                            "An administrator asked for a new password for your account.\r\n"
                            "Choose one within an hour:\r\n\r\n%.*s\r\n\r\n"
                            "The link works once. Until then your old password is valid.\r\n",
                            STR_ARG(step->url));
    return arena_printf(arena,
                        "%.*s invites you to muster%.*s.\r\n%s"
                        "Choose a password within seven days:\r\n\r\n%.*s\r\n\r\n"
                        "The link works once. If you did not expect this mail, ignore it.\r\n",
                        STR_ARG(step->wish.made_by), STR_ARG(where),
                        what_members_may(step->wish.roles), STR_ARG(step->url));
}

/* On the sender's thread. A link that could not be sent is shown, unless only a mailed one is
 * valid. */
static void link_mailed(struct mail *mail, const char *problem)
{
    const struct link_step *step = CONTAINER_OF(mail, struct link_step, mail);
    struct link_created *answer = step->call->answer;

    answer->mailed = problem == NULL;
    if (answer->mailed)
        answer->url = STR_NULL;
    else
        answer->mail_problem = arena_copy(step->call->arena, str_of(problem));
    call_reply(step->call, NULL);
}

static void mail_link(struct api_call *call, struct link_step *step, mail_send_fn *send)
{
    struct link_created *answer = call->answer;
    struct error err = { 0 };

    if (engine_settings(call->api->engine)->public_url[0] == '\0') {
        answer->mail_problem = STR_LIT("Set public_url: without it a mail could not name the link");
        call_reply(call, NULL);
        return;
    }
    step->mail = (struct mail){ .to = step->wish.email,
                                .subject = step->wish.kind == LINK_RESET
                                               ? STR_LIT("Choose a new password for muster")
                                               : STR_LIT("You are invited to muster"),
                                .text = mail_text(step),
                                .tenant_id = step->wish.tenant_id,
                                .done = link_mailed };
    if (send(call->api->engine, &step->mail, &err) == 0)
        return;
    answer->mail_problem = arena_copy(call->arena, str_of(err.text));
    call_reply(call, NULL);
}

/* The link is stored. */
static void link_made(struct api_call *call, const struct error *err)
{
    mail_send_fn *send = users_mailer(call->api->engine);
    struct link_step *step = call->own;

    if (err != NULL || step->show || send == NULL)
        call_reply(call, err);
    else
        mail_link(call, step, send);
}

static int begin_link(struct api_call *call, const struct link_wish *wish, bool show)
{
    struct link_step *step = ARENA_NEW(call->arena, struct link_step);

    step->wish = *wish;
    step->wish.made_by = maker(call);
    step->wish.by_mail = !show && forgot_is_possible(call->api->engine);
    step->show = show;
    step->call = call;
    call->own = step;
    call_change(call, CHANGE_USERS, make_link, link_made);
    return 0;
}

static int begin_tenant_invite(struct api_call *call, struct error *err)
{
    const struct tenant_invite *invite = call->body;
    struct link_role *role = ARENA_NEW(call->arena, struct link_role);
    const struct link_wish wish = { .kind = LINK_INVITATION,
                                    .tenant_id = call->tenant_id,
                                    .email = invite->email,
                                    .platform_role = PLATFORM_NONE,
                                    .roles = { role, 1 } };

    (void)err;
    *role = (struct link_role){ call->tenant_id, invite->role };
    return begin_link(call, &wish, invite->show_link);
}

static int begin_platform_invite(struct api_call *call, struct error *err)
{
    const struct platform_invite *invite = call->body;
    const struct invited_role *wanted = invite->tenants.items;
    struct link_role *roles = ARENA_ARRAY(call->arena, struct link_role, invite->tenants.n);
    const struct link_wish wish = { .kind = LINK_INVITATION,
                                    .email = invite->email,
                                    .platform_role = invite->role,
                                    .roles = { roles, invite->tenants.n } };

    for (size_t i = 0; i < invite->tenants.n; i++) {
        const struct tenant_entry *tenant =
            registry_tenant(access_registry(call->api->engine), wanted[i].slug);

        if (tenant == NULL)
            return call_refuse(call, err, 404, "There is no tenant '%.*s'",
                               STR_ARG(wanted[i].slug));
        roles[i] = (struct link_role){ tenant->id, wanted[i].role };
    }
    return begin_link(call, &wish, invite->show_link);
}

static int begin_reset_link(struct api_call *call, struct error *err)
{
    const struct user_path *path = call->params;
    const struct reset_request *request = call->body;
    const struct link_wish wish = { .kind = LINK_RESET,
                                    .email = path->email,
                                    .platform_role = PLATFORM_NONE };

    if (accounts_check_helper(call, path->email, err) != 0)
        return -1;
    return begin_link(call, &wish, request->show_link);
}

static int list_invitations(struct api_call *call, struct db *db, struct error *err)
{
    return links_list(db, call->tenant_id, call->arena, call->answer, err);
}

static int revoke(struct api_call *call, struct db *db, struct str link_id, struct error *err)
{
    call->audit_target = link_id;
    if (store_invitation_revoke(db, call->tenant_id, link_id, err) != 0)
        return -1;
    return list_invitations(call, db, err);
}

static int revoke_tenant_invitation(struct api_call *call, struct db *db, struct error *err)
{
    return revoke(call, db, ((const struct tenant_link_path *)call->params)->link_id, err);
}

static int revoke_platform_invitation(struct api_call *call, struct db *db, struct error *err)
{
    return revoke(call, db, ((const struct platform_link_path *)call->params)->link_id, err);
}

#define LINK_DOC                                                                                   \
    "If the service can send e-mail, the link is sent to the person; else, and with `show_link`, " \
    "it is in the answer, shown only once. It works once, and until `expires_at`"
#define INVITE_DOC                                                                                 \
    LINK_DOC                                                                                       \
    ", after seven days. An earlier invitation of the same person is replaced. 409 when "          \
    "there is such a user, or too many invitations are open. A user whose e-mail address is "      \
    "not "                                                                                         \
    "confirmed can be invited by e-mail only, and the person of the link gets that account."

/* clang-format off */
const struct route link_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/invitations", ADMIN, 200), .read = list_invitations, .params = &tenant_path_shape, .answer = &invitation_list_shape,
      .id = "list_tenant_invitations", .summary = "List a workspace's open invitations",
      .description = "Newest first, without the links, which are not stored." },
    { ROUTE(POST, "/api/v1/tenants/{slug}/invitations", ADMIN, 201), .handler = begin_tenant_invite, .also = ALSO_CONFLICT, .params = &tenant_path_shape, .body = &tenant_invite_shape, .answer = &link_created_shape, .audit = "invitation.add",
      .id = "invite_tenant_user", .summary = "Invite a person to a workspace",
      .description = "The person opens the link and chooses a password. " INVITE_DOC },
    { ROUTE(DELETE, "/api/v1/tenants/{slug}/invitations/{link_id}", ADMIN, 200), .change = revoke_tenant_invitation, .topic = CHANGE_NOTHING, .also = ALSO_NOT_FOUND, .params = &tenant_link_path_shape, .answer = &invitation_list_shape, .audit = "invitation.remove",
      .id = "revoke_tenant_invitation", .summary = "Revoke an invitation to a workspace",
      .description = "Its link stops working at once." },
    { ROUTE(GET, "/api/v1/platform/invitations", PLATFORM, 200), .read = list_invitations, .answer = &invitation_list_shape,
      .id = "list_invitations", .summary = "List the platform's open invitations",
      .description = "Those of platform admins; workspaces have their own." },
    { ROUTE(POST, "/api/v1/platform/invitations", PLATFORM, 201), .handler = begin_platform_invite, .also = ALSO_NOT_FOUND | ALSO_CONFLICT, .body = &platform_invite_shape, .answer = &link_created_shape, .audit = "invitation.add",
      .id = "invite_user", .summary = "Invite a person",
      .description = "With a platform role, roles in workspaces, or both. " INVITE_DOC },
    { ROUTE(DELETE, "/api/v1/platform/invitations/{link_id}", PLATFORM, 200), .change = revoke_platform_invitation, .topic = CHANGE_NOTHING, .also = ALSO_NOT_FOUND, .params = &platform_link_path_shape, .answer = &invitation_list_shape, .audit = "invitation.remove",
      .id = "revoke_invitation", .summary = "Revoke an invitation of the platform",
      .description = "Its link stops working at once." },
    { ROUTE(POST, "/api/v1/platform/users/{email}/reset-link", PLATFORM, 201), .handler = begin_reset_link, .also = ALSO_NOT_FOUND | ALSO_CONFLICT, .params = &user_path_shape, .body = &reset_request_shape, .answer = &link_created_shape, .audit = "reset.add",
      .id = "create_reset_link", .summary = "Create a link with which a user chooses a new password",
      .description = LINK_DOC ", after an hour. The password in use stays valid until then. An earlier link of the user stops working. 403 for one's own user, and with a personal access token." },
    { 0 },
};
/* clang-format on */
