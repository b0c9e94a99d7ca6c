/* test_postgres_origin.c - which server and database a connection says that it leads to. */
#include <stdio.h>
#include <string.h>

#include "db/postgres/postgres.h"
#include "suite.h"

static const struct db_query one = { .sql = "SELECT 1" };

static bool is_same(const struct db_origin *a, const struct db_origin *b)
{
    return a->system == b->system && a->timeline == b->timeline && a->started == b->started &&
           a->database == b->database;
}

TEST(all_connections_of_a_database_have_one_origin)
{
    static const enum db_mode modes[] = { DB_READER, DB_WRITER, DB_MAINTENANCE };
    const char *url = suite_new_database();
    struct db *first = suite_open(url, DB_WRITER), *other;
    const struct db_origin origin = db_origin(first);

    CHECK(origin.system != 0 && origin.started != 0 && origin.database != 0);
    CHECK_INT(origin.timeline, 1);
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        struct db_origin same;

        other = suite_open(url, modes[i]);
        other->origin = (struct db_origin){ 0 };
        db_postgres_drop((struct postgres *)other);
        CHECK(db_exec(other, &one, DB_NO_ARGS, NULL, NULL, NULL) != 0);
        CHECK(db_ping(other, NULL) == 0);
        same = db_origin(other);
        CHECK(is_same(&same, &origin));
        db_close(other);
    }
    db_close(first);
}

TEST(a_database_that_is_created_again_is_another)
{
    struct db *db = suite_open(suite_new_database(), DB_READER);
    const struct db_origin before = db_origin(db);
    struct db_origin after;

    db_close(db);
    db = suite_open(suite_new_database(), DB_READER);
    after = db_origin(db);
    CHECK(after.system == before.system && after.started == before.started);
    CHECK(after.database != before.database);
    db_close(db);
}

TEST(a_role_that_may_not_ask_works_without)
{
    const char *url = suite_new_database();
    struct db *admin = suite_open(url, DB_WRITER), *db;
    char as_plain[256];

    suite_script(admin, "CREATE ROLE muster_plain LOGIN;"
                        "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC");
    (void)snprintf(as_plain, sizeof(as_plain), "postgresql://muster_plain%s", strchr(url, '@'));
    db = suite_open(as_plain, DB_READER);
    CHECK_INT(db_origin(db).system, 0);
    CHECK(db_begin(db, NULL) == 0);
    CHECK_INT(suite_int(db, &one), 1);
    db_rollback(db);
    CHECK_INT(suite_int(db, &one), 1);
    CHECK_INT(db_origin(db).timeline, 0);
    db_close(db);
    suite_script(admin, "DROP ROLE muster_plain");
    db_close(admin);
}

/* Else the one with the earlier timeline would be refused. */
TEST(servers_of_citus_that_were_copied_from_one_are_told_apart)
{
    struct db *db = suite_open(suite_new_database(), DB_READER);
    const struct db_origin origin = db_origin(db);

    ((struct postgres *)db)->group = 3; /* the server has no Citus that would say so */
    db_postgres_drop((struct postgres *)db);
    CHECK(db_ping(db, NULL) == 0);
    CHECK(db_origin(db).system != 0 && db_origin(db).system != origin.system);
    db_close(db);
}

static void expect_refused(int r, const struct error *err)
{
    CHECK(r != 0);
    CHECK_INT(err->code, ERR_UNAVAILABLE);
    CHECK(strstr(err->text, "whose place a standby took") != NULL);
}

static bool ignore_text(void *ctx, const struct db_row *row)
{
    (void)ctx;
    (void)row;
    return true;
}

static void hear_none(void *ctx, struct str text)
{
    (void)ctx;
    (void)text;
}

/* As if another connection of this process had been to the server that took its place. */
TEST(a_server_whose_place_was_taken_is_used_by_no_connection)
{
    static const enum db_mode modes[] = { DB_READER, DB_WRITER };
    const char *url = suite_new_database();

    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        struct db *db = suite_open(url, modes[i]);
        struct error err = { 0 };

        db->origin.timeline--;
        expect_refused(db_begin(db, &err), &err);
        CHECK(db_ping(db, NULL) == 0); /* the server in its place, here the same */
        CHECK(db_begin(db, NULL) == 0);
        db->origin.timeline--;
        CHECK_INT(suite_int(db, &one), 1); /* a transaction is not torn */
        db_rollback(db);
        expect_refused(db_exec(db, &one, DB_NO_ARGS, ignore_text, NULL, &err), &err);
        CHECK(db_ping(db, NULL) == 0);
        db->origin.timeline--;
        expect_refused(db_hear(db, 0, hear_none, NULL, &err), &err);
        db_close(db);
    }
}
