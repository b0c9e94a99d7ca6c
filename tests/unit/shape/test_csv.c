/* test_csv.c - lines of CSV, and what a spreadsheet must not take for a formula. */
#include "shape/write.h"

#include <math.h>
#include <stdio.h>

#include "shape/table.h"
#include "test.h"

struct cell_row {
    struct str text, json;
    int64_t number, at;
    struct opt_int maybe;
    double real;
    bool flag;
    struct list list;
};

/* clang-format off */
SHAPE_TABLE(static, cell_shape, struct cell_row, "Cells", (),
    STR(text),      JSON(json),   INT(number), TIME(at),
    OPT_INT(maybe), NUMBER(real), BOOL(flag),  LIST_STR(list));
/* clang-format on */

static void check_row(const struct cell_row *row, const char *wanted)
{
    struct buf out;

    buf_init(&out, KIB(64));
    csv_write_row(&cell_shape, row, &out);
    CHECK_STR(buf_str(&out), wanted);
    buf_done(&out);
}

TEST(the_head_has_the_names_in_table_order)
{
    struct buf out;

    buf_init(&out, KIB(64));
    csv_write_head(&cell_shape, &out);
    CHECK(str_eq(buf_str(&out), STR_LIT("text,json,number,at,maybe,real,flag,list\r\n")));
    buf_done(&out);
}

TEST(null_is_empty_and_numbers_are_plain)
{
    struct str items[] = { STR_INIT("a"), STR_INIT("b") };

    check_row(&(struct cell_row){ .at = TIME_NULL, .real = NAN }, ",,0,,,,false,[]\r\n");
    check_row(&(struct cell_row){ .text = STR_LIT("x"),
                                  .json = STR_LIT("-5"),
                                  .number = -7,
                                  .at = 0,
                                  .maybe = { true, -1 },
                                  .real = -0.5,
                                  .flag = true,
                                  .list = { items, 2 } },
              "x,-5,-7,1970-01-01T00:00:00Z,-1,-0.5,true,\"[\"\"a\"\",\"\"b\"\"]\"\r\n");
}

TEST(text_is_quoted_as_needed_and_never_a_formula)
{
    static const struct {
        const char *text, *json, *cells;
    } rows[] = {
        { "plain", "\"plain\"", "plain,plain" },
        { "a,b", "{\"a\":1}", "\"a,b\",\"{\"\"a\"\":1}\"" },
        { "say \"x\"", "\"say \\\"x\\\"\"", "\"say \"\"x\"\"\",\"say \"\"x\"\"\"" },
        { "\"", "[]", "\"\"\"\",[]" },
        { "a\nb", "\"a\\nb\"", "\"a\nb\",\"a\nb\"" },
        { "=1", "\"=1\"", "'=1,'=1" },
        { "+1", "\"+1\"", "'+1,'+1" },
        { "-1", "\"-1\"", "'-1,'-1" },
        { "@x", "\"@x\"", "'@x,'@x" },
        { "\tx", "\"\\tx\"", "'\tx,'\tx" },
        { "\rx", "\"\\rx\"", "\"'\rx\",\"'\rx\"" },
        { "=a,b", "\"=a,b\"", "\"'=a,b\",\"'=a,b\"" },
        { "a=1", "true", "a=1,true" },
        { "", "\"\"", "," },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct cell_row row = {
            .text = str_of(rows[i].text), .json = str_of(rows[i].json), .at = TIME_NULL, .real = NAN
        };
        char wanted[128];

        (void)snprintf(wanted, sizeof(wanted), "%s,0,,,,false,[]\r\n", rows[i].cells);
        check_row(&row, wanted);
    }
}
