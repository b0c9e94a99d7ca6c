/* test_postgres_connection.c - connections that are lost, and servers that are refused. */
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "db/postgres/postgres.h"
#include "db/servers.h"
#include "suite.h"

static const struct db_query insert = { .sql = "INSERT INTO item (id) VALUES ($1)" };
static const struct db_query count = { .sql = "SELECT COUNT(*) FROM item" };
static const struct db_query backend = { .sql = "SELECT pg_backend_pid()" };
static const struct db_query terminate = {
    .sql = "SELECT COUNT(*) FROM (SELECT pg_terminate_backend(CAST($1 AS INTEGER), 5000)) x",
};

static int add(struct db *db, int64_t id, struct error *err)
{
    return db_exec(db, &insert, DB_ARGS(db_int(id)), NULL, NULL, err);
}

static void kill_backend(struct db *killer, int64_t pid)
{
    suite_exec(killer, &terminate, DB_ARGS(db_int(pid)));
}

TEST(a_lost_connection_fails_its_transaction_and_the_next_has_another)
{
    const char *url = suite_new_database();
    struct db *db = suite_open(url, DB_WRITER), *killer = suite_open(url, DB_WRITER);
    struct error err = { 0 };
    int64_t session;

    suite_script(db, "CREATE TABLE item (id BIGINT PRIMARY KEY)");
    CHECK(add(db, 1, NULL) == 0);
    CHECK(db_begin(db, NULL) == 0);
    CHECK(add(db, 2, NULL) == 0);
    kill_backend(killer, suite_int(db, &backend));
    CHECK(add(db, 3, &err) != 0);
    CHECK_INT(err.code, ERR_UNAVAILABLE);
    for (int i = 0; i < 2; i++) { /* nothing is half-way back */
        err = (struct error){ 0 };
        CHECK(add(db, 3, &err) != 0);
        CHECK_INT(err.code, ERR_UNAVAILABLE);
        CHECK(db_commit(db, &err) != 0);
        CHECK_INT(err.code, ERR_UNAVAILABLE);
        CHECK(db_begin(db, NULL) != 0);
        CHECK(db_script(db, "SELECT 1", NULL) != 0);
    }
    session = db_session(db);
    db_rollback(db);
    CHECK(add(db, 3, NULL) == 0); /* prepared again */
    CHECK(db_session(db) != session);
    CHECK_INT(suite_int(db, &count), 2);
    db_close(killer);
    db_close(db);
}

TEST(a_connection_that_died_while_idle_fails_nothing)
{
    const char *url = suite_new_database();
    struct db *db = suite_open(url, DB_READER), *killer = suite_open(url, DB_WRITER);
    int64_t before = suite_int(db, &backend);

    kill_backend(killer, before);
    CHECK(suite_int(db, &backend) != before);
    kill_backend(killer, suite_int(db, &backend));
    CHECK(db_begin(db, NULL) == 0);
    db_rollback(db);
    CHECK(db_script(db, "CREATE TABLE x (a BIGINT)", NULL) != 0); /* still a reader */
    db_close(killer);
    db_close(db);
}

TEST(a_commit_without_an_answer_is_unknown_and_says_so)
{
    const char *url = suite_new_database();
    struct db *db = suite_open(url, DB_WRITER), *killer = suite_open(url, DB_WRITER);
    struct error err = { 0 };

    suite_script(db, "CREATE TABLE item (id BIGINT PRIMARY KEY)");
    CHECK(db_begin(db, NULL) == 0);
    CHECK(add(db, 1, NULL) == 0);
    kill_backend(killer, suite_int(db, &backend));
    CHECK(db_commit(db, &err) != 0);
    CHECK_INT(err.code, ERR_UNAVAILABLE);
    CHECK(strstr(err.text, "unknown") != NULL);
    db_rollback(db);
    CHECK_INT(suite_int(db, &count), 0);
    db_close(killer);
    db_close(db);
}

