/* test_postgres_array.c - what goes into an array of PostgreSQL comes out of it. */
#include "db/lists.h"
#include "suite.h"

enum { ROWS_MAX = 64 };

struct reader {
    struct arena arena;
    struct str texts[ROWS_MAX];
    int64_t numbers[ROWS_MAX];
    bool nulls[ROWS_MAX];
    size_t n;
};

static bool read_row(void *ctx, const struct db_row *row)
{
    struct reader *r = ctx;

    CHECK(r->n < ROWS_MAX);
    r->numbers[r->n] = db_get_int(row, 0);
    r->nulls[r->n] = db_is_null(row, 0);
    r->texts[r->n++] = arena_copy(&r->arena, db_get_text(row, 1));
    return true;
}

TEST(arrays_come_back_as_they_went_in)
{
    static const struct db_query q = {
        .postgres = "SELECT x.n, x.t FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY"
                    " AS x(n, t, place) ORDER BY x.place",
    };
    static const struct str texts[] = {
        STR_INIT(""),
        STR_INIT("NULL"),
        STR_INIT("null"),
        { NULL, 0 },
        STR_INIT("\""),
        STR_INIT("\\"),
        STR_INIT("\\\""),
        STR_INIT("\"\"\\\\\""),
        STR_INIT("{}"),
        STR_INIT("{a,b}"),
        STR_INIT(","),
        STR_INIT(" leading and trailing "),
        STR_INIT("a\nb\r\nc\td\v\f\x01\x1f\x7f"),
        STR_INIT("\\n\\x41\\101"),
        STR_INIT("'; DROP TABLE x; --"),
        STR_INIT("$1 $$ %s %n"),
        STR_INIT("\xc3\xa4\xe4\xb8\xad\xf0\x9f\x9a\x80\xef\xbf\xbd\xef\xbb\xbf"),
        STR_INIT("[1:2]={x,y}"),
    };
    static const int64_t numbers[] = { 0, INT64_MIN, INT64_MAX, -1 };
    struct db *db = suite_open(suite_new_database(), DB_WRITER);
    struct reader r = { .n = 0 };
    struct pg_arrays arrays;
    struct db_value args[2];
    struct error err = { 0 };

    arena_init(&r.arena);
    arrays = pg_arrays_of(2, &r.arena);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const struct db_value row[] = { i % 5 == 4 ? db_null() : db_int(numbers[i % 5]),
                                        db_text(texts[i]) };

        pg_arrays_add(&arrays, row);
    }
    pg_arrays_args(&arrays, args);
    if (db_exec(db, &q, DB_ARGS_OF(args), read_row, &r, &err) != 0)
        fail_msg("%s", err.text);
    CHECK_INT(r.n, COUNT_OF(texts));
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        CHECK_INT(r.nulls[i], i % 5 == 4);
        CHECK_INT(r.numbers[i], i % 5 == 4 ? 0 : numbers[i % 5]);
        CHECK_INT(str_is_null(r.texts[i]), str_is_null(texts[i]));
        CHECK_INT(r.texts[i].len, texts[i].len);
        CHECK(str_eq(r.texts[i], texts[i]));
    }
    pg_arrays_done(&arrays);
    arena_done(&r.arena);
    db_close(db);
}
