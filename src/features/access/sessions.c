/* sessions.c - loads users and sessions, and finds a session's user. */
#include "features/access/sessions.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "db/db.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/access/sessions_state.h"

const char *const tenant_role_names[] = { "admin", "member", NULL };
const char *const platform_role_names[] = { "platform_admin", "none", NULL };
const char *const token_role_names[] = { "platform_admin", "admin", "member", NULL };

static struct users *users_new(void)
{
    struct users *u = NEW(struct users);

    arena_init(&u->arena);
    map_init(&u->by_id);
    return u;
}

static void users_free(struct users *u)
{
    if (u == NULL)
        return;
    map_done(&u->by_id);
    arena_done(&u->arena);
    free(u);
}

static void session_free(struct session_entry *session)
{
    rate_window_free(session->rate);
    free(session->token_text);
    free(session);
}

struct sessions *sessions_new(void)
{
    struct sessions *p = NEW(struct sessions);

    lock_init(&p->refresh);
    rwlock_init(&p->lock);
    map_init(&p->sessions);
    return p;
}

void sessions_free(struct sessions *p)
{
    struct session_entry *session;
    size_t at = 0;

    if (p == NULL)
        return;
    rwlock_unshared(&p->lock);
    while ((session = map_next(&p->sessions, &at)) != NULL)
        session_free(session);
    map_done(&p->sessions);
    users_free(p->users);
    rwlock_done(&p->lock);
    lock_done(&p->refresh);
    free(p);
}

/* Users and roles that were replaced one by one, before all are loaded again to free them. */
enum { REPLACED_MAX = 10000 };

/* Users that are loaded one by one, rather than all. */
enum { ABOUTS_MAX = 16 };

struct loaded {
    enum followed_verdict verdict;
    int64_t number;
    struct session_rows *parts;
    size_t n;
};

/* Whom the changes since the last load are about: users one by one, or STR_NULL for all.
 * `replaces`: single users can be replaced. */
static int find_parts(struct sessions *p, struct db *db, bool replaces, struct arena *arena,
                      struct loaded *ret, struct error *err) REQUIRES(p->refresh)
{
    const struct change_span span = { p->followed.number, ret->number };
    struct list users = { 0 };
    bool all = !replaces || ret->verdict != FOLLOWED_CHANGED;

    if (!all && users_abouts(db, span, arena, &users, &all, err) != 0)
        return -1;
    all |= users.n > ABOUTS_MAX;
    ret->n = all ? 1 : users.n;
    ret->parts = ARENA_ARRAY(arena, struct session_rows, ret->n);
    for (size_t i = 0; !all && i < users.n; i++)
        ret->parts[i].about = ((const struct str *)users.items)[i];
    return 0;
}

/* Reads in one snapshot. */
static int load_users(struct sessions *p, struct db *db, bool replaces, struct arena *arena,
                      struct loaded *ret, struct error *err) REQUIRES(p->refresh)
{
    int r;

    if (db_begin(db, err) != 0)
        return -1;
    r = users_number(db, &ret->number, err);
    if (r == 0)
        ret->verdict = followed_judge(&p->followed, db, ret->number);
    if (r == 0 && ret->verdict != FOLLOWED_HOLDS)
        r = find_parts(p, db, replaces, arena, ret, err);
    for (size_t i = 0; r == 0 && i < ret->n; i++)
        r = sessions_load_rows(db, arena, &ret->parts[i], err);
    db_rollback(db);
    return r;
}

static void add_user(struct users *users, const struct session_user_row *row)
{
    struct user_entry *user = ARENA_NEW(&users->arena, struct user_entry);

    user->user_id = arena_copy(&users->arena, row->user_id);
    user->email = arena_copy(&users->arena, row->email);
    user->is_platform_admin = row->role == PLATFORM_ADMIN;
    map_put(&users->by_id, user->user_id, user);
}

/* Adds the rows from `first` on that belong to one user; returns how many. */
static size_t add_roles(struct users *users, const struct session_role_row *first, size_t n)
{
    struct user_entry *user = map_get(&users->by_id, first->user_id);
    size_t count = 1;

    while (count < n && str_eq(first[count].user_id, first->user_id))
        count++;
    if (user == NULL)
        return count;
    user->roles = ARENA_ARRAY(&users->arena, struct session_user_role, count);
    user->n_roles = count;
    for (size_t i = 0; i < count; i++)
        user->roles[i] =
            (struct session_user_role){ first[i].tenant_id, (enum tenant_role)first[i].role };
    return count;
}

static void add_users(struct users *users, const struct session_rows *l)
{
    const struct session_user_row *rows = l->users.items;
    const struct session_role_row *roles = l->roles.items;

    for (size_t i = 0; i < l->users.n; i++)
        add_user(users, &rows[i]);
    for (size_t i = 0; i < l->roles.n;)
        i += add_roles(users, &roles[i], l->roles.n - i);
}

