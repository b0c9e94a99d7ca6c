/* sessions.c - loads users and sessions, finds a session's user, and stores when it was used. */
#include "features/access/sessions.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "db/db.h"
#include "db/followed.h"
#include "db/servers.h"
#include "engine/engine.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/access/tenants.h"
#include "shape/rows.h"
#include "shape/table.h"

const char *const tenant_role_names[] = { "admin", "member", NULL };
const char *const platform_role_names[] = { "platform_admin", "none", NULL };
const char *const token_role_names[] = { "platform_admin", "admin", "member", NULL };

enum { SESSION_IDLE_S = 12 * 3600, SESSION_LIFE_S = 7 * 24 * 3600 };

struct user_entry {
    struct str user_id, email;
    bool is_platform_admin;
    bool replaced; /* by a newer one */
    struct session_user_role *roles;
    size_t n_roles;
};

struct session_entry {
    struct sha256 digest;
    const struct user_entry *user;
    int64_t created_at;
    _Atomic int64_t last_used_at;
    _Atomic int64_t stored_at; /* the last use that is stored */
    struct rate_window *rate;
    bool there;       /* while reloading: it still has a row */
    char *token_text; /* id of a personal access token, owned; NULL: a session */
    enum token_role role;
    int64_t expires_at; /* of a token */
};

/* A snapshot of all users. */
struct users {
    struct arena arena;
    struct map by_id; /* user_id -> struct user_entry */
};

struct sessions {
    struct lock refresh; /* one refresh at a time; taken before `lock` */
    struct rwlock lock;
    struct users *users GUARDED_BY(lock); /* replaced as a whole; NULL at first */
    struct map sessions GUARDED_BY(lock); /* digest -> struct session_entry */
    bool has_code GUARDED_BY(lock);
    struct sha256 code GUARDED_BY(lock);
    _Atomic int64_t n_users;
    struct followed followed GUARDED_BY(refresh);
    size_t replaced GUARDED_BY(lock); /* users and roles that were loaded one by one; their old
                                       * entries stay until all are loaded */
};

struct session_user_row {
    struct str user_id, email;
    int role; /* enum platform_role */
};

struct session_role_row {
    struct str user_id;
    int64_t tenant_id;
    int role; /* enum tenant_role */
};

struct session_token_row {
    struct str token_id, user_id;
    struct sha256 digest;
    int role; /* enum token_role */
    int64_t created_at, expires_at;
};

/* What the database has of one user, or of all. */
struct session_rows {
    struct str about;                           /* STR_NULL: all */
    struct list users, roles, sessions, tokens; /* of the rows above; roles by user */
};

/* Sets a time, unless it is later already. */
static void raise_time(_Atomic int64_t *moment, int64_t at)
{
    int64_t now = atomic_load(moment);

    while (now < at && !atomic_compare_exchange_weak(moment, &now, at))
        continue;
}

/* clang-format off */
ROW_TABLE(session_user_row,
    STR(user_id), STR(email),
    FIELD_AT("platform_role", role, int, T_ENUM, .choices = platform_role_names));
ROW_TABLE(session_role_row,
    STR(user_id), INT(tenant_id), ENUM(role, .choices = tenant_role_names));
ROW_TABLE(session_token_row,
    STR(token_id), DIGEST(digest), STR(user_id), ENUM(role, .choices = token_role_names),
    TIME(created_at), TIME(expires_at));
ROW_TABLE(session_row,
    DIGEST(digest), STR(user_id), TIME(created_at), TIME(last_used_at), STR(address), STR(user_agent));

DB_QUERY(insert_session,
    "INSERT INTO sessions (digest, user_id, created_at, last_used_at, address, user_agent,"
    " voucher) VALUES ($1, $2, $3, $4, $5, $6, $7)");
DB_QUERY(set_used, "UPDATE sessions SET last_used_at = $2 WHERE digest = $1 AND last_used_at < $2");
DB_RUN_FN(session_end, (const struct sha256 *digest), (db_blob(digest_str(digest))),
    "DELETE FROM sessions WHERE digest = $1");
