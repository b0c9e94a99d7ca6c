/* test_driver_transactions.c - what is seen when, what is refused, and what a failure leaves. */
#include "base/clock.h"
#include "db/embedded.h"
#include "db/servers.h"
#include "suite.h"

static const struct db_query insert = { .sql = "INSERT INTO item (id, name) VALUES ($1, $2)" };
static const struct db_query count = { .sql = "SELECT COUNT(*) FROM item" };

static const char *const schema = "CREATE TABLE item (id BIGINT PRIMARY KEY, name TEXT NOT NULL);"
                                  "CREATE INDEX item_name ON item (name);"
                                  "CREATE TABLE part (item BIGINT NOT NULL REFERENCES item (id));";

static int add(struct db *db, int64_t id, struct error *err)
{
    return db_exec(db, &insert, DB_ARGS(db_int(id), db_text(STR_LIT("n"))), NULL, NULL, err);
}

static struct db *open_items(const char **ret_url)
{
    const char *url = suite_new_database();
    struct db *db = suite_open(url, DB_WRITER);

    suite_script(db, schema);
    if (ret_url != NULL)
        *ret_url = url;
    return db;
}

TEST(only_what_is_committed_is_seen_by_another_connection)
{
    const char *url;
    struct db *writer = open_items(&url), *reader = suite_open(url, DB_READER);

    CHECK(db_begin(writer, NULL) == 0);
    CHECK(add(writer, 1, NULL) == 0);
    CHECK_INT(suite_int(writer, &count), 1);
    CHECK_INT(suite_int(reader, &count), 0);
    CHECK(db_commit(writer, NULL) == 0);
    CHECK_INT(suite_int(reader, &count), 1);

    CHECK(db_begin(writer, NULL) == 0);
    CHECK(add(writer, 2, NULL) == 0);
    db_rollback(writer);
    CHECK_INT(suite_int(writer, &count), 1);
    db_rollback(writer); /* nothing to do */

    CHECK(add(writer, 3, NULL) == 0); /* commits by itself */
    CHECK_INT(suite_int(reader, &count), 2);
    db_close(reader);
    db_close(writer);
}

TEST(a_reader_with_a_maximum_ends_what_takes_longer_and_nothing_else)
{
    static const struct db_query endless = {
        .sql = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"
               " SELECT COUNT(*) FROM (SELECT n FROM c LIMIT 1000000000) AS counted",
    };
    const char *url;
    struct db *writer = open_items(&url), *reader = suite_open(url, DB_READER);
    struct error err = { 0 };
    int64_t began_us = clock_raw_us(), n = 0;

    CHECK(db_set_read_max(reader, 100000, NULL) == 0);
    CHECK(db_exec(reader, &endless, DB_NO_ARGS, suite_read_int, &n, &err) != 0);
    CHECK_INT(err.code, ERR_BUSY);
    CHECK(db_begin(reader, NULL) == 0);
    CHECK(db_exec(reader, &endless, DB_NO_ARGS, suite_read_int, &n, &err) != 0);
    CHECK_INT(err.code, ERR_BUSY);
    db_rollback(reader);
    CHECK(clock_raw_us() - began_us < 8000000); /* without it, twice 4.5 s and more */
    CHECK_INT(suite_int(reader, &count), 0);
    CHECK(db_set_read_max(reader, 0, NULL) == 0);
    CHECK_INT(suite_int(reader, &count), 0);
    db_close(reader);
    db_close(writer);
}

TEST(a_reader_has_one_view_from_begin_on)
{
    const char *url;
    struct db *writer = open_items(&url), *reader = suite_open(url, DB_READER);

    CHECK(db_begin(reader, NULL) == 0);
    CHECK(add(writer, 1, NULL) == 0);
    CHECK_INT(suite_int(reader, &count), 0);
    CHECK(db_commit(reader, NULL) == 0);
    CHECK_INT(suite_int(reader, &count), 1);
    db_close(reader);
    db_close(writer);
}

