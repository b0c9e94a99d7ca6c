/* test_sessions.c - sessions in memory follow the database, and end by the clock. */
#include <sodium.h>

#include "base/clock.h"
#include "base/password.h"
#include "db/driver.h"
#include "db/embedded.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/access/sessions.h"
#include "features/users/accounts.h"
#include "features/users/users.h"
#include "hooks/fault.h"
#include "unit/temp_db.h"

static const int64_t hour_us = (int64_t)3600 * USEC_PER_SEC;

struct world {
    char url[TEMP_DB_URL_MAX];
    struct db *db;
    struct sessions *sessions;
    struct arena arena;
};

static void world_init(struct world *w)
{
    digest_init();
    arena_init(&w->arena);
    (void)snprintf(w->url, sizeof(w->url), "%s", temp_db_migrated());
    w->db = temp_db_open(w->url, DB_WRITER);
    w->sessions = sessions_new();
}

static void world_done(struct world *w)
{
    sessions_free(w->sessions);
    db_close(w->db);
    arena_done(&w->arena);
}

static void refresh(struct world *w)
{
    CHECK(users_changed(w->db, NULL) == 0);
    CHECK(sessions_refresh(w->sessions, w->db, NULL) == 0);
}

static void add_user(struct world *w, const char *name, const char *hash, enum platform_role role)
{
    const struct user_row row = { .user_id = str_of(name),
                                  .email = str_of(name),
                                  .password = str_of(hash),
                                  .role = (int)role,
                                  .last_login_at = TIME_NULL };

    CHECK(user_add(w->db, &row, NULL) == 0);
}

static struct sha256 add_session(struct world *w, const char *cookie, const char *user_id)
{
    const struct session_row row = { .digest = digest_sha256(str_of(cookie)),
                                     .user_id = str_of(user_id) };

    CHECK(session_add(w->db, &row, NULL) == 0);
    return row.digest;
}

/* A change about one user. */
static void refresh_about(struct world *w, const char *user_id)
{
    CHECK(users_changed(w->db, NULL) == 0);
    CHECK(users_about(w->db, str_of(user_id), NULL) == 0);
    CHECK(sessions_refresh(w->sessions, w->db, NULL) == 0);
}

static bool is_in(struct world *w, const struct sha256 *session)
{
    return sessions_find(w->sessions, session, 0, &w->arena) != NULL;
}

TEST(a_change_about_one_user_loads_that_user_alone)
{
    struct sha256 ann, ann_2, bob;
    struct world w;

    world_init(&w);
    add_user(&w, "ann", "x", PLATFORM_NONE);
    add_user(&w, "bob", "x", PLATFORM_NONE);
    refresh(&w);
    ann = add_session(&w, "cookie of ann", "ann");
    bob = add_session(&w, "cookie of bob", "bob"); /* in the database, but of no change */
    refresh_about(&w, "ann");
    CHECK(is_in(&w, &ann) && !is_in(&w, &bob));
    refresh_about(&w, "bob");
    CHECK(is_in(&w, &ann) && is_in(&w, &bob));

    /* one ends, one begins, the role changes; bob's ends unsaid */
    CHECK(session_end(w.db, &ann, NULL) == 0 && session_end(w.db, &bob, NULL) == 0);
    ann_2 = add_session(&w, "second cookie of ann", "ann");
    CHECK(db_script(w.db, "UPDATE users SET platform_role = 0", NULL) == 0);
    refresh_about(&w, "ann");
    CHECK(!is_in(&w, &ann) && is_in(&w, &ann_2) && is_in(&w, &bob));
    CHECK(sessions_find(w.sessions, &ann_2, 0, &w.arena)->is_platform_admin);
    CHECK(!sessions_find(w.sessions, &bob, 0, &w.arena)->is_platform_admin);
    refresh(&w); /* a change of several */
    CHECK(is_in(&w, &ann_2) && !is_in(&w, &bob));
    world_done(&w);
}

TEST(a_change_of_several_users_is_not_taken_for_one_of_the_last)
{
    struct sha256 ann, bob;
    struct world w;

    world_init(&w);
    add_user(&w, "ann", "x", PLATFORM_NONE);
    add_user(&w, "bob", "x", PLATFORM_NONE);
    ann = add_session(&w, "cookie of ann", "ann");
    bob = add_session(&w, "cookie of bob", "bob");
    refresh(&w);
    for (int round = 0; round < 2; round++) {
        const char *several = round == 0 ? "ann" : "";

        CHECK(session_end(w.db, round == 0 ? &ann : &bob, NULL) == 0);
        CHECK(users_changed(w.db, NULL) == 0);
        CHECK(users_about(w.db, str_of(several), NULL) == 0);
        CHECK(users_about(w.db, STR_LIT("x"), NULL) == 0);
        CHECK(users_about(w.db, STR_LIT("x"), NULL) == 0);
        CHECK(sessions_refresh(w.sessions, w.db, NULL) == 0);
        CHECK(!is_in(&w, round == 0 ? &ann : &bob));
    }
    world_done(&w);
}

