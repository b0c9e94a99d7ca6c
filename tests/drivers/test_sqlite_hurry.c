/* test_sqlite_hurry.c - a reader in a hurry gives up in time, and says so. */
#include "db/embedded.h"
#include "db/sqlite/sqlite.h"
#include "hooks/clock_hook.h"
#include "suite.h"

/* Both are less than what any statement may take. */
enum { ROWS = 100, DEADLINE_US = 4000000, LATE_US = 4500000 };

static const struct db_query all = { .sql = "SELECT id FROM item ORDER BY id" };
static const struct db_query count = { .sql = "SELECT COUNT(*) FROM item" };

/* Some thousand steps of SQLite's machine, and never a row. */
static const struct db_query none = {
    .sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
           " SELECT i FROM n WHERE i < 0",
};

static struct db *writer, *reader;
static sqlite3 *handle; /* the reader's */

static void begin(void)
{
    static const struct db_query insert = { .sql = "INSERT INTO item (id) VALUES ($1)" };
    const char *url = suite_new_database();

    writer = suite_open(url, DB_WRITER);
    suite_script(writer, "CREATE TABLE item (id INTEGER PRIMARY KEY)");
    for (int64_t i = 0; i < ROWS; i++)
        suite_exec(writer, &insert, DB_ARGS(db_int(i)));
    reader = suite_open(url, DB_READER);
    handle = ((struct sqlite *)reader)->handle;
}

static void end(void)
{
    db_close(reader);
    db_close(writer);
}

static void hurry(void)
{
    CHECK(db_set_deadline(reader, clock_raw_us() + DEADLINE_US));
}

static void let_time_pass(void)
{
    clock_advance_raw_us(LATE_US);
}

/* As each statement begins. */
static int on_statement(unsigned kind, void *ctx, void *statement, void *sql)
{
    (void)kind;
    (void)ctx;
    (void)statement;
    (void)sql;
    let_time_pass();
    return 0;
}

static void pass_time_within_statements(bool on)
{
    CHECK(sqlite3_trace_v2(handle, on ? SQLITE_TRACE_STMT : 0, on ? on_statement : NULL, NULL) ==
          SQLITE_OK);
}

static bool count_three(void *ctx, const struct db_row *row)
{
    (void)row;
    if (++*(int *)ctx == 3)
        let_time_pass();
    return true;
}

TEST(it_ends_between_rows_and_not_as_a_success)
{
    struct error err = { 0 };
    int n = 0;

    begin();
    hurry();
    CHECK(db_exec(reader, &all, DB_NO_ARGS, count_three, &n, &err) != 0);
    CHECK_INT(err.code, ERR_BUSY);
    CHECK_INT(n, 3);
    end();
}

static bool take_text(void *ctx, const struct db_row *row)
{
    *(size_t *)ctx += db_get_text(row, 0).len;
    return false; /* one is enough; it is too much all the same */
}

TEST(what_gives_too_much_is_in_vain_too)
{
    static const struct db_query long_text = { .sql = "SELECT hex(zeroblob($1))" };
    static const struct {
        int64_t bytes;
        bool fits;
    } rows[] = { { 10000, true }, { 10000, false }, { 20000, false } };
    struct error err = { 0 };
    size_t got = 0;

    begin();
    hurry();
    for (size_t i = 0; i < COUNT_OF(rows); i++) { /* the second one counts with the first */
        const struct db_args args = DB_ARGS(db_int(rows[i].bytes));

        CHECK(db_has_deadline(reader));
        CHECK_INT(db_exec(reader, &long_text, args, take_text, &got, &err) == 0, rows[i].fits);
        CHECK_INT(err.code, rows[i].fits ? ERR_NONE : ERR_BUSY);
        if (i > 0)
            hurry();
    }
    CHECK(db_set_deadline(reader, 0));
    CHECK(!db_has_deadline(reader));
    CHECK(db_exec(reader, &long_text, DB_ARGS(db_int(20000)), take_text, &got, NULL) == 0);
    end();
}

TEST(a_statement_without_rows_ends_too)
{
    struct error err = { 0 };

    begin();
    CHECK(db_exec(reader, &none, DB_NO_ARGS, NULL, NULL, &err) == 0);
    hurry();
    pass_time_within_statements(true);
    CHECK(db_exec(reader, &none, DB_NO_ARGS, NULL, NULL, &err) != 0);
    CHECK_INT(err.code, ERR_BUSY);
    end();
}

TEST(without_hurry_all_is_as_before)
{
    int n = 0;

    begin();
    hurry();
    let_time_pass();
    CHECK(db_exec(reader, &all, DB_NO_ARGS, NULL, NULL, NULL) != 0);
    CHECK(db_set_deadline(reader, 0));
    CHECK(db_exec(reader, &all, DB_NO_ARGS, count_three, &n, NULL) == 0);
    CHECK_INT(n, ROWS);
    end();
}

/* SQLite counts the steps of a statement over all its runs, so one of some hundred BEGINs has the
 * clock looked at. */
TEST(a_view_that_is_late_is_not_left_open)
{
    begin();
    for (int i = 0; i < 1000; i++) {
        struct error err = { 0 };

        hurry();
        pass_time_within_statements(true);
        CHECK(db_begin(reader, &err) != 0);
        CHECK_INT(err.code, ERR_BUSY);
        CHECK(sqlite3_get_autocommit(handle));
        pass_time_within_statements(false);
    }
    CHECK(db_set_deadline(reader, 0));
    CHECK(db_begin(reader, NULL) == 0);
    CHECK_INT(suite_int(reader, &count), ROWS);
    db_rollback(reader);
    end();
}

TEST(a_view_in_which_time_ran_out_can_be_left)
{
    int n = 0;

    begin();
    hurry();
    CHECK(db_begin(reader, NULL) == 0);
    CHECK(db_exec(reader, &all, DB_NO_ARGS, count_three, &n, NULL) != 0);
    db_rollback(reader);
    CHECK(sqlite3_get_autocommit(handle));
    CHECK(db_set_deadline(reader, 0));
    suite_script(writer, "DELETE FROM item");
    CHECK_INT(suite_int(reader, &count), 0);
    end();
}

TEST(a_lock_is_not_waited_for)
{
    static const struct {
        bool hurries;
        int waits_ms;
    } rows[] = { { false, 5000 }, { true, 0 }, { false, 5000 } };
    static const struct db_query timeout = { .sql = "PRAGMA busy_timeout" };

    begin();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK(db_set_deadline(reader, rows[i].hurries ? clock_raw_us() + DEADLINE_US : 0));
        CHECK_INT(suite_int(reader, &timeout), rows[i].waits_ms);
    }
    end();
}