TEST(a_transaction_begins_with_its_first_statement)
{
    struct db *db = suite_open(suite_new_database(), DB_WRITER);
    struct error err = { 0 };

    suite_script(db, "CREATE TABLE item (id BIGINT PRIMARY KEY)");
    CHECK(db_begin(db, NULL) == 0);
    CHECK(db_begin(db, &err) != 0); /* one is open */
    CHECK_INT(err.code, ERR_INTERNAL);
    db_rollback(db);
    CHECK(db_begin(db, NULL) == 0);
    CHECK(add(db, 1, NULL) == 0);
    db_rollback(db);
    CHECK_INT(suite_int(db, &count), 0);
    CHECK(db_begin(db, NULL) == 0);
    CHECK(add(db, 1, NULL) == 0 && add(db, 2, NULL) == 0);
    CHECK(db_commit(db, NULL) == 0);
    for (int settles = 0; settles < 2; settles++) {
        CHECK(db_begin(db, NULL) == 0);
        CHECK(db_run_later(db, &insert, DB_ARGS(db_int(1)), NULL) == 0); /* it is there */
        CHECK((settles != 0 ? db_settle(db, NULL) : db_commit(db, NULL)) != 0);
        db_rollback(db);
    }
    CHECK(db_settle(db, NULL) == 0); /* nothing is to be waited for */
    CHECK(db_begin(db, NULL) == 0);
    CHECK(db_commit(db, NULL) == 0);
    CHECK_INT(suite_int(db, &count), 2);
    db_close(db);
}

/* As a server that was stopped, or cut off, in the midst of a statement. */
TEST(a_server_that_does_not_answer_in_time_is_lost)
{
    static const struct db_query hang = { .sql = "SELECT pg_sleep(60)" };
    struct db *db = suite_open(suite_new_database(), DB_WRITER);
    struct error err = { 0 };

    ((struct postgres *)db)->wait_ms = 20;
    CHECK(db_exec(db, &hang, DB_NO_ARGS, NULL, NULL, &err) != 0);
    CHECK_INT(err.code, ERR_UNAVAILABLE);
    ((struct postgres *)db)->wait_ms = DB_POSTGRES_WAIT_MS;
    CHECK(suite_int(db, &backend) > 0);
    db_close(db);
}

static enum err_code code_of(struct db *db, const struct db_query *q)
{
    struct error err = { 0 };

    return db_exec(db, q, DB_NO_ARGS, NULL, NULL, &err) == 0 ? ERR_NONE : err.code;
}

/* The others of its kind are not kept waiting by it, nor the writers by readers. */
TEST(a_guarded_connection_is_refused_while_the_server_does_not_answer)
{
    static const struct db_query hang = { .sql = "SELECT pg_sleep(60)" };
    const char *url = suite_new_database();
    struct db *db = suite_open(url, DB_POOLED), *other = suite_open(url, DB_POOLED);
    struct db *writer = suite_open(url, DB_WRITER), *free = suite_open(url, DB_READER);

    CHECK(db_guard(writer, NULL) == 0);
    ((struct postgres *)db)->wait_ms = 20;
    CHECK_INT(code_of(db, &hang), ERR_UNAVAILABLE);
    CHECK_INT(code_of(db, &backend), ERR_UNAVAILABLE);
    CHECK_INT(code_of(other, &backend), ERR_UNAVAILABLE);
    CHECK(((struct postgres *)other)->conn == NULL); /* it was not even connected */
    CHECK(db_begin(other, NULL) != 0);
    CHECK_INT(code_of(writer, &backend), ERR_NONE);
    CHECK_INT(code_of(free, &backend), ERR_NONE);
    atomic_fetch_add(&clock_raw_shift_us, (int64_t)11 * USEC_PER_SEC);
    ((struct postgres *)db)->wait_ms = DB_POSTGRES_SHORT_WAIT_MS;
    CHECK_INT(code_of(db, &backend), ERR_NONE);
    CHECK_INT(code_of(other, &backend), ERR_NONE);
    db_close(free);
    db_close(writer);
    db_close(other);
    db_close(db);
}