TEST(a_reader_cannot_write)
{
    const char *url;
    struct db *writer = open_items(&url), *reader = suite_open(url, DB_READER);

    for (int inside = 0; inside < 2; inside++) {
        struct error err = { 0 };

        if (inside)
            CHECK(db_begin(reader, NULL) == 0);
        CHECK(add(reader, 1, &err) != 0);
        CHECK_INT(err.code, ERR_INTERNAL);
        CHECK(db_script(reader, "DELETE FROM item", NULL) != 0);
        db_rollback(reader);
    }
    CHECK_INT(suite_int(writer, &count), 0);
    db_close(reader);
    db_close(writer);
}

TEST(what_breaks_a_constraint_is_a_conflict_and_can_be_rolled_back)
{
    static const struct db_query breaks[] = {
        { .sql = "INSERT INTO item (id, name) VALUES (1, 'again')" },
        { .sql = "INSERT INTO item (id, name) VALUES (2, NULL)" },
        { .sql = "INSERT INTO part (item) VALUES (99)" },
    };
    struct db *db = open_items(NULL);

    CHECK(add(db, 1, NULL) == 0);
    for (size_t i = 0; i < COUNT_OF(breaks); i++) {
        struct error err = { 0 };

        CHECK(db_begin(db, NULL) == 0);
        CHECK(add(db, 5, NULL) == 0);
        CHECK(db_exec(db, &breaks[i], DB_NO_ARGS, NULL, NULL, &err) != 0);
        CHECK_INT(err.code, ERR_CONSTRAINT);
        CHECK(err.text[0] != '\0');
        db_rollback(db);
        CHECK_INT(suite_int(db, &count), 1);
    }
    db_close(db);
}

TEST(begin_and_commit_come_in_pairs)
{
    struct db *db = open_items(NULL);
    struct error err = { 0 };

    CHECK(db_commit(db, &err) != 0);
    CHECK_INT(err.code, ERR_INTERNAL);
    CHECK(db_begin(db, NULL) == 0);
    CHECK(db_begin(db, &err) != 0);
    CHECK_INT(err.code, ERR_INTERNAL);
    CHECK(add(db, 1, NULL) == 0);
    CHECK(db_commit(db, NULL) == 0);
    CHECK_INT(suite_int(db, &count), 1);
    db_close(db);
}

TEST(a_script_in_a_transaction_is_all_or_nothing)
{
    struct db *db = open_items(NULL);
    struct error err = { 0 };

    CHECK(db_begin(db, NULL) == 0);
    CHECK(db_script(db, "INSERT INTO item VALUES (1, 'a'); INSERT INTO nowhere VALUES (1)", &err) !=
          0);
    CHECK_INT(err.code, ERR_INTERNAL);
    db_rollback(db);
    CHECK_INT(suite_int(db, &count), 0);

    CHECK(db_begin(db, NULL) == 0);
    suite_script(db, "INSERT INTO item VALUES (1, 'a;b');\n-- done\nINSERT INTO item "
                     "VALUES (2, '$1');");
    CHECK(db_commit(db, NULL) == 0);
    CHECK_INT(suite_int(db, &count), 2);
    db_close(db);
}

TEST(only_readers_of_the_embedded_store_can_hurry)
{
    const char *url;
    struct db *writer = open_items(&url), *reader = suite_open(url, DB_READER);
    struct db *keeper = suite_open(url, DB_MAINTENANCE);
    const bool embedded = strcmp(db_dialect(reader), "sqlite") == 0;

    CHECK(db_set_deadline(reader, 1) == embedded);
    CHECK((db_exec(reader, &count, DB_NO_ARGS, NULL, NULL, NULL) != 0) == embedded);
    CHECK(!db_set_deadline(writer, 1) && !db_set_deadline(keeper, 1));
    CHECK_INT(suite_int(writer, &count), 0);
    CHECK_INT(suite_int(keeper, &count), 0);
    db_close(keeper);
    db_close(reader);
    db_close(writer);
}

TEST(a_url_of_neither_database_is_refused_without_being_quoted)
{
    static const char *const urls[] = { "", "mysql://u:hunter2@h/x", "sqlite",
                                        "sqlite:", "postgresql:hunter2" };

    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        struct error err = { 0 };
        struct db *db = NULL;

        CHECK(db_open(urls[i], DB_WRITER, &db, &err) != 0);
        CHECK_INT(err.code, ERR_INVALID);
        CHECK(strstr(err.text, "hunter2") == NULL);
        CHECK(db == NULL);
    }
}