/* Finds or makes the entry; NULL if its user is unknown. */
static struct session_entry *put_entry(struct sessions *p, const struct sha256 *digest,
                                       struct str user_id) REQUIRES(p->lock)
{
    const struct user_entry *user = map_get(&p->users->by_id, user_id);
    struct session_entry *session = map_get(&p->sessions, digest_str(digest));

    assert(session == NULL || digest_equal(&session->digest, digest));
    if (user == NULL)
        return NULL;
    if (session == NULL) {
        session = NEW(struct session_entry);
        session->digest = *digest;
        session->rate = rate_window_new(digest_str(&session->digest));
        map_put(&p->sessions, digest_str(&session->digest), session);
    }
    session->user = user;
    session->there = true;
    return session;
}

static void put_token(struct sessions *p, const struct session_token_row *row) REQUIRES(p->lock)
{
    struct session_entry *session = put_entry(p, &row->digest, row->user_id);

    if (session == NULL)
        return;
    if (session->token_text == NULL)
        session->token_text = mem_strdup(row->token_id.data);
    session->created_at = row->created_at;
    session->expires_at = row->expires_at;
    session->role = (enum token_role)row->role;
}

static void put_session(struct sessions *p, const struct session_row *row) REQUIRES(p->lock)
{
    struct session_entry *session = put_entry(p, &row->digest, row->user_id);

    if (session == NULL)
        return;
    session->created_at = row->created_at;
    session_raise(&session->last_used_at, row->last_used_at);
    session_raise(&session->stored_at, row->last_used_at);
}

/* Drops sessions that no longer have a row: all, or those of users that were replaced. */
static void drop_ended(struct sessions *p, bool all, struct arena *arena) REQUIRES(p->lock)
{
    struct session_entry **ended, *session;
    size_t at = 0, n = 0;

    ended = (struct session_entry **)arena_alloc(arena, (p->sessions.n + 1) * sizeof(*ended));
    while ((session = map_next(&p->sessions, &at)) != NULL) {
        if (!session->there && (all || session->user->replaced))
            ended[n++] = session;
        session->there = false; /* for the next reload */
    }
    assert(n <= p->sessions.n);
    for (size_t i = 0; i < n; i++) {
        (void)map_remove(&p->sessions, digest_str(&ended[i]->digest));
        session_free(ended[i]);
    }
}

static void put_all(struct sessions *p, const struct session_rows *l) REQUIRES(p->lock)
{
    const struct session_row *sessions = l->sessions.items;

    for (size_t i = 0; i < l->sessions.n; i++)
        put_session(p, &sessions[i]);
    for (size_t i = 0; i < l->tokens.n; i++)
        put_token(p, &((const struct session_token_row *)l->tokens.items)[i]);
}

static void apply_all(struct sessions *p, const struct session_rows *l, struct arena *arena)
    REQUIRES(p->refresh) EXCLUDES(p->lock)
{
    struct users *users = users_new(), *old;

    add_users(users, l);
    rwlock_write(&p->lock);
    old = p->users;
    p->users = users;
    p->replaced = 0;
    put_all(p, l);
    drop_ended(p, true, arena);
    atomic_store(&p->n_users, (int64_t)l->users.n);
    rwlock_release(&p->lock);
    users_free(old);
}

static void replace_user(struct sessions *p, const struct session_rows *l) REQUIRES(p->lock)
{
    struct user_entry *old = map_remove(&p->users->by_id, l->about);

    if (old != NULL)
        old->replaced = true;
    add_users(p->users, l);
    p->replaced += 1 + l->roles.n;
    put_all(p, l);
    atomic_fetch_add(&p->n_users, (int64_t)l->users.n - (old == NULL ? 0 : 1));
}

/* Sessions of these users that have a row get the new entries; those that still have an old one
 * have ended. */
static void apply_some(struct sessions *p, const struct loaded *l, struct arena *arena)
    REQUIRES(p->refresh) EXCLUDES(p->lock)
{
    rwlock_write(&p->lock);
    for (size_t i = 0; i < l->n; i++)
        replace_user(p, &l->parts[i]);
    drop_ended(p, false, arena);
    rwlock_release(&p->lock);
}

/* Can one user be replaced in what was loaded last? */
static bool may_replace(struct sessions *p) EXCLUDES(p->lock)
{
    bool may;

    rwlock_read(&p->lock);
    may = p->users != NULL && p->replaced < REPLACED_MAX;
    rwlock_release(&p->lock);
    return may;
}

