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
    CHECK(store_schema_check(db, &err) != 0);
    CHECK_INT(err.code, ERR_SCHEMA);
    db_close(db);
}

TEST(a_database_of_a_newer_program_is_refused_with_a_sentence)
{
    struct db *db = suite_open(suite_new_database(), DB_WRITER);
    struct error err = { 0 };

    CHECK(store_migrate(db, NULL) == 0);
    suite_script(db, "INSERT INTO schema_version (number, name, applied_at)"
                     " VALUES (9999, 'from_the_future', 0)");
    CHECK(store_migrate(db, &err) != 0);
    CHECK_INT(err.code, ERR_SCHEMA);
    CHECK(strstr(err.text, "9999") != NULL);
    CHECK(strstr(err.text, "newer") != NULL);
    db_close(db);
}

/* The program's migration with this statement, for this database. */
static const char *script_of(struct db *db, const char *statement)
{
    for (size_t i = 0; i < n_migrations; i++)
        if (strstr(migrations[i].sqlite, statement) != NULL)
            return strcmp(db_dialect(db), "postgres") == 0 ? migrations[i].postgres
                                                           : migrations[i].sqlite;
    fail_msg("there is no migration with %s", statement);
    return NULL;
}

TEST(of_users_from_before_only_those_of_the_platform_are_confirmed)
{
    static const struct db_query others = {
        .sql = "SELECT COUNT(*) FROM users WHERE confirmed <> 1 AND user_id IN ('boss', 'sso')"
               " OR confirmed <> 0 AND user_id IN ('one', 'two', 'none')"
    };
    static const struct db_query elsewhere = {
        .sql = "SELECT COUNT(*) FROM users u LEFT JOIN tenants t ON t.tenant_id = u.made_in"
               " WHERE COALESCE(t.slug, '') <> CASE user_id WHEN 'one' THEN 't7' ELSE '' END"
    };
    struct db *db = suite_open(suite_new_database(), DB_WRITER);

    CHECK(store_migrate(db, NULL) == 0);
    suite_script(db,
                 "ALTER TABLE users DROP COLUMN confirmed; ALTER TABLE users DROP COLUMN made_in;"
                 " INSERT INTO users (user_id, email, password, platform_role, created_at) VALUES"
                 " ('boss', 'a@x', 'p', 0, 1), ('sso', 'b@x', '', 1, 1), ('one', 'c@x', 'p', 1, 1),"
                 " ('two', 'd@x', 'p', 1, 1), ('none', 'e@x', 'p', 1, 1);"
                 " INSERT INTO user_identities (issuer, subject, user_id, created_at)"
                 " VALUES ('i', 's', 'sso', 1);"
                 " INSERT INTO tenants (slug, name, max_agents, rate_limit, created_at)"
                 " VALUES ('t7', 't7', 1, 1, 1), ('t8', 't8', 1, 1, 1);"
                 " INSERT INTO user_roles (tenant_id, user_id, role)"
                 " SELECT tenant_id, 'two', 0 FROM tenants;"
                 " INSERT INTO user_roles (tenant_id, user_id, role)"
                 " SELECT tenant_id, 'one', 0 FROM tenants WHERE slug = 't7'");
    suite_script(db, script_of(db, "ALTER TABLE users ADD COLUMN confirmed"));
    CHECK_INT(suite_int(db, &others), 0);
    CHECK_INT(suite_int(db, &elsewhere), 0);
    db_close(db);
}