TEST(several_changes_load_the_users_whom_they_are_about)
{
    static const char *const users[] = { "ann", "bob", "ann" };
    struct sha256 ann, bob, eve;
    struct world w;

    world_init(&w);
    add_user(&w, "ann", "x", PLATFORM_NONE);
    add_user(&w, "bob", "x", PLATFORM_NONE);
    add_user(&w, "eve", "x", PLATFORM_NONE);
    refresh(&w);
    ann = add_session(&w, "cookie of ann", "ann");
    bob = add_session(&w, "cookie of bob", "bob");
    eve = add_session(&w, "cookie of eve", "eve"); /* in the database, but of no change */
    for (size_t i = 0; i < COUNT_OF(users); i++) {
        CHECK(users_changed(w.db, NULL) == 0);
        CHECK(users_about(w.db, str_of(users[i]), NULL) == 0);
    }
    CHECK(sessions_refresh(w.sessions, w.db, NULL) == 0);
    CHECK(is_in(&w, &ann) && is_in(&w, &bob) && !is_in(&w, &eve));

    CHECK(session_end(w.db, &ann, NULL) == 0);
    CHECK(db_script(w.db, "UPDATE change_numbers SET number = number + 1 WHERE topic = 'people'",
                    NULL) == 0); /* by a program that does not tell */
    refresh_about(&w, "bob");
    CHECK(!is_in(&w, &ann) && is_in(&w, &eve));
    world_done(&w);
}

/* One after the other they would take longer. */
TEST(changes_about_many_users_load_all)
{
    char name[] = "a";
    struct sha256 eve;
    struct world w;

    world_init(&w);
    add_user(&w, "eve", "x", PLATFORM_NONE);
    refresh(&w);
    eve = add_session(&w, "cookie of eve", "eve");
    for (; name[0] <= 'q'; name[0]++) {
        CHECK(users_changed(w.db, NULL) == 0);
        CHECK(users_about(w.db, str_of(name), NULL) == 0);
    }
    CHECK(sessions_refresh(w.sessions, w.db, NULL) == 0);
    CHECK(is_in(&w, &eve));
    world_done(&w);
}

TEST(changes_that_were_missed_load_all_users)
{
    struct sha256 ann, bob;
    struct world w;

    world_init(&w);
    add_user(&w, "ann", "x", PLATFORM_NONE);
    ann = add_session(&w, "cookie of ann", "ann");
    refresh_about(&w, "ann"); /* nothing is known yet */
    CHECK(is_in(&w, &ann) && !sessions_has_no_user(w.sessions));
    add_user(&w, "bob", "x", PLATFORM_NONE);
    bob = add_session(&w, "cookie of bob", "bob");
    CHECK(users_changed(w.db, NULL) == 0);
    CHECK(users_about(w.db, STR_LIT("bob"), NULL) == 0);
    refresh_about(&w, "ann"); /* the second change since */
    CHECK(is_in(&w, &bob));

    /* a process that does not say whom its change is about */
    CHECK(session_end(w.db, &bob, NULL) == 0);
    refresh(&w);
    CHECK(!is_in(&w, &bob));
    CHECK(session_end(w.db, &ann, NULL) == 0);
    CHECK(user_remove(w.db, STR_LIT("ann"), NULL) == 0);
    refresh_about(&w, "ann");
    CHECK(!is_in(&w, &ann));
    CHECK(user_remove(w.db, STR_LIT("bob"), NULL) == 0);
    refresh_about(&w, "bob");
    CHECK(sessions_has_no_user(w.sessions));
    world_done(&w);
}

/* A standby that was behind takes over, and gives the numbers of what it never got to other
 * changes. */