int sessions_refresh(struct sessions *p, struct db *db, struct error *err)
{
    struct loaded loaded = { 0 };
    ARENA_SCOPED(arena);
    int64_t number = 0;
    int status = -1;

    lock_acquire(&p->refresh);
    if (users_number(db, &number, err) != 0)
        goto out;
    loaded.verdict = followed_judge(&p->followed, db, number);
    if (loaded.verdict != FOLLOWED_HOLDS &&
        load_users(p, db, may_replace(p), &arena, &loaded, err) != 0)
        goto out;
    status = 0;
    if (loaded.verdict == FOLLOWED_HOLDS)
        goto out;
    if (str_is_null(loaded.parts[0].about))
        apply_all(p, &loaded.parts[0], &arena);
    else
        apply_some(p, &loaded, &arena);
    followed_take(&p->followed, db, loaded.number);
out:
    lock_release(&p->refresh);
    return status;
}

enum tenant_role user_role(const struct session_user *user, int64_t tenant_id)
{
    if (user->everywhere)
        return user->everywhere_role;
    for (size_t i = 0; i < user->n_roles; i++)
        if (user->roles[i].tenant_id == tenant_id)
            return user->roles[i].role;
    return ROLE_NONE;
}

/* Takes away what a token with this role does not allow. */
static void user_limit_roles(struct session_user *user, enum token_role most)
{
    const enum tenant_role role = most == TOKEN_ROLE_ADMIN ? ROLE_ADMIN : ROLE_MEMBER;

    if (most == TOKEN_ROLE_PLATFORM_ADMIN)
        return;
    user->everywhere = user->is_platform_admin;
    user->everywhere_role = role;
    user->is_platform_admin = false;
    for (size_t i = 0; i < user->n_roles && role == ROLE_MEMBER; i++)
        user->roles[i].role = ROLE_MEMBER;
}

int64_t sessions_end(int64_t began_at, int64_t last_used_at)
{
    int64_t idle = last_used_at + (int64_t)SESSION_IDLE_S * USEC_PER_SEC;
    int64_t life = began_at + (int64_t)SESSION_LIFE_S * USEC_PER_SEC;

    return idle < life ? idle : life;
}

static int64_t entry_end(const struct session_entry *session)
{
    if (session->token_text != NULL)
        return session->expires_at;
    return sessions_end(session->created_at, atomic_load(&session->last_used_at));
}

static struct session_user *copy_session_user(const struct session_entry *session,
                                              struct arena *arena)
{
    const struct user_entry *user = session->user;
    struct session_user *ret = ARENA_NEW(arena, struct session_user);

    assert(user != NULL); /* a session without its user was not loaded */
    ret->user_id = arena_copy(arena, user->user_id);
    ret->email = arena_copy(arena, user->email);
    ret->is_platform_admin = user->is_platform_admin;
    ret->n_roles = user->n_roles;
    ret->roles = ARENA_ARRAY(arena, struct session_user_role, user->n_roles);
    if (user->n_roles > 0)
        memcpy(ret->roles, user->roles, user->n_roles * sizeof(*user->roles));
    ret->session = session->digest;
    ret->began_at = session->created_at;
    ret->ends_at = entry_end(session);
    if (session->token_text != NULL) {
        ret->by_token = true;
        ret->token_id = arena_copy(arena, str_of(session->token_text));
        user_limit_roles(ret, session->role);
    }
    return ret;
}

struct session_user *sessions_find(struct sessions *p, const struct sha256 *digest, int64_t now_us,
                                   struct arena *arena)
{
    struct session_entry *session;
    struct session_user *user = NULL;

    rwlock_read(&p->lock);
    session = map_get(&p->sessions, digest_str(digest));
    if (session != NULL && digest_equal(&session->digest, digest) && now_us < entry_end(session)) {
        session_raise(&session->last_used_at, now_us);
        user = copy_session_user(session, arena);
    }
    rwlock_release(&p->lock);
    return user;
}

bool sessions_may_look_up(struct sessions *p, const struct sha256 *digest, int64_t tenant_id,
                          int64_t now_us)
{
    struct session_entry *session;
    ARENA_SCOPED(arena);
    bool may = false;

    rwlock_read(&p->lock);
    session = map_get(&p->sessions, digest_str(digest));
    if (session != NULL && digest_equal(&session->digest, digest) && now_us < entry_end(session)) {
        const struct session_user *user = copy_session_user(session, &arena);

        may = user->is_platform_admin || user_role(user, tenant_id) != ROLE_NONE;
    }
    rwlock_release(&p->lock);
    return may;
}

int64_t sessions_last_used(struct sessions *p, const struct sha256 *digest)
{
    struct session_entry *session;
    int64_t at = 0;

    rwlock_read(&p->lock);
    session = map_get(&p->sessions, digest_str(digest));
    if (session != NULL)
        at = atomic_load(&session->last_used_at);
    rwlock_release(&p->lock);
    return at;
}