/* As if another connection of this process had been to the server that took its place. */
TEST(a_server_whose_place_was_taken_is_used_by_no_connection)
{
    static const enum db_mode modes[] = { DB_READER, DB_WRITER };
    const char *url = suite_new_database();
    struct error err = { 0 };
    struct db *late = NULL;

    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        struct db *db = suite_open(url, modes[i]);
        const int64_t pid = suite_int(db, &backend);

        CHECK_INT(((struct postgres *)db)->timeline, 1);
        CHECK(db_begin(db, NULL) == 0);
        ((struct postgres *)db)->timeline = 0; /* it does not tell */
        CHECK_INT(suite_int(db, &backend), pid);
        db_rollback(db);
        CHECK_INT(suite_int(db, &backend), pid);
        db_close(db);
    }
    CHECK(servers_check_timeline(servers_of(url), 0, 2));
    CHECK(db_open(url, DB_WRITER, &late, &err) != 0);
    CHECK_INT(err.code, ERR_UNAVAILABLE);
    CHECK(strstr(err.text, "former primary") != NULL);
    db_close(suite_open(url, DB_MAINTENANCE));
}

TEST(a_failed_transaction_cannot_be_committed_by_mistake)
{
    struct db *db = suite_open(suite_new_database(), DB_WRITER);
    struct error err = { 0 };

    suite_script(db, "CREATE TABLE item (id BIGINT PRIMARY KEY)");
    CHECK(db_begin(db, NULL) == 0);
    CHECK(add(db, 1, NULL) == 0);
    CHECK(add(db, 1, &err) != 0);
    CHECK_INT(err.code, ERR_CONSTRAINT);
    CHECK(db_commit(db, &err) != 0);
    CHECK_INT(err.code, ERR_INTERNAL);
    db_rollback(db);
    CHECK_INT(suite_int(db, &count), 0);
    db_close(db);
}

TEST(a_warning_with_a_commit_takes_the_promise_back)
{
    struct db *db = suite_open(suite_new_database(), DB_WRITER);
    struct error err = { 0 };

    suite_script(db, "CREATE TABLE item (id BIGINT PRIMARY KEY);"
                     "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS"
                     " $$ BEGIN RAISE WARNING 'not replicated'; RETURN NULL; END $$;"
                     "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON item INITIALLY DEFERRED"
                     " FOR EACH ROW EXECUTE FUNCTION warn()");
    CHECK(db_begin(db, NULL) == 0);
    CHECK(add(db, 1, NULL) == 0);
    CHECK(db_commit(db, &err) != 0);
    CHECK_INT(err.code, ERR_UNAVAILABLE);
    db_rollback(db);
    suite_script(db, "DROP TRIGGER late ON item");
    CHECK(db_begin(db, NULL) == 0);
    CHECK(db_commit(db, NULL) == 0);
    db_close(db);
}

static bool read_text(void *ctx, const struct db_row *row)
{
    CHECK_STR(db_get_text(row, 0), ctx);
    return true;
}

TEST(the_session_is_set_up_whatever_the_role_prefers)
{
    static const struct {
        struct db_query query;
        char value[24];
    } rows[] = {
        { { .sql = "SHOW synchronous_commit" }, "on" },
        { { .sql = "SHOW plan_cache_mode" }, "force_custom_plan" },
        { { .sql = "SHOW jit" }, "off" },
        { { .sql = "SHOW TimeZone" }, "UTC" },
        { { .sql = "SHOW client_encoding" }, "UTF8" },
        { { .sql = "SHOW application_name" }, "muster" },
        { { .sql = "SHOW statement_timeout" }, "30s" },
        { { .sql = "SHOW lock_timeout" }, "10s" },
        { { .sql = "SHOW bytea_output" }, "hex" },
    };
    const char *url = suite_new_database();
    struct db *db = suite_open(url, DB_WRITER);
    char sql[256];

    (void)snprintf(sql, sizeof(sql),
                   "ALTER DATABASE %s SET synchronous_commit = off;"
                   "ALTER DATABASE %s SET TimeZone = 'Asia/Tokyo';"
                   "ALTER DATABASE %s SET bytea_output = 'escape'",
                   strrchr(url, '/') + 1, strrchr(url, '/') + 1, strrchr(url, '/') + 1);
    suite_script(db, sql);
    db_close(db);
    db = suite_open(url, DB_WRITER);
    suite_script(db, "SELECT 1"); /* which lifts the statement's time limit and puts it back */
    (void)!db_script(db, "SELECT 1 / 0", NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char value[24];

        memcpy(value, rows[i].value, sizeof(value));
        CHECK(db_exec(db, &rows[i].query, DB_NO_ARGS, read_text, value, NULL) == 0);
    }
    db_close(db);
}

