/* accounts.c - password rules, sign-in attempts, and audit entries about users. */
#include "features/users/accounts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/sync_job.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/access/access.h"
#include "features/access/auth.h"
#include "features/access/cookies.h"
#include "features/access/registry.h"
#include "features/access/sessions.h"
#include "features/users/password_rules.h"
#include "features/users/second_factor/factor.h"
#include "features/users/second_factor/store.h"
#include "features/users/shapes.h"
#include "features/users/sign_in.h"
#include "features/users/throttle.h"
#include "features/users/throttle_store.h"
#include "features/users/users.h"
#include "features/users/users_store.h"
#include "http/exchange.h"

enum { ATTEMPT_CHARS = 16 };

static const int64_t throttle_window_us = (int64_t)THROTTLE_WINDOW_S * USEC_PER_SEC;

int accounts_check_password(struct api_call *call, const char *name, struct str password,
                            struct str email, struct error *err)
{
    const char *sentence = password_problem(password, email);

    return sentence == NULL ? 0 : call_refuse_body(call, err, name, STR_NULL, sentence);
}

static int refuse_attempt(struct api_call *call, struct error *err)
{
    return call_refuse(call, err, 429, "Too many failed sign-ins; wait before the next attempt");
}

int accounts_begin_attempt(struct api_call *call, struct throttle_attempt *attempt,
                           struct error *err)
{
    int64_t wait_s;

    attempt->from = auth_address(call);
    wait_s = throttle_begin(users_throttle(call->api->engine), attempt, clock_mono_us());
    assert(wait_s >= 0);
    if (wait_s == 0)
        return 0;
    call->rate.reset_s = wait_s;
    return refuse_attempt(call, err);
}

struct throttle_attempt accounts_own_attempt(const struct api_call *call)
{
    assert(call->user != NULL);
    /* no e-mail address, which has an '@' */
    return (struct throttle_attempt){ .account = arena_printf(call->arena, "session:%.*s",
                                                              STR_ARG(call->user->user_id)) };
}

static int add_failure(void *ctx, struct db *db, struct error *err)
{
    const struct throttle_row *row = ctx;

    return store_failure_add(db, row, row->at - throttle_window_us, err);
}

static int remove_failure(void *ctx, struct db *db, struct error *err)
{
    return store_failure_remove(db, ctx, err);
}

static int clear_failures(void *ctx, struct db *db, struct error *err)
{
    return store_failures_clear(db, ctx, err);
}

/* In the database, where all processes count. */
static int store_attempt(struct api_call *call, sync_job_fn *fn, struct throttle_row *row,
                         struct error *err)
{
    return writer_run_sync_for(engine_writer(call->api->engine), call->exchange->charge.budget,
                               call->asked_us, fn, row, err);
}

/* Refuses the attempt if too many failed before it, at any process. */
static int check_rank(struct api_call *call, struct db *db, const struct throttle_row *row,
                      struct error *err)
{
    const struct sha256 *const abouts[] = { &row->who, &row->where };

    for (size_t i = 0; i < COUNT_OF(abouts); i++) {
        struct throttle_rank rank = { 0 };

        if (store_failure_rank(db, abouts[i], row, row->at - throttle_window_us, &rank, err) != 0)
            return -1;
        if (rank.n <= THROTTLE_FAILURES)
            continue;
        call->rate.reset_s =
            (rank.oldest_at + throttle_window_us - row->at + USEC_PER_SEC - 1) / USEC_PER_SEC;
        return refuse_attempt(call, err);
    }
    return 0;
}

/* The password, and the code of a second factor: at sign-in, and of those who are signed in, who
 * gave one, only if the claim says so. */
static int judge(struct api_call *call, struct db *db, const struct sign_in *claim,
                 struct sign_in_check *ret, struct error *err)
{
    if (sign_in_check(db, claim, call->arena, ret, err) != 0)
        return -1;
    if (!ret->good || (call->user != NULL && !claim->asks_code))
        return 0;
    return factor_check(call->api->engine, db, ret->user.user_id, claim->code, &ret->factor, err);
}