struct rate_window *sessions_rate(struct sessions *p, const struct sha256 *digest)
{
    struct rate_window *rate = NULL;
    struct session_entry *session;

    rwlock_read(&p->lock);
    session = map_get(&p->sessions, digest_str(digest));
    if (session != NULL)
        rate = rate_window_hold(session->rate);
    rwlock_release(&p->lock);
    return rate;
}

bool sessions_has_no_user(const struct sessions *p)
{
    return atomic_load(&p->n_users) == 0;
}

void sessions_set_up_code(struct sessions *p, char ret[BASE64URL_LEN + 1])
{
    digest_random_base64url(ret);
    rwlock_write(&p->lock);
    p->code = digest_sha256(str_from(ret, BASE64URL_LEN));
    p->has_code = true;
    rwlock_release(&p->lock);
}

bool sessions_is_set_up_code(struct sessions *p, struct str code)
{
    const struct sha256 digest = digest_sha256(code);
    bool good;

    rwlock_read(&p->lock);
    good = p->has_code && digest_equal(&p->code, &digest) && sessions_has_no_user(p);
    rwlock_release(&p->lock);
    return good;
}

enum { PRUNE_LATE_S = 3600 };

/* The job that stores last uses; done() frees it. */
struct flush {
    struct writer_job job;
    struct sessions *sessions; /* which the writer does not outlive */
    struct session_row *used;
    size_t n;
    bool notifies; /* increments the change number: all processes reload */
    int64_t now_us;
};

static int sessions_flush_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    const struct flush *flush = CONTAINER_OF(job, struct flush, job);
    const int64_t late = (int64_t)PRUNE_LATE_S * USEC_PER_SEC;

    if (flush->notifies && users_changed(txn->db, err) != 0)
        return -1;
    if (sessions_used(txn->db, flush->used, flush->n, err) != 0)
        return -1;
    /* late, since another process may have seen a use that it has not stored yet */
    return sessions_prune(txn->db, flush->now_us - (int64_t)SESSION_LIFE_S * USEC_PER_SEC - late,
                          flush->now_us - (int64_t)SESSION_IDLE_S * USEC_PER_SEC - late, err);
}

/* The next flush has it again, unless a later use comes before. */
static void collect_again(struct sessions *p, const struct session_row *used)
{
    struct session_entry *session;
    int64_t stored_at = used->last_used_at;

    rwlock_read(&p->lock);
    session = map_get(&p->sessions, digest_str(&used->digest));
    if (session != NULL)
        (void)atomic_compare_exchange_strong(&session->stored_at, &stored_at, 0);
    rwlock_release(&p->lock);
}

static void sessions_flush_done(struct writer_job *job, const struct error *err)
{
    struct flush *flush = CONTAINER_OF(job, struct flush, job);

    for (size_t i = 0; err != NULL && i < flush->n; i++)
        collect_again(flush->sessions, &flush->used[i]);
    free(flush->used);
    free(flush);
}

/* Adds the session's last use if it is not stored yet. */
static void collect_use(struct flush *flush, struct session_entry *session)
{
    int64_t used_at = atomic_load(&session->last_used_at);

    if (session->token_text != NULL || used_at <= atomic_load(&session->stored_at))
        return;
    session_raise(&session->stored_at, used_at);
    flush->used[flush->n++] =
        (struct session_row){ .digest = session->digest, .last_used_at = used_at };
}

void sessions_flush(struct sessions *p, struct writer *writer, bool shared, int64_t now_us)
{
    const int64_t late = (int64_t)PRUNE_LATE_S * USEC_PER_SEC;
    struct flush *flush = NEW(struct flush);
    struct session_entry *session;
    struct error err = { 0 };
    bool over = false;
    size_t at = 0;

    flush->job = (struct writer_job){ .apply = sessions_flush_apply,
                                      .done = sessions_flush_done,
                                      .exclusive = true,
                                      .keeps_caches = true };
    flush->sessions = p;
    flush->now_us = now_us;
    rwlock_read(&p->lock);
    flush->used = mem_new((p->sessions.n + 1) * sizeof(*flush->used));
    while ((session = map_next(&p->sessions, &at)) != NULL) {
        int64_t used_at = atomic_load(&session->last_used_at);

        over |= session->token_text == NULL &&
                sessions_end(session->created_at, used_at) + late < now_us;
        collect_use(flush, session);
    }
    assert(flush->n <= p->sessions.n);
    rwlock_release(&p->lock);
    flush->notifies = over || (shared && flush->n > 0);
    if (flush->n == 0 && !over)
        sessions_flush_done(&flush->job, NULL);
    else if (writer_submit(writer, &flush->job, &err) != 0)
        sessions_flush_done(&flush->job, &err);
}
