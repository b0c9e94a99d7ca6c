/* test_array.c - the text of PostgreSQL's arrays; that a server reads them is in drivers. */
#include "db/lists.h"
#include "test.h"

#define T(literal) db_text(STR_LIT(literal))

TEST(values_become_elements)
{
    const struct {
        struct db_value value;
        const char *text;
    } rows[] = {
        { db_int(0), "{0}" },
        { db_int(INT64_MIN), "{-9223372036854775808}" },
        { db_null(), "{NULL}" },
        { db_text(STR_NULL), "{NULL}" },
        { T("NULL"), "{\"NULL\"}" }, /* quoted, so it is a text */
        { T(""), "{\"\"}" },
        { T("a,b{c}"), "{\"a,b{c}\"}" },
        { T("\"\\"), "{\"\\\"\\\\\"}" },
        { T("x\"\"y\\\\z"), "{\"x\\\"\\\"y\\\\\\\\z\"}" },
        { T("line\nbreak\t\xc3\xa4 "), "{\"line\nbreak\t\xc3\xa4 \"}" },
        { db_real(0.5), "{0.5}" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pg_arrays arrays;
        struct arena arena;
        struct db_value arg;

        arena_init(&arena);
        arrays = pg_arrays_of(1, &arena);
        pg_arrays_add(&arrays, &rows[i].value);
        pg_arrays_args(&arrays, &arg);
        CHECK_INT(arg.type, DB_TEXT);
        CHECK_STR(arg.bytes, rows[i].text);
        pg_arrays_done(&arrays);
        arena_done(&arena);
    }
}

TEST(columns_are_as_long_as_there_are_rows)
{
    for (int n = 0; n < 3; n++) {
        static const char *const ints[] = { "{}", "{7}", "{7,7}" };
        static const char *const texts[] = { "{}", "{\"x\"}", "{\"x\",\"x\"}" };
        const struct db_value row[] = { db_int(7), T("x") };
        struct db_value args[2];
        struct pg_arrays arrays;
        struct arena arena;

        arena_init(&arena);
        arrays = pg_arrays_of(2, &arena);
        for (int i = 0; i < n; i++)
            pg_arrays_add(&arrays, row);
        pg_arrays_args(&arrays, args);
        CHECK_STR(args[0].bytes, ints[n]);
        CHECK_STR(args[1].bytes, texts[n]);
        pg_arrays_done(&arrays);
        arena_done(&arena);
    }
}

/* The first column says how many rows there are. */
TEST(nulls_at_the_end_of_other_columns_are_left_out)
{
    const struct db_value rows[][4] = {
        { db_int(1), db_null(), db_null(), T("x") },
        { db_int(2), db_null(), db_int(5), db_null() },
        { db_null(), db_null(), db_null(), db_null() },
    };
    static const char *const texts[] = { "{1,2,NULL}", "{}", "{NULL,5}", "{\"x\"}" };
    struct db_value args[4];
    struct pg_arrays arrays;
    struct arena arena;

    arena_init(&arena);
    arrays = pg_arrays_of(4, &arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        pg_arrays_add(&arrays, rows[i]);
    pg_arrays_args(&arrays, args);
    for (size_t i = 0; i < COUNT_OF(args); i++)
        CHECK_STR(args[i].bytes, texts[i]);
    pg_arrays_done(&arrays);
    arena_done(&arena);
}