/* Changes a setting of the whole server and returns when new backends have it. */
static void set_server(struct db *db, const char *name, const char *value)
{
    static const struct db_query is_set = { .sql = "SELECT current_setting($1) = $2" };
    const struct db_args args = DB_ARGS(db_text(str_of(name)), db_text(str_of(value)));
    char sql[128];
    int64_t seen = 0;

    (void)snprintf(sql, sizeof(sql), "ALTER SYSTEM SET %s = %s", name, value);
    suite_script(db, sql);
    suite_script(db, "SELECT pg_reload_conf()");
    /* The server rereads before it tells its backends to. */
    for (int i = 0; i < 100000 && !seen; i++)
        CHECK(db_exec(db, &is_set, args, suite_read_int, &seen, NULL) == 0);
    CHECK(seen);
}

TEST(a_server_that_could_lose_what_it_confirmed_is_refused)
{
    static const char *const settings[] = { "fsync", "full_page_writes" };
    const char *url = suite_new_database();
    struct db *db = suite_open(url, DB_WRITER);

    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        struct error err = { 0 };
        struct db *refused = NULL;
        int r;

        set_server(db, settings[i], "off");
        r = db_open(url, DB_WRITER, &refused, &err);
        set_server(db, settings[i], "on");
        CHECK(r != 0);
        CHECK(refused == NULL);
        CHECK_INT(err.code, ERR_SCHEMA);
        CHECK(strstr(err.text, settings[i]) != NULL);
        db_close(suite_open(url, DB_WRITER));
    }
    db_close(db);
}

TEST(a_database_that_is_not_utf8_is_refused)
{
    const char *url = suite_new_database();
    struct db *db = suite_open(url, DB_WRITER), *refused = NULL;
    struct error err = { 0 };
    char other[256];

    suite_script(db, "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'");
    (void)snprintf(other, sizeof(other), "%.*s/latin", (int)(strrchr(url, '/') - url), url);
    CHECK(db_open(other, DB_WRITER, &refused, &err) != 0);
    CHECK_INT(err.code, ERR_SCHEMA);
    CHECK(strstr(err.text, "LATIN1") != NULL);
    db_close(db);
}

TEST(a_lock_that_another_holds_is_busy_in_the_end)
{
    static const struct db_query lock = { .sql = "LOCK TABLE item IN EXCLUSIVE MODE" };
    const char *url = suite_new_database();
    struct db *one = suite_open(url, DB_WRITER), *two = suite_open(url, DB_WRITER);
    struct error err = { 0 };

    suite_script(one, "CREATE TABLE item (id BIGINT PRIMARY KEY)");
    suite_script(two, "SET lock_timeout = '20ms'");
    CHECK(db_begin(one, NULL) == 0);
    suite_exec(one, &lock, DB_NO_ARGS);
    CHECK(add(two, 1, &err) != 0);
    CHECK_INT(err.code, ERR_BUSY);
    db_rollback(one);
    CHECK(add(two, 1, NULL) == 0);
    db_close(two);
    db_close(one);
}

