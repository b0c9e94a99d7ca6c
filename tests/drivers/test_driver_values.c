/* test_driver_values.c - what goes in comes out, the same from both databases. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "suite.h"

/* clang-format off */
static const struct db_query create = {
    .sqlite   = "CREATE TABLE sample (id BIGINT PRIMARY KEY, i BIGINT, r DOUBLE PRECISION, t TEXT, b BLOB)",
    .postgres = "CREATE TABLE sample (id BIGINT PRIMARY KEY, i BIGINT, r DOUBLE PRECISION, t TEXT, b BYTEA)",
};
static const struct db_query insert = {
    .sql = "INSERT INTO sample (id, i, r, t, b) VALUES ($1, $2, $3, $4, $5)",
};
static const struct db_query select_one = {
    .sql = "SELECT i, r, t, b FROM sample WHERE id = $1",
};
static const struct db_query select_ids = { .sql = "SELECT id FROM sample ORDER BY id" };
static const struct db_query count = { .sql = "SELECT COUNT(*) FROM sample" };
/* clang-format on */

static struct db *open_sample(void)
{
    struct db *db = suite_open(suite_new_database(), DB_WRITER);

    suite_exec(db, &create, DB_NO_ARGS);
    return db;
}

static void check_bytes(struct str actual, struct db_value expected)
{
    CHECK(str_is_null(actual) == (expected.type == DB_NULL));
    if (expected.type != DB_NULL) {
        CHECK_INT(actual.len, expected.bytes.len);
        CHECK(str_eq(actual, expected.bytes));
    }
}

static bool check_row(void *ctx, const struct db_row *row)
{
    const struct db_value *expected = ctx; /* i, r, t, b */

    for (unsigned i = 0; i < 4; i++)
        CHECK(db_is_null(row, i) == (expected[i].type == DB_NULL));
    CHECK_INT(db_get_int(row, 0), expected[0].type == DB_NULL ? 0 : expected[0].integer);
    CHECK(db_get_real(row, 1) == (expected[1].type == DB_NULL ? 0.0 : expected[1].real));
    check_bytes(db_get_text(row, 2), expected[2]);
    check_bytes(db_get_blob(row, 3), expected[3]);
    check_bytes(db_get_text(row, 2), expected[2]); /* asking does not disturb */
    return true;
}

static void round_trip(struct db *db, int64_t id, struct db_value *columns)
{
    const struct db_args args = DB_ARGS(db_int(id), columns[0], columns[1], columns[2], columns[3]);
    struct error err = { 0 };

    suite_exec(db, &insert, args);
    CHECK_INT(db_changes(db), 1);
    if (db_exec(db, &select_one, args, check_row, columns, &err) != 0)
        fail_msg("%s", err.text);
    CHECK_INT(db_changes(db), 0);
}

