/* test_sqlite_log.c - the log keeps to its ceiling although readers are always there. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "db/embedded.h"
#include "db/sqlite/sqlite.h"
#include "hooks/clock_hook.h"
#include "suite.h"

enum { CEILING = 1 << 20, COMMITS = 100, BODY = 40000 };

static const struct db_query insert = { .sql = "INSERT INTO item (body) VALUES ($1)" };
static const struct db_query count = { .sql = "SELECT COUNT(*) FROM item" };

/* Much longer than any reader may take. */
static const struct db_query endless = {
    .sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
           " WHERE i < 0",
};

struct reading {
    const char *url;
    atomic_bool reads, stop;
    int ended; /* reads that ended before they were finished */
};

/* Reads in one transaction after the other, so that the log is used at every moment. */
static void *read_always(void *arg)
{
    struct reading *r = arg;
    struct db *db = suite_open(r->url, DB_READER);

    while (!atomic_load(&r->stop)) {
        struct error err = { 0 };

        CHECK(db_begin(db, NULL) == 0);
        CHECK(db_run(db, &count, DB_NO_ARGS, NULL) == 0);
        atomic_store(&r->reads, true);
        if (db_run(db, &endless, DB_NO_ARGS, &err) != 0)
            r->ended += err.code == ERR_BUSY;
        atomic_store(&r->reads, false);
        db_rollback(db);
    }
    db_close(db);
    return NULL;
}

/* The longest that the log was, in bytes. */
static int64_t write_beside(struct reading *r, int64_t ceiling)
{
    static char body[BODY];
    struct db *db;
    pthread_t thread;
    int64_t longest = 0;

    memset(body, 'x', sizeof(body));
    r->url = suite_new_database();
    db = suite_open(r->url, DB_WRITER);
    suite_script(db, "CREATE TABLE item (body TEXT NOT NULL)");
    db_set_log_max(db, ceiling);
    CHECK(pthread_create(&thread, NULL, read_always, r) == 0);
    for (int i = 0; i < COMMITS; i++) {
        int64_t now;

        while (!atomic_load(&r->reads)) /* a busy machine may keep it from its next one */
            CHECK(sched_yield() == 0);
        CHECK(db_begin(db, NULL) == 0);
        CHECK(db_run(db, &insert, DB_ARGS(db_text(str_from(body, BODY))), NULL) == 0);
        CHECK(db_commit(db, NULL) == 0);
        now = db_log_bytes(r->url);
        longest = now > longest ? now : longest;
    }
    atomic_store(&r->stop, true);
    clock_advance_raw_us(60000000); /* its read is over time */
    CHECK(pthread_join(thread, NULL) == 0);
    db_close(db);
    return longest;
}

TEST(readers_that_never_pause_do_not_make_the_log_longer_than_its_ceiling)
{
    struct reading with = { 0 }, without = { 0 };

    CHECK(write_beside(&with, CEILING) <= CEILING);
    CHECK(with.ended >= COMMITS * BODY / CEILING); /* each time the log was full */
    CHECK(write_beside(&without, 0) > CEILING);
}

TEST(a_readers_transaction_has_a_deadline_over_all_its_statements)
{
    const char *url = suite_new_database();
    struct db *writer = suite_open(url, DB_WRITER), *reader;
    struct error err = { 0 };

    suite_script(writer, "CREATE TABLE item (body TEXT NOT NULL)");
    reader = suite_open(url, DB_READER);
    CHECK(db_begin(reader, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        clock_advance_raw_us(4000000);
        CHECK(db_run(reader, &count, DB_NO_ARGS, NULL) == 0);
    }
    clock_advance_raw_us(4000000);
    CHECK(db_run(reader, &count, DB_NO_ARGS, &err) != 0);
    CHECK_INT(err.code, ERR_BUSY);
    db_rollback(reader);
    CHECK(db_begin(reader, NULL) == 0);
    CHECK(db_run(reader, &count, DB_NO_ARGS, NULL) == 0);
    db_rollback(reader);
    db_close(reader);
    db_close(writer);
}

/* Without an argument, which SQLite 3.46 takes for the name of a table here. */
static const struct db_query check = {
    .sql = "SELECT CASE integrity_check WHEN 'ok' THEN 1 ELSE 0 END FROM pragma_integrity_check",
};

/* As the service writes: a commit does not wait for its sync, and the log is moved meanwhile. */
TEST(the_log_is_moved_into_the_file_while_the_writer_goes_on)
{
    static char body[BODY];
    const char *url = suite_new_database();
    struct db *db = suite_open(url, DB_WRITER), *reader;
    const struct sqlite *s = (const struct sqlite *)db;
    int64_t longest = 0;
    int restarts = 0;

    memset(body, 'x', sizeof(body));
    suite_script(db, "CREATE TABLE item (body TEXT NOT NULL)");
    db_set_log_max(db, CEILING);
    CHECK(db_defer_sync(db, NULL) == 0);
    reader = suite_open(url, DB_READER);
    for (int i = 0; i < 4 * COMMITS; i++) {
        const int before = s->log_pages;
        int64_t now;

        CHECK(db_begin(db, NULL) == 0);
        CHECK(db_run(db, &insert, DB_ARGS(db_text(str_from(body, BODY))), NULL) == 0);
        CHECK(db_commit(db, NULL) == 0);
        CHECK(db_sync(db, NULL) == 0);
        CHECK_INT(suite_int(reader, &count), i + 1);
        now = db_log_bytes(url);
        longest = now > longest ? now : longest;
        restarts += s->log_pages < before;
    }
    CHECK(s->mover != NULL);
    CHECK(longest <= CEILING);
    CHECK(restarts > 0);
    CHECK(db_checkpoint(db, NULL) == 0);
    CHECK_INT(db_log_bytes(url), 0);
    CHECK_INT(suite_int(reader, &count), 4 * COMMITS);
    CHECK_INT(suite_int(reader, &check), 1);
    db_close(reader);
    db_close(db);
}
