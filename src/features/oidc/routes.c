/* routes.c - platform admins say which groups give which role, and link users to the provider. */
#include "features/oidc/oidc.h"

#include "api/api.h"
#include "api/call.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "cli/settings.h"
#include "engine/engine.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/access/sessions.h"
#include "features/metrics.h"
#include "features/users/accounts.h"
#include "features/users/shapes.h"
#include "features/users/throttle.h"
#include "features/users/users.h"

static const struct cookie flow_cookie = { STR_INIT("__Host-muster_oidc"),
                                           STR_INIT("muster_oidc") };

#define FLOW_LIFE "; Max-Age=900"

/* State between the steps. */
struct oidc_step {
    struct worker_job job; /* first: the worker hands it back */
    struct api_call *call;
    struct flow flow;
    struct throttle_attempt attempt;
    struct sign_in_session *session;
    struct id_claims claims;
    struct person_admission admission;
    char why[ERR_TEXT_MAX]; /* of a refusal */
    struct str id_token;    /* to sign out with; STR_NULL: the session was opened in another way */
};

static const struct settings *settings_of(const struct api_call *call)
{
    return engine_settings(call->api->engine);
}

static int check_enabled(struct api_call *call, struct error *err)
{
    if (session_check_origin(call, err) != 0)
        return -1;
    if (oidc_of(call->api->engine)->provider == NULL)
        return call_refuse(call, err, 404, "Sign-in by an identity provider is not set up");
    return 0;
}

static int show_state(struct api_call *call, struct error *err)
{
    const struct settings *settings = settings_of(call);
    const bool enabled = oidc_of(call->api->engine)->provider != NULL;

    (void)err;
    *(struct oidc_state *)call->answer = (struct oidc_state){
        .enabled = enabled,
        .name = enabled ? str_of(settings->oidc_name) : STR_NULL,
        .password_sign_in = settings->password_sign_in != 0,
    };
    call_reply(call, NULL);
    return 0;
}

/* The reason goes to the log; the person is told only that the provider cannot be asked. */
static void reply_unavailable(struct api_call *call, const struct error *why)
{
    struct error err = { 0 };

    log_write(LOG_WARNING, "oidc", "sign-in failed: %s", why->text);
    call->set_cookie = STR_NULL;
    (void)call_refuse(call, &err, 503,
                      "The identity provider cannot be asked at the moment; try again in a minute");
    call_reply(call, &err);
}

static struct oidc_step *new_step(struct api_call *call,
                                  void (*run)(struct worker_job *job, const struct error *err))
{
    struct oidc_step *step = ARENA_NEW(call->arena, struct oidc_step);

    step->job.run = run;
    step->call = call;
    call->own = step;
    return step;
}

/* Begin */

static void answer_url(struct worker_job *job, const struct error *refused)
{
    const struct oidc_step *step = (const struct oidc_step *)job;
    struct api_call *call = step->call;
    struct oidc_begun *answer = call->answer;
    struct error err = { 0 };

    if (refused != NULL)
        reply_unavailable(call, refused);
    else if (provider_sign_in_url(oidc_of(call->api->engine)->provider, &step->flow, call->arena,
                                  &answer->url, &err) != 0)
        reply_unavailable(call, &err);
    else
        call_reply(call, NULL);
}

/* A failure to submit is a 503 like any other of the provider's. */
static void submit(struct api_call *call, struct oidc_step *step)
{
    struct error busy = { 0 };

    if (workers_submit(oidc_of(call->api->engine)->workers, &step->job, &busy) != 0)
        step->job.run(&step->job, &busy);
}

static int begin(struct api_call *call, struct error *err)
{
    char secret[BASE64URL_LEN + 1];
    struct oidc_step *step;

    if (check_enabled(call, err) != 0)
        return -1;
    step = new_step(call, answer_url);
    digest_random_base64url(secret);
    flow_of(str_of(secret), &step->flow);
    cookie_set(call, &flow_cookie, str_of(secret), FLOW_LIFE);
    submit(call, step);
    return 0;
}

