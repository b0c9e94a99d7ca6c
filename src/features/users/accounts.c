/* accounts.c - attempts to prove to be a user, sessions that follow, and audit entries about users.
 */
#include "features/users/accounts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/password.h"
#include "db/db.h"
#include "db/servers.h"
#include "engine/engine.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/access/sessions.h"
#include "features/metrics.h"
#include "features/users/links/links.h"
#include "features/users/second_factor/factor.h"
#include "features/users/shapes.h"
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
DB_QUERY(count_users, "SELECT COUNT(*) FROM users");
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

int sign_in_hash(struct str password, struct arena *arena, struct str *ret, struct error *err)
{
    char hash[PASSWORD_HASH_MAX];

    if (password_hash(password, hash, err) != 0)
        return -1;
    *ret = arena_copy(arena, str_of(hash));
    return 0;
}

int sign_in_check(struct db *db, const struct sign_in *sign_in, struct arena *arena,
                  struct sign_in_check *ret, struct error *err)
{
    *ret = (struct sign_in_check){ 0 };
    if (user_find(db, sign_in->email, arena, &ret->user, err) != 0 ||
        password_verify(ret->user.password, sign_in->password, &ret->good, err) != 0)
        return -1;
    if (!ret->good || !password_is_stale(ret->user.password))
        return 0;
    return sign_in_hash(sign_in->password, arena, &ret->new_hash, err);
}

/* The password, and the code of a second factor: at sign-in, and of those who are signed in, who
 * gave one, only if the claim says so. */
static int judge(struct api_call *call, struct db *db, struct proof *p, struct error *err)
{
    if (sign_in_check(db, &p->claim, call->arena, &p->check, err) != 0)
        return -1;
    if (!p->check.good || (!p->signs_in && !p->claim.asks_code))
        return 0;
    return factor_check(call->api->engine, db, p->check.user.user_id, p->claim.code,
                        &p->check.factor, err);
}

/* An attempt to take out, which its caller does not wait for. */
struct taking_out {
    struct writer_job job;
    sync_job_fn *fn;
    struct stored_attempt row;
    char id[ATTEMPT_CHARS + 1];
};

static int taking_out_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct taking_out *out = CONTAINER_OF(job, struct taking_out, job);

    return out->fn(&out->row, txn->db, err);
}

static void taking_out_done(struct writer_job *job, const struct error *err)
{
    (void)err;
    free(CONTAINER_OF(job, struct taking_out, job));
}

/* What cannot be taken out again counts as a failure for 15 minutes. */
static void take_out(struct api_call *call, sync_job_fn *fn, const struct stored_attempt *row)
{
    struct taking_out *out = NEW(struct taking_out);

    out->job = (struct writer_job){ .apply = taking_out_apply,
                                    .done = taking_out_done,
                                    .unbounded = true };
    out->fn = fn;
    out->row = *row;
    (void)snprintf(out->id, sizeof(out->id), "%.*s", STR_ARG(row->attempt));
    out->row.attempt = str_of(out->id);
    if (writer_submit(engine_writer(call->api->engine), &out->job, NULL) != 0)
        taking_out_done(&out->job, NULL);
}

/* Has it waited for its turn, behind others that wait for a database that does not answer? It would
 * then wait for as long as they did, once more. */
static bool waits_in_vain(const struct api_call *call, const struct db *db)
{
    return clock_raw_us() - call->asked_us > USEC_PER_SEC &&
           (db_is_away(db, 0) || writer_is_stalled(engine_writer(call->api->engine)));
}

