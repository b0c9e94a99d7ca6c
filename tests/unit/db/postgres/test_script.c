/* test_script.c - a script is taken apart at the semicolons that end statements, and no others. */
#include "db/postgres/postgres.h"
#include "test.h"

TEST(a_script_is_taken_apart_into_statements)
{
    const struct {
        const char *script;
        const char *statements[4];
    } rows[] = {
        { "", { NULL } },
        { " ;; \n", { NULL } },
        { "-- only; a comment", { NULL } },
        { "SELECT 1", { "SELECT 1", NULL } },
        { "SELECT 1;\nSELECT 2;\n", { "SELECT 1", "SELECT 2", NULL } },
        { "-- a; b\nSELECT 1; -- c\n/* d; */ SELECT 2", { "SELECT 1", "SELECT 2", NULL } },
        { "SELECT ';', 'it''s;';SELECT \";\"", { "SELECT ';', 'it''s;'", "SELECT \";\"", NULL } },
        { "SELECT 1 -- why; not\n + 1; X", { "SELECT 1 -- why; not\n + 1", "X", NULL } },
        { "DO $$a; b$$; DO $x$ $$;$$ $x$;", { "DO $$a; b$$", "DO $x$ $$;$$ $x$", NULL } },
        { "SELECT $1; SELECT 'open;", { "SELECT $1", "SELECT 'open;", NULL } },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct str rest = str_of(rows[i].script);

        for (size_t k = 0; rows[i].statements[k] != NULL; k++)
            CHECK_STR(db_postgres_next_statement(&rest), rows[i].statements[k]);
        CHECK(str_is_null(db_postgres_next_statement(&rest)));
    }
}