/* Complete */

/* The audit log's detail: by which way, whose subject, and more members. */
static struct str detail(const struct oidc_step *step, const char *more)
{
    BUF_SCOPED(out, KIB(8));

    buf_add_c(&out, "{\"by\":\"oidc\"");
    if (!str_is_null(step->claims.subject)) {
        buf_add_c(&out, ",\"subject\":");
        buf_add_json(&out, step->claims.subject);
    }
    buf_printf(&out, "%s}", more);
    return buf_take(&out, step->call->arena);
}

static int enter_refusal(struct api_call *call, struct db *db, struct error *err)
{
    const struct oidc_step *step = call->own;
    BUF_SCOPED(reason, KIB(8));

    call->audit_target =
        str_is_null(step->admission.email) ? STR_LIT("unknown user") : step->admission.email;
    buf_add_c(&reason, ",\"reason\":");
    buf_add_json(&reason, str_of(step->admission.refused ? step->admission.why : step->why));
    buf_add_char(&reason, '\0');
    call->audit_detail = detail(step, reason.data);
    return call_audit(call, db, "session.refuse", err);
}

static int refuse_person(struct api_call *call, struct error *err)
{
    const struct oidc_step *step = call->own;

    if (step->admission.refused)
        return call_refuse(call, err, 403, "%s", step->admission.why);
    return call_refuse(call, err, 403, "Sign-in by the identity provider failed: %s", step->why);
}

/* A person whom the provider knows and who has no access here: the operator will be asked why. A
 * code that the provider refused may be invented, and is in the audit log alone. */
static void log_refusal(const struct oidc_step *step)
{
    struct log_line line;

    log_begin(&line, LOG_WARNING, "oidc");
    log_str(&line, "msg", STR_LIT("sign-in refused"));
    log_str(&line, "subject", step->claims.subject);
    log_str(&line, "reason", str_of(step->admission.why));
    log_end(&line);
}

static void refusal_entered(struct api_call *call, const struct error *err)
{
    const struct oidc_step *step = call->own;

    if (step->admission.refused)
        log_refusal(step);
    metric_add(METRIC_OIDC_REFUSED, 1);
    call->set_cookie = STR_NULL;
    if (err != NULL)
        call_reply(call, err);
    else
        call_run_or_reply(call, refuse_person);
}

static int admit(struct api_call *call, struct db *db, struct error *err)
{
    struct oidc_step *step = call->own;
    const struct settings *settings = settings_of(call);
    const struct person person = { .issuer = str_of(settings->oidc_issuer),
                                   .claims = &step->claims,
                                   .any_email = settings->oidc_unverified_email != 0 };

    if (person_admit(db, &person, call->arena, &step->admission, err) != 0)
        return -1;
    if (step->admission.refused)
        return enter_refusal(call, db, err);
    if (sign_in_open_vouched(db, step->admission.email, step->session, call->arena, call->answer,
                             err) != 0)
        return -1;
    call->audit_detail = detail(
        step, step->admission.created ? ",\"user\":\"created\""
                                      : (step->admission.changed ? ",\"roles\":\"changed\"" : ""));
    return vouched_finish(call, db, "session.open", err);
}

static void admitted(struct api_call *call, const struct error *err)
{
    const struct oidc_step *step = call->own;

    if (err == NULL && step->admission.refused) {
        refusal_entered(call, NULL);
        return;
    }
    if (err == NULL)
        metric_add(METRIC_OIDC_SIGN_INS, 1);
    vouched_opened(call, err);
}

/* Only a code that the provider refuses is a failure of the address that sent it. All else that
 * goes wrong is the provider's fault, or the settings': it decides nothing, and is in the log. Nor
 * does a success: it says nothing about a password. */