TEST(a_session_that_ends_after_changes_were_lost_is_over_whatever_its_number_is)
{
    for (int others = 0; others < 4; others++) { /* changes on other nodes before it is looked */
        struct sha256 ann, bob, lost;
        const char *url;
        struct world w;
        struct db *copy;

        world_init(&w);
        add_user(&w, "ann", "x", PLATFORM_NONE);
        add_user(&w, "bob", "x", PLATFORM_NONE);
        ann = add_session(&w, "cookie of ann", "ann");
        bob = add_session(&w, "cookie of bob", "bob");
        refresh(&w);
        CHECK(db_checkpoint(w.db, NULL) == 0);
        url = temp_db_new();
        temp_db_copy(w.url + strlen("sqlite:"), url + strlen("sqlite:"));
        copy = temp_db_open(url, DB_WRITER);
        lost = add_session(&w, "another cookie of bob", "bob");
        CHECK(session_end(w.db, &ann, NULL) == 0);
        refresh_about(&w, "ann");
        refresh_about(&w, "bob");
        CHECK(!is_in(&w, &ann) && is_in(&w, &lost));

        db_close(w.db);
        w.db = copy;
        w.db->session = 1;
        CHECK(session_end(w.db, &bob, NULL) == 0);
        for (int n = 0; n < others; n++)
            CHECK(users_changed(w.db, NULL) == 0);
        refresh_about(&w, "ann"); /* the one change since, to judge by the number */
        CHECK(is_in(&w, &ann) && !is_in(&w, &bob) && !is_in(&w, &lost));
        world_done(&w);
    }
}

TEST(a_session_is_found_with_its_user_and_roles)
{
    struct sha256 ann, bob, unknown = digest_sha256(STR_LIT("unknown"));
    struct session_user *user;
    struct world w;

    world_init(&w);
    CHECK(sessions_has_no_user(w.sessions));
    add_user(&w, "ann", "x", PLATFORM_ADMIN);
    add_user(&w, "bob", "x", PLATFORM_NONE);
    CHECK(
        db_script(w.db,
                  "INSERT INTO tenants (tenant_id, slug, name, max_agents, rate_limit, created_at)"
                  " VALUES (7, 'a', '', 1, 1, 0), (9, 'b', '', 1, 1, 0);",
                  NULL) == 0);
    CHECK(role_set(w.db, 7, STR_LIT("bob"), ROLE_MEMBER, NULL) == 0);
    CHECK(role_set(w.db, 9, STR_LIT("bob"), ROLE_ADMIN, NULL) == 0);
    ann = add_session(&w, "cookie of ann", "ann");
    bob = add_session(&w, "cookie of bob", "bob");
    CHECK(sessions_find(w.sessions, &ann, 0, &w.arena) == NULL); /* before the first refresh */
    refresh(&w);
    CHECK(!sessions_has_no_user(w.sessions));
    user = sessions_find(w.sessions, &ann, 0, &w.arena);
    assert_non_null(user);
    CHECK_STR(user->email, "ann");
    CHECK(user->is_platform_admin);
    CHECK_INT(user_role(user, 7), ROLE_NONE);
    user = sessions_find(w.sessions, &bob, 0, &w.arena);
    assert_non_null(user);
    CHECK(!user->is_platform_admin);
    CHECK_INT(user_role(user, 7), ROLE_MEMBER);
    CHECK_INT(user_role(user, 9), ROLE_ADMIN);
    CHECK_INT(user_role(user, 8), ROLE_NONE);
    CHECK(sessions_find(w.sessions, &unknown, 0, &w.arena) == NULL);
    CHECK(sessions_end_of(w.db, STR_LIT("bob"), NULL, NULL) == 0);
    refresh(&w);
    CHECK(sessions_find(w.sessions, &bob, 0, &w.arena) == NULL);
    CHECK_STR(user->email, "bob"); /* a request under way has its own */
    CHECK(sessions_find(w.sessions, &ann, 0, &w.arena) != NULL);
    CHECK(user_remove(w.db, STR_LIT("ann"), NULL) == 0);
    refresh(&w);
    CHECK(sessions_find(w.sessions, &ann, 0, &w.arena) == NULL); /* nor without its user */
    world_done(&w);
}

static struct sha256 world_with_session(struct world *w)
{
    struct sha256 digest;

    world_init(w);
    add_user(w, "ann", "x", PLATFORM_NONE);
    digest = add_session(w, "cookie", "ann");
    refresh(w);
    return digest;
}

TEST(a_session_ends_to_the_microsecond)
{
    struct world w;
    const struct sha256 digest = world_with_session(&w);
    int64_t now = 0;

    while (now < hour_us * 156) { /* used at the last moment again and again */
        now += 12 * hour_us - 1;
        assert_non_null(sessions_find(w.sessions, &digest, now, &w.arena));
        CHECK(sessions_find(w.sessions, &digest, now + 12 * hour_us, &w.arena) == NULL);
    }
    assert_non_null(sessions_find(w.sessions, &digest, hour_us * 168 - 1, &w.arena));
    CHECK(sessions_find(w.sessions, &digest, hour_us * 168, &w.arena) == NULL);
    world_done(&w);
}

