/* accounts.c - password rules, sign-in attempts, and audit entries about users. */
#include "features/users/accounts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "base/mem.h"
#include "db/db.h"
#include "db/servers.h"
#include "engine/engine.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/access/sessions.h"
#include "features/users/second_factor/factor.h"
#include "features/users/shapes.h"
#include "features/users/sign_in.h"
#include "features/users/throttle.h"
#include "features/users/users.h"
#include "http/exchange.h"

enum { ATTEMPT_CHARS = 16 };

static const int64_t throttle_window_us = (int64_t)THROTTLE_WINDOW_S * USEC_PER_SEC;

/* One attempt, and what it is counted for: who tries, and from where. It is stored as a failure
 * before the password is checked, so that attempts at several nodes at once cannot exceed the
 * limit, and taken out again if it does not fail. */
struct stored_attempt {
    struct sha256 who, where;
    struct str attempt;
    int64_t at; /* wall clock */
};

/* clang-format off */
DB_QUERY(delete_old, "DELETE FROM sign_in_failures WHERE failed_at <= $1");
static const struct db_query insert_failure = {
    .sql = "INSERT INTO sign_in_failures (about, attempt, failed_at) VALUES ($1, $2, $3)"
           " ON CONFLICT (about, attempt) DO NOTHING", /* after a lost answer it is there */
};
DB_QUERY(select_rank,
    "SELECT COUNT(*), MIN(failed_at) FROM sign_in_failures WHERE about = $1"
    " AND failed_at > $2 AND (failed_at < $3 OR (failed_at = $3 AND attempt <= $4))");
DB_QUERY(delete_failure, "DELETE FROM sign_in_failures WHERE about = $1 AND attempt = $2");
DB_QUERY(delete_about, "DELETE FROM sign_in_failures WHERE about = $1");
/* clang-format on */

static int add_failure(void *ctx, struct db *db, struct error *err)
{
    const struct stored_attempt *row = ctx;
    const struct db_value attempt = db_text(row->attempt), at = db_int(row->at);

    if (db_run(db, &delete_old, DB_ARGS(db_int(row->at - throttle_window_us)), err) != 0 ||
        db_run(db, &insert_failure, DB_ARGS(db_blob(digest_str(&row->who)), attempt, at), err) != 0)
        return -1;
    return db_run(db, &insert_failure, DB_ARGS(db_blob(digest_str(&row->where)), attempt, at), err);
}

/* The attempt did not fail. */
static int remove_failure(void *ctx, struct db *db, struct error *err)
{
    const struct stored_attempt *row = ctx;
    const struct db_value attempt = db_text(row->attempt);

    if (db_run(db, &delete_failure, DB_ARGS(db_blob(digest_str(&row->who)), attempt), err) != 0)
        return -1;
    return db_run(db, &delete_failure, DB_ARGS(db_blob(digest_str(&row->where)), attempt), err);
}

/* The account's owner signed in: nothing counts for it any more. */
static int clear_failures(void *ctx, struct db *db, struct error *err)
{
    const struct stored_attempt *row = ctx;

    if (db_run(db, &delete_about, DB_ARGS(db_blob(digest_str(&row->who))), err) != 0)
        return -1;
    return remove_failure(ctx, db, err);
}

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

/* The attempt of a user who is signed in: counted per user, from any address, and apart from what
 * strangers fail at sign-in. */
static struct throttle_attempt accounts_own_attempt(const struct api_call *call)
{
    assert(call->caller->user != NULL);
    /* no e-mail address, which has an '@' */
    return (struct throttle_attempt){
        .account = arena_printf(call->arena, "session:%.*s", STR_ARG(call->caller->user->user_id))
    };
}

/* In the database, where all processes count. */
static int store_attempt(struct api_call *call, sync_job_fn *fn, struct stored_attempt *row,
                         struct error *err)
{
    return writer_run_sync_for(engine_writer(call->api->engine), call->exchange->charge.budget,
                               call->asked_us, fn, row, err);
}

/* How many attempts there are up to this one, and when the oldest was. */
struct rank {
    int64_t n, oldest_at;
};

static bool read_rank(void *ctx, const struct db_row *row)
{
    *(struct rank *)ctx = (struct rank){ db_get_int(row, 0), db_get_int(row, 1) };
    return true;
}

