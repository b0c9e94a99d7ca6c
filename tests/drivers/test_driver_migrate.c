/* test_driver_migrate.c - the schema is created once, by any number of processes. */
#include <pthread.h>
#include <stdio.h>

#include "db/migrate.h"
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

TEST(migrating_again_changes_nothing)
{
    struct db *db = suite_open(suite_new_database(), DB_WRITER);

    CHECK(store_migrate(db, NULL) == 0);
    CHECK(store_migrate(db, NULL) == 0);
    CHECK_INT(suite_int(db, &newest), n_migrations);
    db_close(db);
}

TEST(a_database_of_a_newer_program_is_refused_with_a_sentence)
{
    struct db *db = suite_open(suite_new_database(), DB_WRITER);
    struct error err = { 0 };

    CHECK(store_migrate(db, NULL) == 0);
    suite_script(db, "INSERT INTO schema_version VALUES (9999, 'from_the_future', 0)");
    CHECK(store_migrate(db, &err) != 0);
    CHECK_INT(err.code, ERR_SCHEMA);
    CHECK(strstr(err.text, "9999") != NULL);
    CHECK(strstr(err.text, "newer") != NULL);
    db_close(db);
}