static void redeem(struct worker_job *job, const struct error *refused)
{
    struct oidc_step *step = (struct oidc_step *)job;
    struct api_call *call = step->call;
    const struct oidc_return *body = call->body;
    struct error err = { 0 };
    int r = -1;
    bool wrong_code;

    if (refused == NULL)
        r = provider_redeem(oidc_of(call->api->engine)->provider, body->code, &step->flow,
                            call->arena, &step->claims, &err);
    call->asked_us = clock_raw_us(); /* the provider took what came before */
    wrong_code = r != 0 && err.code == ERR_INVALID;
    accounts_end_attempt(call, &step->attempt, wrong_code, false);
    if (r == 0) {
        step->session->digest = session_begin(call);
        if (step->claims.token.len <= VOUCHER_MAX)
            step->session->voucher = step->claims.token;
        call_change(call, CHANGE_USERS, admit, admitted);
    } else if (wrong_code || err.code == ERR_FORBIDDEN) {
        if (!wrong_code)
            log_write(LOG_WARNING, "oidc", "sign-in failed: %s", err.text);
        memcpy(step->why, err.text, sizeof(step->why));
        call_change(call, CHANGE_NOTHING, enter_refusal, refusal_entered);
    } else {
        metric_add(METRIC_OIDC_FAILED, 1);
        reply_unavailable(call, refused != NULL ? refused : &err);
    }
}

/* Was this sign-in begun in this browser, and for this provider? */
static int check_flow(struct api_call *call, struct flow *ret, struct error *err)
{
    const struct oidc_return *body = call->body;
    const struct str secret = cookie_value(call, &flow_cookie);

    if (secret.len != BASE64URL_LEN)
        return call_refuse(call, err, 403,
                           "This sign-in was not begun in this browser, or more than 15 minutes "
                           "ago: begin again");
    flow_of(secret, ret);
    if (!digest_equal_text(body->state, str_of(ret->state)))
        return call_refuse(call, err, 403,
                           "Another sign-in was begun in this browser after this one: begin again");
    if (!str_is_null(body->iss) && !str_eq_c(body->iss, settings_of(call)->oidc_issuer))
        return call_refuse(call, err, 403,
                           "The answer is of another identity provider: begin again");
    return 0;
}

static int complete(struct api_call *call, struct error *err)
{
    struct oidc_step *step;
    struct flow flow;

    if (check_enabled(call, err) != 0 || check_flow(call, &flow, err) != 0)
        return -1;
    step = new_step(call, redeem);
    step->flow = flow;
    step->session = vouched_prepare(call);
    step->attempt.account = arena_printf(call->arena, "oidc:%s", flow.state);
    if (accounts_begin_attempt(call, &step->attempt, err) != 0)
        return -1;
    submit(call, step);
    return 0;
}

/* Sign out */

static int find_token(struct api_call *call, struct db *db, struct error *err)
{
    struct oidc_step *step = call->own;

    return vouched_voucher(db, &call->caller->user->session, call->arena, &step->id_token, err);
}

/* A provider that cannot be asked keeps no one from signing out here. */
static void answer_sign_out_url(struct worker_job *job, const struct error *refused)
{
    const struct oidc_step *step = (const struct oidc_step *)job;
    struct api_call *call = step->call;
    struct oidc_sign_out *answer = call->answer;
    struct error err = { 0 };

    answer->url = STR_NULL;
    if (refused == NULL &&
        provider_sign_out_url(oidc_of(call->api->engine)->provider, step->id_token, call->arena,
                              &answer->url, &err) != 0)
        refused = &err;
    if (refused != NULL)
        log_write(LOG_WARNING, "oidc", "no way to sign out: %s", refused->text);
    call_reply(call, NULL);
}

static void token_found(struct api_call *call, const struct error *err)
{
    struct oidc_step *step = call->own;

    if (err != NULL || str_is_null(step->id_token) || oidc_of(call->api->engine)->workers == NULL)
        call_reply(call, err);
    else
        submit(call, step);
}

/* Signing out here ends the session here. The provider still knows the person, and the next sign-in
 * asks nothing. So a client may send the browser on to the provider's own page (OpenID Connect
 * RP-Initiated Logout 1.0), with the ID token of the sign-in, by which the provider knows whose
 * session to end. */
