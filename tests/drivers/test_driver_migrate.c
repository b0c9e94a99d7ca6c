/* test_driver_migrate.c - the schema is created once, by any number of processes, killed or not.
 * The last two migrations are made up (tests/hooks/next/). */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/migrate.h"
#include "hooks/fault.h"
#include "suite.h"

static const struct db_query newest = { .sql = "SELECT COUNT(*) FROM schema_version" };

struct starter {
    const char *url;
    pthread_barrier_t *together;
    int r;
    struct error err;
};

static void *start(void *ctx)
{
    struct starter *s = ctx;
    struct db *db = NULL;

    (void)pthread_barrier_wait(s->together);
    s->r = db_open(s->url, DB_WRITER, &db, &s->err);
    if (s->r == 0)
        s->r = store_migrate(db, &s->err);
    db_close(db);
    return NULL;
}

TEST(migrations_started_at_the_same_time_apply_once)
{
    for (int round = 0; round < 3; round++) {
        struct starter starters[4];
        pthread_t threads[COUNT_OF(starters)];
        const char *url = suite_new_database();
        pthread_barrier_t together;
        struct db *db;

        (void)pthread_barrier_init(&together, NULL, COUNT_OF(starters));
        for (size_t i = 0; i < COUNT_OF(starters); i++) {
            starters[i] = (struct starter){ .url = url, .together = &together };
            CHECK(pthread_create(&threads[i], NULL, start, &starters[i]) == 0);
        }
        for (size_t i = 0; i < COUNT_OF(starters); i++)
            (void)pthread_join(threads[i], NULL);
        (void)pthread_barrier_destroy(&together);
        for (size_t i = 0; i < COUNT_OF(starters); i++)
            if (starters[i].r != 0)
                fail_msg("%s", starters[i].err.text);
        db = suite_open(url, DB_READER);
        CHECK_INT(suite_int(db, &newest), n_migrations);
        db_close(db);
    }
}

/* Migrates in a process that is killed instead of its nth call; false when it made fewer. */
static bool migrate_until(const char *url, int nth)
{
    const pid_t child = fork();
    int status = 0;

    CHECK(child >= 0);
    if (child == 0) {
        struct db *db = NULL;

        if (db_open(url, DB_WRITER, &db, NULL) != 0)
            _exit(1);
        _exit(store_migrate(db_fault_new_killed(db, nth), NULL) == 0 ? 0 : 2);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    if (WEXITSTATUS(status) != 0)
        CHECK_INT(WEXITSTATUS(status), FAULT_KILLED);
    return WEXITSTATUS(status) != 0;
}

TEST(a_migration_killed_anywhere_is_completed_by_the_next_process)
{
    static const struct db_query indexes = {
        .sqlite = "SELECT COUNT(*) FROM sqlite_master WHERE name = 'next_events'",
        .postgres = "SELECT COUNT(*) FROM pg_index WHERE indisvalid"
                    " AND indexrelid = to_regclass('next_events')",
    };
    static const struct db_query seeds = {
        .sql = "SELECT COUNT(*) FROM change_numbers WHERE topic = 'registry'"
    };
    static const struct db_query columns = {
        .sql = "SELECT COUNT(next_note) + (SELECT COUNT(*) FROM next_things) FROM runs"
    };
    int nth = 0;

    for (bool killed = true; killed; nth++) {
        const char *url = suite_new_database();
        struct db *db;

        killed = migrate_until(url, nth);
        db = suite_open(url, DB_WRITER);
        CHECK(store_migrate(db, NULL) == 0);
        CHECK_INT(suite_int(db, &newest), n_migrations);
        CHECK_INT(suite_int(db, &indexes), 1);
        CHECK_INT(suite_int(db, &seeds), 1);
        CHECK_INT(suite_int(db, &columns), 0);
        db_close(db);
    }
    CHECK(nth > 4 * (int)n_migrations); /* begin, the lock, the number, the script, … of each */
}

TEST(a_database_of_a_newer_program_is_used_if_each_of_its_steps_allows_it)
{
    static const struct db_query later = {
        .sql = "INSERT INTO schema_version (number, name, applied_at, oldest)"
               " VALUES ($1, 'later', 0, $2)",
    };
    const int64_t known = (int64_t)n_migrations;
    struct db *db = suite_open(suite_new_database(), DB_WRITER);
    struct error err = { 0 };

    CHECK(store_migrate(db, NULL) == 0);
    CHECK(db_run(db, &later, DB_ARGS(db_int(known + 1), db_int(known)), NULL) == 0);
    CHECK(store_migrate(db, NULL) == 0);
    CHECK(store_schema_check(db, NULL) == 0);
    CHECK_INT(suite_int(db, &newest), known + 1);
    CHECK(db_run(db, &later, DB_ARGS(db_int(known + 2), db_int(known + 1)), NULL) == 0);
    CHECK(db_run(db, &later, DB_ARGS(db_int(known + 3), db_int(known)), NULL) == 0);
    CHECK(store_migrate(db, &err) != 0);
    CHECK_INT(err.code, ERR_SCHEMA);
    CHECK(strstr(err.text, "newer") != NULL);
    CHECK(store_schema_check(db, &err) != 0);
    CHECK_INT(err.code, ERR_SCHEMA);
    db_close(db);
}