DB_QUERY(select_owner, "SELECT user_id FROM sessions WHERE digest = $1");
DB_QUERY(select_voucher, "SELECT voucher FROM sessions WHERE digest = $1 AND voucher <> ''");
DB_QUERY(delete_others, "DELETE FROM sessions WHERE user_id = $1 AND digest <> $2");
DB_QUERY(delete_all, "DELETE FROM sessions WHERE user_id = $1");
DB_RUN_FN(sessions_keep_newest, (struct str user_id, int64_t n), (db_text(user_id), db_int(n)),
    "DELETE FROM sessions WHERE user_id = $1 AND digest NOT IN (SELECT digest FROM sessions"
    " WHERE user_id = $1 ORDER BY created_at DESC, digest LIMIT $2)");
DB_QUERY(prune_sessions, "DELETE FROM sessions WHERE created_at < $1 OR last_used_at < $2");
DB_ROWS_QUERY(select_of_user, session_row,
    "SELECT digest, user_id, created_at, last_used_at, address, user_agent FROM sessions"
    " WHERE user_id = $1 ORDER BY created_at DESC, digest");
DB_ROWS_QUERY(select_sessions, session_row,
    "SELECT digest, user_id, created_at, last_used_at FROM sessions");
DB_ROWS_QUERY(select_users, session_user_row, "SELECT user_id, email, platform_role FROM users");
DB_ROWS_QUERY(select_user, session_user_row,
    "SELECT user_id, email, platform_role FROM users WHERE user_id = $1");
DB_ROWS_QUERY(select_roles, session_role_row,
    "SELECT user_id, tenant_id, role FROM user_roles ORDER BY user_id");
DB_ROWS_QUERY(select_roles_of, session_role_row,
    "SELECT user_id, tenant_id, role FROM user_roles WHERE user_id = $1");
#define TOKENS "SELECT token_id, digest, user_id, role, created_at, expires_at FROM personal_tokens"
DB_ROWS_QUERY(select_tokens, session_token_row, TOKENS);
DB_ROWS_QUERY(select_tokens_of, session_token_row, TOKENS " WHERE user_id = $1");
DB_QUERY(select_number, "SELECT number FROM change_numbers WHERE topic = 'people'");
DB_QUERY(add_to_number, "UPDATE change_numbers SET number = number + 1 WHERE topic = 'people'");
/* The last 1,024 changes, each in the slot of its number. */
DB_QUERY(note_change,
    "INSERT INTO user_changes (slot, number, about) SELECT number % 1024, number, NULL"
    " FROM change_numbers WHERE topic = 'people'"
    " ON CONFLICT (slot) DO UPDATE SET number = excluded.number, about = NULL");
DB_QUERY(set_about,
    "UPDATE user_changes SET about = CASE WHEN about IS NULL OR about = $1 THEN $1 ELSE '' END"
    " WHERE slot = (SELECT number % 1024 FROM change_numbers WHERE topic = 'people')");
DB_QUERY(select_abouts,
    "SELECT COALESCE(about, ''), COUNT(*) FROM user_changes WHERE number > $1 AND number <= $2"
    " GROUP BY 1 ORDER BY 1");
/* clang-format on */

static struct db_value text_value(struct str text)
{
    return db_text(str_is_null(text) ? STR_LIT("") : text);
}

int session_add(struct db *db, const struct session_row *row, struct error *err)
{
    const struct db_args args =
        DB_ARGS(db_blob(digest_str(&row->digest)), db_text(row->user_id), db_int(row->created_at),
                db_int(row->last_used_at), text_value(row->address), text_value(row->user_agent),
                text_value(row->voucher));

    assert(!str_is_null(row->user_id) && row->last_used_at >= row->created_at);
    return db_run(db, &insert_session, args, err);
}