/* An attempt to take out that its caller does not wait for. */
struct late_attempt {
    struct writer_job job;
    sync_job_fn *fn;
    struct throttle_row row;
    char id[ATTEMPT_CHARS + 1];
};

static int late_attempt_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct late_attempt *late = CONTAINER_OF(job, struct late_attempt, job);

    return late->fn(&late->row, txn->db, err);
}

static void late_attempt_done(struct writer_job *job, const struct error *err)
{
    (void)err;
    free(CONTAINER_OF(job, struct late_attempt, job));
}

/* What cannot be taken out again counts as a failure for 15 minutes: so it is tried twice, however
 * long the caller has waited by then. */
static void take_out(struct api_call *call, sync_job_fn *fn, const struct throttle_row *row)
{
    struct writer *writer = engine_writer(call->api->engine);
    struct throttle_row own = *row;
    struct late_attempt *late;

    if (store_attempt(call, fn, &own, NULL) == 0)
        return;
    late = NEW(struct late_attempt);
    late->job = (struct writer_job){ .apply = late_attempt_apply,
                                     .done = late_attempt_done,
                                     .unbounded = true };
    late->fn = fn;
    late->row = *row;
    (void)snprintf(late->id, sizeof(late->id), "%.*s", STR_ARG(row->attempt));
    late->row.attempt = str_of(late->id);
    if (writer_submit(writer, &late->job, NULL) != 0)
        late_attempt_done(&late->job, NULL);
}

/* Has it waited for its turn, behind others that wait for a database that does not answer? It would
 * then wait for as long as they did, once more. */
static bool waits_in_vain(const struct api_call *call)
{
    return clock_raw_us() - call->asked_us > USEC_PER_SEC &&
           engine_problem(call->api->engine) != NULL;
}

int accounts_check(struct api_call *call, struct db *db, const struct throttle_attempt *attempt,
                   const struct sign_in *claim, struct sign_in_check *ret, struct error *err)
{
    char id[ATTEMPT_CHARS + 1] = "";
    struct throttle_row row = { .who = throttle_who(attempt),
                                .where = throttle_where(attempt),
                                .at = clock_wall_us() };
    int r;

    assert(!str_is_null(attempt->account)); /* accounts_begin_attempt() counted it */
    if (waits_in_vain(call))
        return err_set(err, ERR_BUSY, "the database does not answer"); /* no reason to reconnect */
    digest_random_base62(id, ATTEMPT_CHARS);
    row.attempt = str_of(id);
    if (store_attempt(call, add_failure, &row, err) != 0)
        return -1;
    r = check_rank(call, db, &row, err);
    if (r == 0)
        r = judge(call, db, claim, ret, err);
    if (r != 0 || (ret->good && ret->factor.verdict == FACTOR_NEEDED))
        take_out(call, remove_failure, &row);
    else if (ret->good && ret->factor.verdict != FACTOR_WRONG)
        take_out(call, clear_failures, &row);
    return r;
}

void accounts_end_attempt(struct api_call *call, const struct throttle_attempt *attempt,
                          bool decided, bool good)
{
    enum throttle_outcome outcome = good ? ATTEMPT_SUCCEEDED : ATTEMPT_FAILED;

    throttle_end(users_throttle(call->api->engine), attempt, clock_mono_us(),
                 decided ? outcome : ATTEMPT_UNDECIDED);
}

int accounts_check_helper(struct api_call *call, struct str email, struct error *err)
{
    if (call->user == NULL) /* the operator */
        return 0;
    if (call->personal)
        return call_refuse(call, err, 403,
                           "Not allowed with a personal access token; sign in as the user");
    if (str_eq(call->user->email, email))
        return call_refuse(call, err, 403,
                           "Not allowed for your own user; use Your account, which asks for the "
                           "password, or ask another platform admin");
    return 0;
}