TEST(no_error_shows_a_password)
{
    static const struct {
        const char *url;
        enum err_code code;
    } rows[] = {
        { "postgresql://u:hunter2@127.0.0.1:1/x", ERR_UNAVAILABLE },
        { "postgres://u:hunter2@127.0.0.1:1/x?connect_timeout=2", ERR_UNAVAILABLE },
        { "postgresql://u:hunter2%zz@127.0.0.1:1/x", ERR_INVALID },
        { "postgresql://u:hunter2@127.0.0.1:1/x?nonsense=1", ERR_INVALID },
        { "postgresql://u:hunter2@[::1/x", ERR_INVALID },
        { "postgresql://u:a@hunter2@127.0.0.1:1/x", ERR_INVALID },
        { "postgresql://u:hunter2/b@127.0.0.1:1/x", ERR_INVALID },
        { "postgresql://u:hunter2?b@127.0.0.1:1/x", ERR_INVALID },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };
        struct db *db = NULL;

        CHECK(db_open(rows[i].url, DB_WRITER, &db, &err) != 0);
        CHECK_INT(err.code, rows[i].code);
        CHECK(strstr(err.text, "hunter2") == NULL);
        CHECK(strchr(err.text, '\n') == NULL);
        CHECK(err.text[0] != '\0');
    }
}

/* Citus says so in words, under the code of an error of its own. */
TEST(another_server_that_was_lost_in_a_transaction_is_away_and_other_errors_are_ours)
{
    static const struct {
        const char *said;
        bool distributed;
        enum err_code code;
    } rows[] = {
        { "failure on connection marked as essential: localhost:9", true, ERR_UNAVAILABLE },
        { "server closed the connection unexpectedly\n\tThis probably", true, ERR_UNAVAILABLE },
        { "SSL SYSCALL error: EOF detected", true, ERR_UNAVAILABLE },
        { "cannot connect to localhost:9 to fetch intermediate results", true, ERR_UNAVAILABLE },
        { "failed to prepare transaction on host localhost:9", true, ERR_UNAVAILABLE },
        { "postmaster was shut down, exiting", true, ERR_UNAVAILABLE }, /* itself */
        { "the planner is confused", true, ERR_INTERNAL },
        { "failure on connection marked as essential: localhost:9", false, ERR_INTERNAL },
    };
    struct db *db = suite_open(suite_new_database(), DB_WRITER);

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };
        char sql[256];

        db->distributed = rows[i].distributed;
        (void)snprintf(sql, sizeof(sql),
                       "DO $$ BEGIN RAISE EXCEPTION '%s' USING ERRCODE = 'XX000'; END $$",
                       rows[i].said);
        CHECK(db_script(db, sql, &err) != 0);
        CHECK_INT(err.code, rows[i].code);
        CHECK(strchr(err.text, '\n') == NULL);
        CHECK((((struct postgres *)db)->conn == NULL) ==
              str_starts(str_of(rows[i].said), STR_LIT("postmaster")));
        CHECK(db_script(db, "SELECT 1", NULL) ==
              0); /* its connection is well, or another is made */
    }
    db_close(db);
}

static const struct db_query insert_run = {
    .sql = "INSERT INTO runs (run_no, run_id) VALUES ($1, $2)",
};

static enum err_code add_run(struct db *db, int64_t run_no, const char *run_id)
{
    struct error err = { 0 };

    if (db_run(db, &insert_run, DB_ARGS(db_int(run_no), db_text(str_of(run_id))), &err) == 0)
        return ERR_NONE;
    return err.code;
}

TEST(a_number_that_is_taken_is_worth_another_try_and_a_name_is_not)
{
    struct db *db = suite_open(suite_new_database(), DB_WRITER);
    const int64_t number = db_number(db);

    suite_script(db, "CREATE TABLE runs (run_no BIGINT PRIMARY KEY, run_id TEXT UNIQUE)");
    CHECK_INT(add_run(db, number, "a"), ERR_NONE);
    CHECK_INT(add_run(db, number, "b"), ERR_BUSY);
    CHECK(db_was_contended(db));
    CHECK_INT(add_run(db, db_number(db), "b"), ERR_NONE); /* as the writer does */
    CHECK_INT(add_run(db, db_number(db), "b"), ERR_CONSTRAINT);
    CHECK(!db_was_contended(db));
    db_close(db);
}