/* Moves the last uses of sessions forward, never back. */
static int sessions_used(struct db *db, const struct session_row *used, size_t n, struct error *err)
{
    enum { TURN = 256 }; /* what the server is sent before its answers are read */

    for (size_t i = 0; i < n; i++) {
        const struct db_args args =
            DB_ARGS(db_blob(digest_str(&used[i].digest)), db_int(used[i].last_used_at));

        if (db_run_later(db, &set_used, args, err) != 0 ||
            ((i + 1) % TURN == 0 && db_settle(db, err) != 0))
            return -1;
    }
    return 0;
}

int session_owner(struct db *db, const struct sha256 *digest, struct arena *arena, struct str *ret,
                  struct error *err)
{
    return rows_one_text(db, &select_owner, DB_ARGS(db_blob(digest_str(digest))), arena, ret, err);
}

int session_voucher(struct db *db, const struct sha256 *digest, struct arena *arena,
                    struct str *ret, struct error *err)
{
    return rows_one_text(db, &select_voucher, DB_ARGS(db_blob(digest_str(digest))), arena, ret,
                         err);
}

int sessions_end_of(struct db *db, struct str user_id, const struct sha256 *keep, struct error *err)
{
    const struct db_args user = DB_ARGS(db_text(user_id));

    if (keep == NULL)
        return db_run(db, &delete_all, user, err);
    return db_run(db, &delete_others, DB_ARGS(db_text(user_id), db_blob(digest_str(keep))), err);
}

int sessions_load(struct db *db, struct str user_id, struct arena *arena, struct list *ret,
                  struct error *err)
{
    return rows_list(db, str_is_null(user_id) ? &select_sessions : &select_of_user,
                     DB_ARGS(db_text(user_id)), arena, ret, err);
}

/* What `ret->about` says; in the arena. */
static int sessions_load_rows(struct db *db, struct arena *arena, struct session_rows *ret,
                              struct error *err)
{
    const bool all = str_is_null(ret->about);
    const struct db_args of = all ? DB_NO_ARGS : DB_ARGS(db_text(ret->about));

    if (rows_list(db, all ? &select_users : &select_user, of, arena, &ret->users, err) != 0 ||
        rows_list(db, all ? &select_roles : &select_roles_of, of, arena, &ret->roles, err) != 0 ||
        sessions_load(db, ret->about, arena, &ret->sessions, err) != 0)
        return -1;
    return rows_list(db, all ? &select_tokens : &select_tokens_of, of, arena, &ret->tokens, err);
}

/* The change number of users, roles and sessions: each change increments it. */
static int users_number(struct db *db, int64_t *ret, struct error *err)
{
    return db_exec(db, &select_number, DB_NO_ARGS, db_read_int, ret, err);
}

struct abouts {
    struct rows users; /* of struct str */
    int64_t n;
    bool any;
};

static bool read_about(void *ctx, const struct db_row *row)
{
    struct abouts *abouts = ctx;

    abouts->n += db_get_int(row, 1);
    if (db_get_text(row, 0).len == 0)
        abouts->any = true;
    else
        *(struct str *)rows_add(&abouts->users) = rows_text(abouts->users.arena, row, 0);
    return true;
}

/* The ids of the users that the changes of the span affect, without duplicates. *ret_all: all users
 * may be affected, because one change was about several users, or is too old. */
static int users_abouts(struct db *db, struct change_span span, struct arena *arena,
                        struct list *ret, bool *ret_all, struct error *err)
{
    struct abouts abouts = { .users = { .arena = arena, .size = sizeof(struct str) } };

    if (db_exec(db, &select_abouts, DB_ARGS(db_int(span.after), db_int(span.until)), read_about,
                &abouts, err) != 0)
        return -1;
    *ret = (struct list){ abouts.users.items, abouts.users.n };
    *ret_all = abouts.any || abouts.n != span.until - span.after;
    return 0;
}

int users_about(struct db *db, struct str user_id, struct error *err)
{
    return db_run_later(db, &set_about, DB_ARGS(db_text(user_id)), err);
}