/* On the hashing thread: the failure is stored before the password is checked. */
static int proof_check(struct api_call *call, struct db *db, struct error *err)
{
    char id[ATTEMPT_CHARS + 1] = "";
    struct proof *p = call->own;
    struct sign_in_check *check = &p->check;
    struct stored_attempt row = { .who = throttle_who(&p->attempt),
                                  .where = throttle_where(&p->attempt),
                                  .at = clock_wall_us() };
    int r;

    if (waits_in_vain(call, db))
        return err_set(err, ERR_BUSY, "the database does not answer"); /* no reason to reconnect */
    digest_random_base62(id, ATTEMPT_CHARS);
    row.attempt = str_of(id);
    if (writer_run_sync_for(engine_writer(call->api->engine), call->exchange->charge.budget,
                            call->asked_us, add_failure, &row, err) != 0)
        return -1;
    r = check_rank(call, db, &row, &row.who, err);
    if (r == 0)
        r = check_rank(call, db, &row, &row.where, err);
    if (r == 0)
        r = judge(call, db, p, err);
    if (r != 0 || (check->good && check->factor.verdict == FACTOR_NEEDED))
        take_out(call, remove_failure, &row);
    else if (check->good && check->factor.verdict != FACTOR_WRONG)
        take_out(call, clear_failures, &row);
    if (r != 0 || !check->good || p->prepare == NULL)
        return r;
    return p->prepare(call, db, err);
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

/* What call->own is meanwhile. */
struct hashing {
    struct str hash; /* first: the route's change reads it */
    struct str password, email;
    bool if_new;
};

static int hash_admin_password(struct api_call *call, struct db *db, struct error *err)
{
    struct hashing *h = call->own;
    bool is_new = true;

    if (h->if_new && users_is_new(db, h->email, &is_new, err) != 0)
        return -1;
    return is_new ? sign_in_hash(h->password, call->arena, &h->hash, err) : 0;
}

int accounts_hash(struct api_call *call, struct str password, struct str email, bool if_new,
                  struct error *err)
{
    struct hashing *h = ARENA_NEW(call->arena, struct hashing);

    *h = (struct hashing){ .password = password, .email = email, .if_new = if_new };
    call->own = h;
    if (str_is_null(password))
        return call_proceed(call, err);
    if (accounts_check_password(call, "password", password, email, err) != 0 ||
        accounts_begin_hash(call, err) != 0)
        return -1;
    call_hash(call, hash_admin_password, admin_password_hashed);
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

static int enter_refusal(struct api_call *call, struct db *db, struct error *err)
{
    const struct proof *p = call->own;

    if (p->signs_in && p->check.good)
        call->audit_detail = STR_LIT("{\"reason\":\"second factor\"}");
    return accounts_audit_row(call, db, &p->check.user,
                              p->signs_in ? "session.refuse" : "password.refuse", err);
}

/* The password was right: its owner, or a thief of it, got this far. */
static int enter_question(struct api_call *call, struct db *db, struct error *err)
{
    const struct proof *p = call->own;

    return accounts_audit_row(call, db, &p->check.user, "session.code", err);
}

static int proof_refuse(struct api_call *call, struct error *err)
{
    const struct proof *p = call->own;
    const int status = p->signs_in ? 401 : 403;

    if (p->check.good)
        return call_refuse(call, err, status, "Wrong code, or one that was used already");
    return call_refuse(call, err, status,
                       p->signs_in ? "Wrong e-mail or password" : "The current password is wrong");
}

static void refusal_entered(struct api_call *call, const struct error *err)
{
    const struct proof *p = call->own;

    if (p->signs_in)
        metric_add(METRIC_SIGN_INS_REFUSED, 1);
    if (err != NULL)
        call_reply(call, err);
    else
        call_run_or_reply(call, proof_refuse);
}

static int ask_for_code(struct api_call *call, struct error *err)
{
    return call_refuse_body(call, err, "code", STR_NULL,
                            "A code of the authenticator app, or a recovery code, is needed");
}

static void question_entered(struct api_call *call, const struct error *err)
{
    if (err != NULL)
        call_reply(call, err);
    else
        call_run_or_reply(call, ask_for_code);
}

/* A code is good once. */
static int use_code_and_work(struct api_call *call, struct db *db, struct error *err)
{
    const struct proof *p = call->own;
    bool used = true;

    if (p->check.factor.verdict != FACTOR_NONE &&
        factor_use(db, p->check.user.user_id, &p->check.factor, &used, err) != 0)
        return -1;
    return used ? p->work(call, db, err) : proof_refuse(call, err);
}

/* Without its code a right password is neither a failure nor a success. */
static void proof_checked(struct api_call *call, const struct error *err)
{
    const struct proof *p = call->own;
    const bool needs_code = p->check.good && p->check.factor.verdict == FACTOR_NEEDED;
    const bool good = p->check.good && p->check.factor.verdict != FACTOR_WRONG;

    accounts_end_hash(call);
    accounts_end_attempt(call, &p->attempt, err == NULL && !needs_code, good);
    if (err != NULL)
        call_reply(call, err);
    else if (needs_code && p->signs_in)
        call_change(call, CHANGE_NOTHING, enter_question, question_entered);
    else if (needs_code)
        call_run_or_reply(call, ask_for_code);
    else if (!good)
        call_change(call, CHANGE_NOTHING, enter_refusal, refusal_entered);
    else
        call_change(call, p->topic, use_code_and_work, p->done);
}

int proof_begin(struct api_call *call, struct proof *proof, struct error *err)
{
    assert(proof->work != NULL && proof->done != NULL);
    call->own = proof;
    if (accounts_begin_hash(call, err) != 0)
        return -1;
    if (accounts_begin_attempt(call, &proof->attempt, err) != 0) {
        accounts_end_hash(call);
        return -1;
    }
    /* strangers may fill the queue, but not before those who have a session */
    if (proof->attempt.known && proof->attempt.first)
        call_hash_ahead(call, proof_check, proof_checked);
    else
        call_hash(call, proof_check, proof_checked);
    return 0;
}

int reauth_begin(struct api_call *call, struct str password, const struct reauth_next *next,
                 struct error *err)
{
    struct proof *p = ARENA_NEW(call->arena, struct proof);

    *p = (struct proof){ .attempt = accounts_own_attempt(call),
                         .claim = { .email = call->caller->user->email,
                                    .password = password,
                                    .code = next->code,
                                    .asks_code = next->asks_code },
                         .topic = next->topic,
                         .prepare = next->prepare,
                         .work = next->work,
                         .done = call_reply };
    return proof_begin(call, p, err);
}

struct sign_in_check *reauth_result(const struct api_call *call)
{
    struct proof *p = call->own;

    return &p->check;
}

enum { SESSIONS_MAX = 50 }; /* per user; the oldest end first */

/* Reads the row again; it must not have changed since the check. */
static int find_again(struct db *db, const struct user_row *checked, struct arena *arena,
                      struct user_row *ret, struct error *err)
{
    if (user_find(db, checked->email, arena, ret, err) != 0)
        return -1;
    if (!str_eq(ret->user_id, checked->user_id) ||
        !digest_equal_text(ret->password, checked->password))
        return err_set(err, ERR_CONFLICT, "The user was changed at the same time; try again");
    return 0;
}

/* A change of this user alone, unless it also ends another user's session, which the browser had.
 */
static int note_change(struct db *db, const struct user_row *user,
                       const struct sign_in_session *session, struct arena *arena,
                       struct error *err)
{
    struct str owner = STR_NULL;

    if (session->instead_of != NULL &&
        session_owner(db, session->instead_of, arena, &owner, err) != 0)
        return -1;
    if (str_is_null(owner))
        owner = user->user_id;
    return users_about(db, str_eq(owner, user->user_id) ? owner : STR_LIT(""), err);
}

static int add_session(struct db *db, const struct user_row *user,
                       const struct sign_in_session *session, struct arena *arena,
                       struct session_answer *ret, struct error *err)
{
    const struct session_row row = { .digest = session->digest,
                                     .user_id = user->user_id,
                                     .created_at = user->last_login_at,
                                     .last_used_at = user->last_login_at,
                                     .address = session->address,
                                     .user_agent = session->user_agent,
                                     .voucher = session->voucher };

    assert(!str_is_null(user->user_id) && user->last_login_at != TIME_NULL);
    if (note_change(db, user, session, arena, err) != 0 ||
        (session->instead_of != NULL && session_end(db, session->instead_of, err) != 0))
        return -1;
    if (session_add(db, &row, err) != 0 ||
        sessions_keep_newest(db, user->user_id, SESSIONS_MAX, err) != 0)
        return -1;
    *ret = (struct session_answer){
        .user_id = user->user_id,
        .email = user->email,
        .role = users_role_name(user->role),
        .expires_at = sessions_end(row.created_at, row.last_used_at),
    };
    return memberships(db, user->user_id, arena, &ret->tenants, err);
}

/* For a user who signs in now. */
static int open_for(struct db *db, struct user_row *user, const struct sign_in_session *session,
                    struct arena *arena, struct session_answer *ret, struct error *err)
{
    user->last_login_at = clock_wall_us();
    if (user_set(db, user, err) != 0)
        return -1;
    return add_session(db, user, session, arena, ret, err);
}

int sign_in_open(struct db *db, const struct sign_in_check *check,
                 const struct sign_in_session *session, struct arena *arena,
                 struct session_answer *ret, struct error *err)
{
    struct user_row user;

    ASSERT_ALWAYS(check->good); /* no session without a verified password */
    if (find_again(db, &check->user, arena, &user, err) != 0)
        return -1;
    if (!str_is_null(check->new_hash))
        user.password = check->new_hash;
    return open_for(db, &user, session, arena, ret, err);
}

int sign_in_open_vouched(struct db *db, struct str email, const struct sign_in_session *session,
                         struct arena *arena, struct session_answer *ret, struct error *err)
{
    struct user_row user;

    return users_find(db, email, arena, &user, err) != 0
               ? -1
               : open_for(db, &user, session, arena, ret, err);
}

int sign_in_set_up(struct db *db, const struct sign_in *first,
                   const struct sign_in_session *session, struct arena *arena,
                   struct session_answer *ret, struct error *err)
{
    const int64_t now = clock_wall_us();
    const struct user_row user = { .user_id = digest_random_id("user_", arena),
                                   .email = first->email,
                                   .password = first->password,
                                   .role = PLATFORM_ADMIN,
                                   .created_at = now,
                                   .last_login_at = now,
                                   .confirmed = true };
    int64_t n;

    if (db_exec_int(db, &count_users, DB_NO_ARGS, &n, err) != 0)
        return -1;
    if (n > 0)
        return err_set(err, ERR_CONFLICT, "The first user exists already; sign in instead");
    if (user_add(db, &user, err) != 0)
        return -1;
    return add_session(db, &user, session, arena, ret, err);
}

int sign_in_set_password(struct db *db, const struct sign_in_check *check,
                         const struct sha256 *keep, struct error *err)
{
    struct user_row user;
    ARENA_SCOPED(arena);

    ASSERT_ALWAYS(check->good && !str_is_null(check->new_hash));
    if (find_again(db, &check->user, &arena, &user, err) != 0)
        return -1;
    user.password = check->new_hash;
    if (user_set(db, &user, err) != 0)
        return -1;
    if (resets_end(db, user.email, err) != 0)
        return -1;
    return sessions_end_of(db, user.user_id, keep, err);
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

static void note_origin(struct api_call *call, struct sign_in_session *session)
{
    const struct address from = auth_address(call);
    char text[ADDRESS_CHARS_MAX];

    if (from.family != ADDRESS_NONE)
        session->address = arena_copy(call->arena, address_format(&from, text));
    session->user_agent =
        printable(http_header_get(&call->exchange->request, "user-agent"), call->arena);
}

struct sign_in_session *vouched_prepare(struct api_call *call)
{
    struct sign_in_session *session = ARENA_NEW(call->arena, struct sign_in_session);
    const struct str cookie = session_cookie(call);

    if (!str_is_null(cookie)) {
        struct sha256 *before = ARENA_NEW(call->arena, struct sha256);

        *before = digest_sha256(cookie);
        session->instead_of = before;
    }
    note_origin(call, session);
    return session;
}

int vouched_finish(struct api_call *call, struct db *db, const char *action, struct error *err)
{
    struct session_answer *answer = call->answer;
    struct session_user *user = ARENA_NEW(call->arena, struct session_user);

    assert(!str_is_null(answer->user_id) && !str_is_null(answer->email));
    answer->csrf_token = session_csrf_token(call);
    user->user_id = answer->user_id;
    user->email = answer->email;
    call->caller->user = user;
    call->audit_target = answer->email;
    user->is_platform_admin = !str_is_null(answer->role);
    return accounts_audit(call, db, user, action, err);
}

void vouched_opened(struct api_call *call, const struct error *err)
{
    if (err != NULL)
        call->set_cookie = STR_NULL;
    call_reply(call, err);
}

int vouched_revoke(struct db *db, const struct user_row *user, struct error *err)
{
    if (sessions_end_of(db, user->user_id, NULL, err) != 0 ||
        personal_end(db, user->user_id, INT64_MAX, err) != 0 ||
        resets_end(db, user->email, err) != 0)
        return -1;
    return links_end_of(db, user->email, 0, err);
}

int vouched_voucher(struct db *db, const struct sha256 *session, struct arena *arena,
                    struct str *ret, struct error *err)
{
    return session_voucher(db, session, arena, ret, err);
}
