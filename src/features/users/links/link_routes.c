/* link_routes.c - admins create, list and revoke invitations, and create reset links.
 *
 * A link is sent by e-mail if there is a mail server, and then the answer does
 * not have it; else the answer is the only place where it is shown. Its token is
 * after the '#', so that it never reaches a log of the service or of a proxy.
 */
#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "cli/settings.h"
#include "engine/engine.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/access/sessions.h"
#include "features/access/shapes.h"
#include "features/users/accounts.h"
#include "features/users/links/links.h"
#include "features/users/mailer.h"
#include "features/users/routes.h"
#include "features/users/shapes.h"
#include "features/users/throttle.h"
#include "features/users/users.h"

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
    return call->caller->user == NULL ? STR_LIT(LINK_OPERATOR) : call->caller->user->email;
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
    if (invitation_revoke(db, call->tenant_id, link_id, err) != 0)
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
    return link_roles(db, link.link_id, call->arena, &answer->tenants, err);
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
    call->caller->user = user;
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