/* Refuses the attempt if too many failed before it, at any node. */
static int check_rank(struct api_call *call, struct db *db, const struct stored_attempt *row,
                      const struct sha256 *about, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_blob(digest_str(about)), db_int(row->at - throttle_window_us), db_int(row->at),
                db_text(row->attempt));
    struct rank rank = { 0 };

    if (db_exec(db, &select_rank, args, read_rank, &rank, err) != 0)
        return -1;
    if (rank.n <= THROTTLE_FAILURES)
        return 0;
    call->rate.reset_s =
        (rank.oldest_at + throttle_window_us - row->at + USEC_PER_SEC - 1) / USEC_PER_SEC;
    return refuse_attempt(call, err);
}

/* The password, and the code of a second factor: at sign-in, and of those who are signed in, who
 * gave one, only if the claim says so. */
static int judge(struct api_call *call, struct db *db, const struct sign_in *claim,
                 struct sign_in_check *ret, struct error *err)
{
    if (sign_in_check(db, claim, call->arena, ret, err) != 0)
        return -1;
    if (!ret->good || (call->caller->user != NULL && !claim->asks_code))
        return 0;
    return factor_check(call->api->engine, db, ret->user.user_id, claim->code, &ret->factor, err);
}

/* An attempt to take out that its caller does not wait for. */
struct late_attempt {
    struct writer_job job;
    sync_job_fn *fn;
    struct stored_attempt row;
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
static void take_out(struct api_call *call, sync_job_fn *fn, const struct stored_attempt *row)
{
    struct writer *writer = engine_writer(call->api->engine);
    struct stored_attempt own = *row;
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
static bool waits_in_vain(const struct api_call *call, const struct db *db)
{
    return clock_raw_us() - call->asked_us > USEC_PER_SEC &&
           (db_is_away(db, 0) || writer_is_stalled(engine_writer(call->api->engine)));
}

int accounts_check(struct api_call *call, struct db *db, const struct throttle_attempt *attempt,
                   const struct sign_in *claim, struct sign_in_check *ret, struct error *err)
{
    char id[ATTEMPT_CHARS + 1] = "";
    struct stored_attempt row = { .who = throttle_who(attempt),
                                  .where = throttle_where(attempt),
                                  .at = clock_wall_us() };
    int r;

    assert(!str_is_null(attempt->account)); /* accounts_begin_attempt() counted it */
    if (waits_in_vain(call, db))
        return err_set(err, ERR_BUSY, "the database does not answer"); /* no reason to reconnect */
    digest_random_base62(id, ATTEMPT_CHARS);
    row.attempt = str_of(id);
    if (store_attempt(call, add_failure, &row, err) != 0)
        return -1;
    r = check_rank(call, db, &row, &row.who, err);
    if (r == 0)
        r = check_rank(call, db, &row, &row.where, err);
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
    if (call->caller->user == NULL) /* the operator */
        return 0;
    if (call->caller->personal)
        return call_refuse(call, err, 403,
                           "Not allowed with a personal access token; sign in as the user");
    if (str_eq(call->caller->user->email, email))
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

/* One password of each user is hashed at a time, so that no sign-in waits behind many of one user:
 * else 429. accounts_end_hash() must follow. */
static int accounts_begin_hash(struct api_call *call, struct error *err)
{
    enum { SOON_S = 1 };

    /* the operator has the machine anyway */
    if (call->caller->user == NULL ||
        throttle_begin_hash(users_throttle(call->api->engine), call->caller->user->user_id))
        return 0;
    call->rate.reset_s = SOON_S;
    return call_refuse(call, err, 429,
                       "A password of yours is being stored; retry when that is done");
}

static void accounts_end_hash(struct api_call *call)
{
    if (call->caller->user != NULL)
        throttle_end_hash(users_throttle(call->api->engine), call->caller->user->user_id);
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

    if (user_find(db, email, call->arena, &user, err) != 0)
        return -1;
    if (str_is_null(user.user_id) || !users_confirms(&user, patch))
        return 0;
    return factor_remove(db, user.user_id, NULL, err);
}

int accounts_audit(struct api_call *call, struct db *db, const struct session_user *user,
                   const char *action, struct error *err)
{
    struct list tenants = { 0 };

    if (user != NULL && !user->is_platform_admin &&
        memberships(db, user->user_id, call->arena, &tenants, err) != 0)
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
    const struct session_user *user = call->caller->user;
    struct session_answer *answer = call->answer;

    assert(user != NULL); /* an operator is nobody's account */
    *answer = (struct session_answer){
        .user_id = user->user_id,
        .email = user->email,
        .role = users_role_name(user->is_platform_admin ? PLATFORM_ADMIN : PLATFORM_NONE),
        .csrf_token = call->caller->personal ? STR_LIT("") : session_csrf_token(call),
        .expires_at = user->ends_at,
    };
    return memberships(db, user->user_id, call->arena, &answer->tenants, err);
}

struct reauth {
    struct throttle_attempt attempt;
    struct sign_in claim;
    struct sign_in_check check;
    struct reauth_next next;
};

static int reauth_check(struct api_call *call, struct db *db, struct error *err)
{
    struct reauth *r = call->own;

    if (accounts_check(call, db, &r->attempt, &r->claim, &r->check, err) != 0)
        return -1;
    return r->check.good && r->next.prepare != NULL ? r->next.prepare(call, db, err) : 0;
}

struct sign_in_check *reauth_result(const struct api_call *call)
{
    struct reauth *r = call->own;

    return &r->check;
}

static int enter_reauth_refusal(struct api_call *call, struct db *db, struct error *err)
{
    call->audit_target = call->caller->user->email;
    return accounts_audit(call, db, call->caller->user, "password.refuse", err);
}

static int refuse_password(struct api_call *call, struct error *err)
{
    const struct reauth *r = call->own;

    if (r->check.good)
        return call_refuse(call, err, 403, "Wrong code, or one that was used already");
    return call_refuse(call, err, 403, "The current password is wrong");
}

static void reauth_refused(struct api_call *call, const struct error *err)
{
    if (err != NULL)
        call_reply(call, err);
    else
        call_run_or_reply(call, refuse_password);
}

static int ask_for_code(struct api_call *call, struct error *err)
{
    return call_refuse_body(call, err, "code", STR_NULL,
                            "A code of the authenticator app, or a recovery code, is needed");
}

/* A code is good once. */
static int use_and_work(struct api_call *call, struct db *db, struct error *err)
{
    const struct reauth *r = call->own;
    bool used = true;

    if (r->check.factor.verdict != FACTOR_NONE &&
        factor_use(db, call->caller->user->user_id, &r->check.factor, &used, err) != 0)
        return -1;
    return used ? r->next.work(call, db, err) : refuse_password(call, err);
}

static void reauth_checked(struct api_call *call, const struct error *err)
{
    const struct reauth *r = call->own;
    const bool needs_code = r->check.good && r->check.factor.verdict == FACTOR_NEEDED;
    const bool good = r->check.good && r->check.factor.verdict != FACTOR_WRONG;

    assert(err != NULL || r->check.good || r->check.factor.verdict == FACTOR_NONE);
    accounts_end_hash(call);
    accounts_end_attempt(call, &r->attempt, err == NULL && !needs_code, good);
    if (err != NULL)
        call_reply(call, err);
    else if (needs_code)
        call_run_or_reply(call, ask_for_code);
    else if (!good)
        call_change(call, CHANGE_NOTHING, enter_reauth_refusal, reauth_refused);
    else
        call_change(call, r->next.topic, use_and_work, call_reply);
}

int reauth_begin(struct api_call *call, struct str password, const struct reauth_next *next,
                 struct error *err)
{
    struct reauth *r = ARENA_NEW(call->arena, struct reauth);

    assert(call->caller->user != NULL && next->work != NULL);
    *r = (struct reauth){ .attempt = accounts_own_attempt(call),
                          .claim = { .email = call->caller->user->email,
                                     .password = password,
                                     .code = next->code,
                                     .asks_code = next->asks_code },
                          .next = *next };
    call->own = r;
    if (accounts_begin_hash(call, err) != 0)
        return -1;
    if (accounts_begin_attempt(call, &r->attempt, err) != 0) {
        accounts_end_hash(call);
        return -1;
    }
    call_hash(call, reauth_check, reauth_checked);
    return 0;
}