TEST(a_use_known_here_survives_a_reload_of_older_ones)
{
    struct world w;
    const struct sha256 digest = world_with_session(&w);

    assert_non_null(sessions_find(w.sessions, &digest, 11 * hour_us, &w.arena));
    refresh(&w);
    assert_non_null(sessions_find(w.sessions, &digest, 22 * hour_us, &w.arena));
    CHECK(db_script(w.db, "UPDATE sessions SET last_used_at = 108000000000", NULL) == 0);
    refresh(&w);
    assert_non_null(sessions_find(w.sessions, &digest, 41 * hour_us, &w.arena));
    world_done(&w);
}

static void on_fatal(void *ctx, const struct error *err)
{
    (void)ctx;
    (void)err;
}

/* By a writer whose `nth` call of the database fails; 0 is the begin, negative: none. */
static void flush(struct world *w, int nth, int64_t now_us)
{
    struct db *db = db_fault_new(w->db, nth, ERR_FULL);
    struct txn txn = { .db = db };
    const struct writer_options options = {
        .txns = &txn,
        .n_txns = 1,
        .limits = { .events_max = 9, .bytes_max = 9, .group_max = 9 },
        .on_fatal = on_fatal
    };
    struct writer *writer;

    CHECK(writer_new(&options, &writer, NULL) == 0);
    sessions_flush(w->sessions, writer, false, now_us);
    writer_free(writer);
    db_close(db);
}

static int64_t stored_use(struct world *w)
{
    const struct session_row *row;
    struct list rows = { 0 };

    CHECK(sessions_load(w->db, STR_LIT("ann"), &w->arena, &rows, NULL) == 0);
    CHECK_INT(rows.n, 1);
    row = rows.items;
    return row->last_used_at;
}

TEST(a_use_that_could_not_be_stored_is_stored_by_the_next_flush)
{
    struct world w;
    const struct sha256 digest = world_with_session(&w);

    assert_non_null(sessions_find(w.sessions, &digest, hour_us, &w.arena));
    flush(&w, 0, hour_us);
    CHECK_INT(stored_use(&w), 0);
    flush(&w, -1, hour_us);
    CHECK_INT(stored_use(&w), hour_us);
    world_done(&w);
}

TEST(the_set_up_code_is_good_while_there_is_nobody)
{
    char first[BASE64URL_LEN + 1], second[BASE64URL_LEN + 1];
    struct world w;

    world_init(&w);
    CHECK(!sessions_is_set_up_code(w.sessions, STR_LIT("")));
    sessions_set_up_code(w.sessions, first);
    CHECK(sessions_is_set_up_code(w.sessions, str_of(first)));
    sessions_set_up_code(w.sessions, second);
    CHECK(!sessions_is_set_up_code(w.sessions, str_of(first)));
    CHECK(sessions_is_set_up_code(w.sessions, str_of(second)));
    add_user(&w, "ann", "x", PLATFORM_ADMIN);
    refresh(&w);
    CHECK(!sessions_is_set_up_code(w.sessions, str_of(second)));
    world_done(&w);
}

static bool is_of(struct str hash, struct str password)
{
    struct error err = { 0 };
    bool good;

    CHECK_INT(password_verify(hash, password, &good, &err), 0);
    return good;
}

TEST(a_password_hashed_in_weaker_times_is_hashed_anew_when_it_is_good)
{
    static const struct sign_in good = { .email = STR_INIT("ann"),
                                         .password = STR_INIT("a good password") };
    static const struct sign_in bad = { .email = STR_INIT("ann"),
                                        .password = STR_INIT("a bad password") };
    char weak[crypto_pwhash_STRBYTES];
    struct sign_in_check check;
    struct world w;

    world_init(&w);
    CHECK(crypto_pwhash_str_alg(weak, good.password.data, good.password.len, 2, MIB(8),
                                crypto_pwhash_ALG_ARGON2ID13) == 0);
    CHECK(password_is_stale(str_of(weak)));
    add_user(&w, "ann", weak, PLATFORM_NONE);
    CHECK(sign_in_check(w.db, &bad, &w.arena, &check, NULL) == 0);
    CHECK(!check.good && str_is_null(check.new_hash));
    CHECK(sign_in_check(w.db, &good, &w.arena, &check, NULL) == 0);
    CHECK(check.good);
    CHECK(str_starts(check.new_hash, STR_LIT("$argon2id$v=19$m=65536,t=3,p=1$")));
    CHECK(!password_is_stale(check.new_hash));
    CHECK(is_of(check.new_hash, good.password));
    CHECK(!is_of(check.new_hash, bad.password));
    CHECK(!is_of(STR_NULL, good.password));
    CHECK(!is_of(STR_LIT(""), STR_LIT("")));
    world_done(&w);
}