static int add_later(struct db *db, int64_t id, struct str name, struct error *err)
{
    return db_run_later(db, &insert, DB_ARGS(db_int(id), db_text(name)), err);
}

TEST(what_is_run_later_is_there_for_the_next_statement_and_the_commit)
{
    static const struct db_query first = { .sql = "SELECT MIN(id) FROM item" };
    struct db *db = open_items(NULL);

    CHECK(db_begin(db, NULL) == 0);
    CHECK(add_later(db, 1, STR_LIT("a"), NULL) == 0);
    CHECK(add_later(db, 2, STR_LIT("b"), NULL) == 0);
    CHECK_INT(suite_int(db, &count), 2);
    CHECK(add_later(db, 3, STR_LIT("c"), NULL) == 0);
    CHECK_INT(suite_int(db, &first), 1); /* prepared after it was sent */
    CHECK(add_later(db, 4, STR_LIT("d"), NULL) == 0);
    CHECK(add_later(db, 5, str_from("bad\0", 4), NULL) != 0); /* is not sent */
    CHECK(db_commit(db, NULL) == 0);
    CHECK_INT(suite_int(db, &count), 4);

    CHECK(db_begin(db, NULL) == 0);
    CHECK(add_later(db, 6, STR_LIT("e"), NULL) == 0);
    db_rollback(db);
    CHECK_INT(suite_int(db, &count), 4);
    db_close(db);
}

/* Where the failure shows, at once or with the next statement or the commit, is the database's. */
TEST(what_is_run_later_and_fails_fails_the_transaction)
{
    for (int ending = 0; ending < 3; ending++) {
        struct db *db = open_items(NULL);
        struct error err = { 0 };
        bool failed;

        CHECK(add(db, 1, NULL) == 0);
        CHECK(db_begin(db, NULL) == 0);
        CHECK(add(db, 2, NULL) == 0);
        failed = add_later(db, 1, STR_LIT("twice"), &err) != 0;
        if (!failed && ending == 0)
            failed = db_commit(db, &err) != 0;
        else if (!failed && ending == 1)
            failed = db_run(db, &count, DB_NO_ARGS, &err) != 0;
        else if (!failed) /* another one that waits */
            failed = add_later(db, 3, STR_LIT("n"), NULL) != 0 || db_commit(db, &err) != 0;
        CHECK(failed);
        CHECK_INT(err.code, ERR_CONSTRAINT);
        db_rollback(db);
        CHECK_INT(suite_int(db, &count), 1);
        CHECK(db_begin(db, NULL) == 0); /* and the connection goes on */
        CHECK(add(db, 4, NULL) == 0);
        CHECK(db_commit(db, NULL) == 0);
        CHECK_INT(suite_int(db, &count), 2);
        db_close(db);
    }
}

TEST(a_plan_that_is_kept_is_kept_for_its_own_statements_only)
{
    static const struct db_query kept = { .sql = "SELECT COUNT(*) FROM item WHERE id >= $1",
                                          .keeps_plan = true };
    static const struct db_query mode = {
        .sqlite = "SELECT 1",
        .postgres =
            "SELECT CAST(current_setting('plan_cache_mode') = 'force_custom_plan' AS INTEGER)",
    };
    struct db *db = open_items(NULL);
    int64_t n = 0;

    for (int i = 0; i < 1000; i++) { /* it is planned again several times */
        CHECK(add(db, i, NULL) == 0 && db_begin(db, NULL) == 0);
        CHECK(db_exec(db, &kept, DB_ARGS(db_int(0)), db_read_int, &n, NULL) == 0);
        CHECK(db_commit(db, NULL) == 0 && db_begin(db, NULL) == 0);
        CHECK(db_exec(db, &kept, DB_ARGS(db_int(i / 2)), db_read_int, &n, NULL) == 0);
        CHECK_INT(n, i - i / 2 + 1);
        if (i % 3 == 0) {
            CHECK_INT(suite_int(db, &mode), 1);
            CHECK(db_exec(db, &kept, DB_ARGS(db_int(0)), db_read_int, &n, NULL) == 0);
            CHECK_INT(n, i + 1);
        }
        CHECK(db_commit(db, NULL) == 0);
    }
    db_close(db);
}
