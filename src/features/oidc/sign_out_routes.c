/* sign_out_routes.c - where a person signs out of the identity provider as well.
 *
 * Signing out here ends the session here. The provider still knows the person,
 * and the next sign-in asks nothing. So a client may send the browser on to the
 * provider's own page (OpenID Connect RP-Initiated Logout 1.0), with the ID
 * token of the sign-in, by which the provider knows whose session to end.
 */
#include "api/api.h"
#include "api/call.h"
#include "base/log.h"
#include "features/access/users/sessions.h"
#include "features/access/users/vouched.h"
#include "features/oidc/oidc.h"
#include "features/oidc/provider.h"
#include "features/oidc/routes.h"
#include "features/oidc/shapes.h"
#include "features/oidc/workers.h"

/* State between the steps. */
struct sign_out_step {
    struct worker_job job; /* first: the worker hands it back */
    struct api_call *call;
    struct str id_token; /* STR_NULL: the session was opened in another way */
};

static int find_token(struct api_call *call, struct db *db, struct error *err)
{
    struct sign_out_step *step = call->own;

    return vouched_voucher(db, &call->user->session, call->arena, &step->id_token, err);
}

/* A provider that cannot be asked keeps no one from signing out here. */
static void answer_url(struct worker_job *job, const struct error *refused)
{
    const struct sign_out_step *step = (const struct sign_out_step *)job;
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
    struct sign_out_step *step = call->own;
    struct workers *workers = oidc_of(call->api->engine)->workers;
    struct error busy = { 0 };

    if (err != NULL || str_is_null(step->id_token) || workers == NULL)
        call_reply(call, err);
    else if (workers_submit(workers, &step->job, &busy) != 0)
        answer_url(&step->job, &busy);
}

static int begin(struct api_call *call, struct error *err)
{
    struct sign_out_step *step = ARENA_NEW(call->arena, struct sign_out_step);

    step->job.run = answer_url;
    step->call = call;
    step->id_token = STR_NULL;
    call->own = step;
    return call_read(call, find_token, token_found, err);
}

/* clang-format off */
const struct route oidc_sign_out_routes[] = {
    { ROUTE(GET, "/api/v1/auth/oidc/sign-out", USER, 200), .handler = begin, .answer = &oidc_sign_out_shape,
      .id = "get_oidc_sign_out", .summary = "See where to sign out of the identity provider",
      .description = "Ask before `POST /api/v1/auth/logout`, which ends the session here, and open the URL after it. Null for a session that was not opened by the provider, and for a provider that has no such page (`end_session_endpoint`) or cannot be asked." },
    { 0 },
};
/* clang-format on */