TEST(values_come_back_as_they_went_in)
{
    static char zeros[300];
    char *large = mem_new(MIB(1));
    struct db *db = open_sample();

    memset(large, 'x', MIB(1));
    /* The first row is all NULL: no type may be learnt from it. */
    struct db_value rows[][4] = {
        { db_null(), db_null(), db_null(), db_null() },
        { db_int(0), db_real(0), db_text(STR_LIT("")), db_blob(STR_LIT("")) },
        { db_int(INT64_MAX), db_real(DBL_MAX), db_text(STR_LIT("a'b\"c\\d\n\t\x7f")),
          db_blob(STR_LIT("\0\1\2\xff\xfe\0")) },
        { db_int(INT64_MIN), db_real(-DBL_MAX), db_text(STR_LIT("h\xc3\xa9llo \xf0\x9f\x90\x98")),
          db_blob(STR_LIT("\\x00")) },
        { db_int(-1), db_real(DBL_TRUE_MIN), db_text(STR_LIT("\\x41")),
          db_blob(str_from(zeros, sizeof(zeros))) },
        { db_int(42), db_real(0.1), db_text(str_from(large, MIB(1))),
          db_blob(str_from(large, MIB(1))) },
        { db_null(), db_real(1.0 / 3), db_null(), db_blob(STR_LIT("b")) },
        { db_null(), db_null(), db_text(str_from("abcdef", 3)), db_blob(str_from("abcdef", 2)) },
        { db_int(1), db_real(INFINITY), db_text(STR_LIT("t")), db_null() },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        round_trip(db, (int64_t)i, rows[i]);
    CHECK_INT(suite_int(db, &count), COUNT_OF(rows));
    db_close(db);
    free(large);
}

TEST(a_text_with_nul_is_refused_and_not_cut)
{
    const struct db_args args =
        DB_ARGS(db_int(1), db_null(), db_null(), db_text(STR_LIT("before\0after")), db_null());
    struct db *db = open_sample();
    struct error err = { 0 };

    CHECK(db_exec(db, &insert, args, NULL, NULL, &err) != 0);
    CHECK_INT(err.code, ERR_INVALID);
    CHECK_INT(suite_int(db, &count), 0);
    db_close(db);
}

static bool check_nan(void *ctx, const struct db_row *row)
{
    *(bool *)ctx = db_is_null(row, 1);
    return true;
}

TEST(not_a_number_is_stored_as_null)
{
    const struct db_args args = DB_ARGS(db_int(1), db_null(), db_real(NAN), db_null(), db_null());
    struct db *db = open_sample();
    bool is_null = false;

    suite_exec(db, &insert, args);
    CHECK(db_exec(db, &select_one, args, check_nan, &is_null, NULL) == 0);
    CHECK(is_null);
    db_close(db);
}

static bool check_converted(void *ctx, const struct db_row *row)
{
    ++*(int *)ctx;
    CHECK_INT(db_get_int(row, 0), 12);
    CHECK_INT(db_get_int(row, 1), -3); /* cut, not rounded */
    CHECK_INT(db_get_int(row, 2), 1);
    CHECK(db_get_real(row, 0) == 12.0);
    CHECK_STR(db_get_text(row, 0), "12");
    CHECK_INT(db_get_int(row, 3), 7); /* SUM is wider than its column in PostgreSQL */
    return true;
}

TEST(a_column_can_be_read_as_another_type)
{
    static const struct db_query q = {
        .sql = "SELECT '12', CAST(-3.9 AS DOUBLE PRECISION), 2 > 1, SUM(x.n)"
               " FROM (SELECT CAST(3 AS BIGINT) AS n UNION ALL SELECT 4) x",
    };
    struct db *db = open_sample();
    int n = 0;

    CHECK(db_exec(db, &q, DB_NO_ARGS, check_converted, &n, NULL) == 0);
    CHECK_INT(n, 1);
    db_close(db);
}

static bool read_text(void *ctx, const struct db_row *row)
{
    CHECK_STR(db_get_text(row, 0), ctx);
    return true;
}

TEST(parameters_are_numbered_not_counted)
{
    static const struct db_query q = {
        .sql = "SELECT CAST($3 AS TEXT) || CAST($1 AS TEXT) || CAST($2 AS TEXT) ||"
               " CAST($3 AS TEXT) || CAST($1 AS TEXT)",
    };
    const struct db_args args =
        DB_ARGS(db_text(STR_LIT("1")), db_text(STR_LIT("2")), db_text(STR_LIT("3")));
    struct db *db = open_sample();

    for (int i = 0; i < 3; i++)
        CHECK(db_exec(db, &q, args, read_text, "31231", NULL) == 0);
    db_close(db);
}

TEST(a_query_that_is_not_one_statement_or_lacks_arguments_is_a_bug)
{
    static const struct db_query queries[] = {
        { .sql = "SELECT id FROM sample WHERE id = $1 AND i = $2 AND i < $3" },
        { .sql = "SELECT id FROM sample WHERE id = $2" },
        { .sql = "SELECT id FROM sample WHERE id = $3" },
        { .sql = "SELECT 1; SELECT 2" },
        { .sql = "SELECT nothing FROM nowhere" },
    };
    const struct db_args args = DB_ARGS(db_int(1), db_int(2));
    struct db *db = open_sample();

    for (size_t i = 0; i < COUNT_OF(queries); i++) {
        struct error err = { 0 };

        CHECK(db_exec(db, &queries[i], args, NULL, NULL, &err) != 0);
        CHECK_INT(err.code, ERR_INTERNAL);
    }
    CHECK_INT(suite_int(db, &count), 0); /* and the connection is still good */
    db_close(db);
}

TEST(changes_counts_rows_of_the_last_statement)
{
    static const struct {
        struct db_query query;
        int64_t changes;
    } rows[] = {
        { { .sql = "INSERT INTO sample (id, i) VALUES (1, 1), (2, 2), (3, 3)" }, 3 },
        { { .sql = "SELECT * FROM sample" }, 0 },
        { { .sql = "INSERT INTO sample (id) VALUES (3), (4) ON CONFLICT DO NOTHING" }, 1 },
        { { .sql = "INSERT INTO sample (id) VALUES (3) ON CONFLICT DO NOTHING" }, 0 },
        { { .sql = "UPDATE sample SET i = 5 WHERE id < 3" }, 2 },
        { { .sql = "CREATE TABLE other (a BIGINT)" }, 0 },
        { { .sql = "DELETE FROM sample WHERE id = 77" }, 0 },
        { { .sql = "UPDATE sample SET i = 5 WHERE id < 3 RETURNING id" }, 2 },
        { { .sql = "DELETE FROM sample" }, 4 },
    };
    struct db *db = open_sample();

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        suite_exec(db, &rows[i].query, DB_NO_ARGS);
        CHECK_INT(db_changes(db), rows[i].changes);
    }
    db_close(db);
}

struct stop {
    int seen, after;
};

static bool stop_after(void *ctx, const struct db_row *row)
{
    struct stop *s = ctx;

    (void)row;
    return ++s->seen < s->after;
}

TEST(on_row_can_stop_early_and_what_was_written_stays)
{
    static const struct db_query series = {
        .sql = "WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 5000)"
               " INSERT INTO sample (id) SELECT n FROM s WHERE n > 0 ON CONFLICT DO NOTHING"
               " RETURNING id",
    };
    struct db *db = open_sample();
    struct stop s = { .after = 3 };

    CHECK(db_exec(db, &series, DB_NO_ARGS, stop_after, &s, NULL) == 0);
    CHECK_INT(s.seen, 3);
    CHECK_INT(db_changes(db), 5000);
    s = (struct stop){ .after = 2 };
    CHECK(db_exec(db, &select_ids, DB_NO_ARGS, stop_after, &s, NULL) == 0);
    CHECK_INT(s.seen, 2);
    CHECK_INT(suite_int(db, &count), 5000);
    CHECK_INT(suite_int(db, &select_ids), 5000); /* the same statement again, to its end */
    db_close(db);
}

TEST(more_statements_than_the_cache_began_with_are_kept_apart)
{
    static struct db_query queries[200];
    static char texts[200][32];
    struct db *db = open_sample();

    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < COUNT_OF(queries); i++) {
            (void)snprintf(texts[i], sizeof(texts[i]), "SELECT %zu", i);
            queries[i].sql = texts[i];
            CHECK_INT(suite_int(db, &queries[i]), i);
        }
    db_close(db);
}