static int begin_sign_out(struct api_call *call, struct error *err)
{
    (void)new_step(call, answer_sign_out_url);
    return call_read(call, find_token, token_found, err);
}

/* clang-format off */
const struct route oidc_sign_in_routes[] = {
    { ROUTE(GET, "/api/v1/auth/oidc", OPEN, 200), .handler = show_state, .answer = &oidc_state_shape,
      .id = "get_sign_in_ways", .summary = "See in which ways people can sign in",
      .description = "With an identity provider (OpenID Connect), with a password, or both." },
    { ROUTE(POST, "/api/v1/auth/oidc/begin", OPEN, 200), .handler = begin, .sends = SENDS_COOKIE, .also = ALSO_NOT_FOUND, .answer = &oidc_begun_shape,
      .id = "begin_oidc_sign_in", .summary = "Begin to sign in by the identity provider",
      .description = "Sets a cookie that ties the sign-in to this browser for 15 minutes, and answers the provider's address. 404 when no provider is set up; 503 when it cannot be asked." },
    { ROUTE(POST, "/api/v1/auth/oidc/complete", OPEN, 200), .handler = complete, .sends = SENDS_COOKIE, .also = ALSO_NOT_FOUND | ALSO_CONFLICT, .body = &oidc_return_shape, .answer = &session_answer_shape,
      .id = "complete_oidc_sign_in", .summary = "Sign in with what the identity provider sent",
      .description = "With the parameters of the provider's redirect, in the browser that began. Answers as sign-in with a password does. 403, with a sentence, when the sign-in was begun elsewhere, the provider's answer is not valid, or the person's groups give no role. Codes that the provider refuses are throttled as wrong passwords are." },
    { ROUTE(GET, "/api/v1/auth/oidc/sign-out", USER, 200), .handler = begin_sign_out, .answer = &oidc_sign_out_shape,
      .id = "get_oidc_sign_out", .summary = "See where to sign out of the identity provider",
      .description = "Ask before `POST /api/v1/auth/logout`, which ends the session here, and open the URL after it. Null for a session that was not opened by the provider, and for a provider that has no such page (`end_session_endpoint`) or cannot be asked." },
    { 0 },
};
/* clang-format on */

enum { IDENTITIES_MAX = 10 };

static int list_groups(struct api_call *call, struct db *db, struct error *err)
{
    struct listing *answer = call->answer;

    return groups_load(db, call->arena, &answer->list, err);
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
    return group_add(db, row, err);
}

static int remove_group(struct api_call *call, struct db *db, struct error *err)
{
    const struct oidc_group_path *path = call->params;

    call->audit_target = path->group_id;
    ((struct oidc_group_deleted *)call->answer)->group_id = path->group_id;
    return group_remove(db, path->group_id, err);
}

/* Identities */

static int answer_identities(struct api_call *call, struct db *db, struct str user_id,
                             struct error *err)
{
    struct listing *answer = call->answer;

    return identities_of(db, user_id, call->arena, &answer->list, err);
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
        identities_of(db, user.user_id, call->arena, &now, err) != 0)
        return -1;
    if (users_check_confirmed(&user, 0, err) != 0) /* a password that is known stays valid */
        return -1;
    if (now.n >= IDENTITIES_MAX)
        return err_set(err, ERR_CONFLICT, "A user can have %d identities; delete them first",
                       IDENTITIES_MAX);
    row.user_id = user.user_id;
    if (identity_add(db, &row, err) != 0)
        return -1;
    return answer_identities(call, db, user.user_id, err);
}

static int remove_identities(struct api_call *call, struct db *db, struct error *err)
{
    struct user_row user;
    int64_t n;

    call->audit_target = email_of(call);
    if (users_find(db, email_of(call), call->arena, &user, err) != 0 ||
        identities_remove(db, user.user_id, &n, err) != 0)
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