/* What a browser says of itself is shown to people: only printable ASCII, and not much of it. */
static struct str printable(struct str text, struct arena *arena)
{
    enum { AGENT_MAX = 200 };
    size_t n = text.len < AGENT_MAX ? text.len : AGENT_MAX;
    char *copy = arena_alloc(arena, n + 1);

    for (size_t i = 0; i < n; i++)
        copy[i] = (char)(text.data[i] >= ' ' && text.data[i] <= '~' ? text.data[i] : '?');
    copy[n] = '\0';
    return str_from(copy, n);
}

void accounts_note_origin(struct api_call *call, struct sign_in_session *session)
{
    const struct address from = auth_address(call);
    char text[ADDRESS_CHARS_MAX];

    if (from.family != ADDRESS_NONE)
        session->address = arena_copy(call->arena, address_format(&from, text));
    session->user_agent =
        printable(http_header_get(&call->exchange->request, "user-agent"), call->arena);
}

int accounts_begin_hash(struct api_call *call, struct error *err)
{
    enum { SOON_S = 1 };

    /* the operator has the machine anyway */
    if (call->user == NULL ||
        throttle_begin_hash(users_throttle(call->api->engine), call->user->user_id))
        return 0;
    call->rate.reset_s = SOON_S;
    return call_refuse(call, err, 429,
                       "A password of yours is being stored; retry when that is done");
}

void accounts_end_hash(struct api_call *call)
{
    if (call->user != NULL)
        throttle_end_hash(users_throttle(call->api->engine), call->user->user_id);
}

static void admin_password_hashed(struct api_call *call, const struct error *err)
{
    accounts_end_hash(call);
    call_proceed_or_reply(call, err);
}

int accounts_hash(struct api_call *call, struct str password, struct str email, call_work_fn *hash,
                  struct error *err)
{
    if (accounts_check_password(call, "password", password, email, err) != 0 ||
        accounts_begin_hash(call, err) != 0)
        return -1;
    call_hash(call, hash, admin_password_hashed);
    return 0;
}

int accounts_forget_factor(struct api_call *call, struct db *db, struct str email,
                           const struct user_patch *patch, struct error *err)
{
    struct user_row user;

    if (store_user_find(db, email, call->arena, &user, err) != 0)
        return -1;
    if (str_is_null(user.user_id) || !users_confirms(&user, patch))
        return 0;
    return store_factor_remove(db, user.user_id, NULL, err);
}

int accounts_audit(struct api_call *call, struct db *db, const struct session_user *user,
                   const char *action, struct error *err)
{
    struct list tenants = { 0 };

    if (user != NULL && !user->is_platform_admin &&
        store_memberships(db, user->user_id, call->arena, &tenants, err) != 0)
        return -1;
    if (tenants.n == 1)
        call->tenant = registry_tenant(access_registry(call->api->engine),
                                       ((const struct tenant_membership *)tenants.items)->slug);
    return call_audit(call, db, action, err);
}

int accounts_audit_row(struct api_call *call, struct db *db, const struct user_row *row,
                       const char *action, struct error *err)
{
    const struct session_user claimed = { .user_id = row->user_id,
                                          .is_platform_admin = row->role == PLATFORM_ADMIN };
    const bool known = !str_is_null(row->user_id);

    call->audit_target = known ? row->email : STR_LIT("unknown user");
    return accounts_audit(call, db, known ? &claimed : NULL, action, err);
}

int accounts_answer_me(struct api_call *call, struct db *db, struct error *err)
{
    const struct session_user *user = call->user;
    struct session_answer *answer = call->answer;

    assert(user != NULL); /* an operator is nobody's account */
    *answer = (struct session_answer){
        .user_id = user->user_id,
        .email = user->email,
        .role = users_role_name(user->is_platform_admin ? PLATFORM_ADMIN : PLATFORM_NONE),
        .csrf_token = call->personal ? STR_LIT("") : session_csrf_token(call),
        .expires_at = user->ends_at,
    };
    return store_memberships(db, user->user_id, call->arena, &answer->tenants, err);
}