int users_changed(struct db *db, struct error *err)
{
    if (db_run_later(db, &add_to_number, DB_NO_ARGS, err) != 0 ||
        db_run_later(db, &note_change, DB_NO_ARGS, err) != 0)
        return -1;
    return db_notify(db, STR_LIT(ENGINE_CHANGED), err);
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

/* After this many single users were replaced, all are reloaded, which frees the old entries. */
enum { REPLACED_MAX = 10000 };

/* Up to this many changed users are loaded one by one; beyond it, all are. */
enum { ABOUTS_MAX = 16 };

struct loaded {
    enum followed_verdict verdict;
    int64_t number;
    struct session_rows *parts;
    size_t n;
};

/* The users affected by the changes since the last load: single users, or STR_NULL for all.
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
    raise_time(&session->last_used_at, row->last_used_at);
    raise_time(&session->stored_at, row->last_used_at);
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
    struct users *users = NEW(struct users), *old;

    arena_init(&users->arena);
    map_init(&users->by_id);
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

int sessions_refresh(struct sessions *p, struct db *db, struct error *err)
{
    struct loaded loaded = { 0 };
    ARENA_SCOPED(arena);
    int64_t number = 0;
    bool replaces;
    int r;

    lock_acquire(&p->refresh);
    rwlock_read(&p->lock);
    replaces = p->users != NULL && p->replaced < REPLACED_MAX;
    rwlock_release(&p->lock);
    r = users_number(db, &number, err);
    if (r == 0 && followed_judge(&p->followed, db, number) != FOLLOWED_HOLDS)
        r = load_users(p, db, replaces, &arena, &loaded, err);
    if (r == 0 && loaded.n > 0) {
        if (str_is_null(loaded.parts[0].about))
            apply_all(p, &loaded.parts[0], &arena);
        else
            apply_some(p, &loaded, &arena);
        followed_take(&p->followed, db, loaded.number);
    }
    lock_release(&p->refresh);
    return r;
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

static struct session_entry *find_entry(struct sessions *p, const struct sha256 *digest)
    REQUIRES_SHARED(p->lock)
{
    struct session_entry *session = map_get(&p->sessions, digest_str(digest));

    return session != NULL && digest_equal(&session->digest, digest) ? session : NULL;
}

struct session_user *sessions_find(struct sessions *p, const struct sha256 *digest, int64_t now_us,
                                   struct arena *arena)
{
    struct session_entry *session;
    struct session_user *user = NULL;

    rwlock_read(&p->lock);
    session = find_entry(p, digest);
    if (session != NULL && now_us < entry_end(session)) {
        raise_time(&session->last_used_at, now_us);
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
    session = find_entry(p, digest);
    if (session != NULL && now_us < entry_end(session)) {
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
    session = find_entry(p, digest);
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
    session = find_entry(p, digest);
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
    return db_run(txn->db, &prune_sessions,
                  DB_ARGS(db_int(flush->now_us - (int64_t)SESSION_LIFE_S * USEC_PER_SEC - late),
                          db_int(flush->now_us - (int64_t)SESSION_IDLE_S * USEC_PER_SEC - late)),
                  err);
}

static void sessions_flush_done(struct writer_job *job, const struct error *err)
{
    struct flush *flush = CONTAINER_OF(job, struct flush, job);
    struct sessions *p = flush->sessions;

    rwlock_read(&p->lock);
    for (size_t i = 0; err == NULL && i < flush->n; i++) {
        struct session_entry *session = find_entry(p, &flush->used[i].digest);

        if (session != NULL)
            raise_time(&session->stored_at, flush->used[i].last_used_at);
    }
    rwlock_release(&p->lock);
    free(flush->used);
    free(flush);
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
        if (session->token_text == NULL && used_at > atomic_load(&session->stored_at))
            flush->used[flush->n++] =
                (struct session_row){ .digest = session->digest, .last_used_at = used_at };
    }
    assert(flush->n <= p->sessions.n);
    rwlock_release(&p->lock);
    flush->notifies = over || (shared && flush->n > 0);
    if (flush->n == 0 && !over)
        sessions_flush_done(&flush->job, NULL);
    else if (writer_submit(writer, &flush->job, &err) != 0)
        sessions_flush_done(&flush->job, &err);
}
