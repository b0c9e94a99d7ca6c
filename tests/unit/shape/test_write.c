/* test_write.c - structs as JSON, every type of field; lines of CSV, and what a spreadsheet must
 * not take for a formula. */
#include <math.h>
#include <stdio.h>

#include "shape/table.h"
#include "test.h"

struct point {
    int64_t x;
};

struct everything {
    struct str text, uuid, json, object, dict_str, dict_num, list_text;
    int choice;
    int64_t time, integer;
    struct opt_int opt;
    bool flag;
    double number;
    struct list strings, values, points, by, shapes;
    struct point *shape;
};

static const char *const choices[] = { "zero", "one", NULL };

static const struct field point_fields[] = {
    { .name = "x", .type = T_INT, .offset = offsetof(struct point, x) },
};
static const struct shape point_shape = {
    .name = "Point", .fields = point_fields, .n_fields = 1, .size = sizeof(struct point)
};

#define ROWS(f)                                                                                    \
    { ROW(text, T_STR), .flags = (f) }, { ROW(uuid, T_UUID), .flags = (f) },                       \
        { ROW(json, T_JSON), .flags = (f) }, { ROW(object, T_OBJECT), .flags = (f) },              \
        { ROW(dict_str, T_DICT_STR), .flags = (f) }, { ROW(dict_num, T_DICT_NUM), .flags = (f) },  \
        { ROW(list_text, T_LIST_TEXT), .flags = (f) },                                             \
        { ROW(choice, T_ENUM), .flags = (f), .choices = choices },                                 \
        { ROW(time, T_TIME), .flags = (f) }, { ROW(integer, T_INT), .flags = (f) },                \
        { ROW(opt, T_OPT_INT), .flags = (f) }, { ROW(flag, T_BOOL), .flags = (f) },                \
        { ROW(number, T_NUMBER), .flags = (f) }, { ROW(strings, T_LIST_STR), .flags = (f) },       \
        { ROW(values, T_VALUES), .flags = (f) }, { ROW(points, T_POINTS), .flags = (f) },          \
        { ROW(by, T_BY), .flags = (f) },                                                           \
        { ROW(shapes, T_LIST), .flags = (f), .nested = &point_shape },                             \
    {                                                                                              \
        ROW(shape, T_SHAPE), .flags = (f), .nested = &point_shape                                  \
    }
#define ROW(m, tag) .name = #m, .type = (tag), .offset = offsetof(struct everything, m)

static const struct field whole_fields[] = { ROWS(F_NULL) };
static const struct field sparse_fields[] = { ROWS(F_OMIT) };

static const struct shape whole_shape = { .name = "Whole",
                                          .fields = whole_fields,
                                          .n_fields = COUNT_OF(whole_fields),
                                          .size = sizeof(struct everything) };
static const struct shape sparse_shape = { .name = "Sparse",
                                           .fields = sparse_fields,
                                           .n_fields = COUNT_OF(sparse_fields),
                                           .size = sizeof(struct everything) };

static void check_written(const struct shape *shape, const struct everything *value,
                          const char *expected)
{
    struct buf out;

    buf_init(&out, MIB(1));
    shape_write_json(shape, value, &out);
    CHECK_STR(buf_str(&out), expected);
    buf_done(&out);
}

TEST(every_type_is_written_as_it_is_read)
{
    struct str strings[] = { STR_INIT("a\"\n"), STR_INIT("") };
    struct named_value values[] = {
        { .name = STR_INIT("i"), .kind = VALUE_INT, .integer = -5 },
        { .name = STR_INIT("r"), .kind = VALUE_REAL, .real = 1.5e300 },
        { .name = STR_INIT("s"), .kind = VALUE_STR, .string = STR_INIT("x") },
    };
    struct list points[] = { { values, 1 }, { NULL, 0 } };
    struct point shapes[] = { { 1 }, { 2 } };
    const struct everything e = {
        .text = STR_INIT("t"),
        .uuid = STR_INIT("u"),
        .json = STR_INIT("[1]"),
        .object = STR_INIT("{\"a\":1}"),
        .dict_str = STR_INIT("{}"),
        .dict_num = STR_INIT("{\"n\":1}"),
        .list_text = STR_INIT("[\"l\"]"),
        .choice = 1,
        .time = 1735787045000006,
        .integer = INT64_MIN,
        .opt = { true, 7 },
        .flag = true,
        .number = 0.1,
        .strings = { strings, 2 },
        .values = { values, 3 },
        .points = { points, 2 },
        .by = { strings, 1 },
        .shapes = { shapes, 2 },
        .shape = shapes,
    };

    check_written(
        &whole_shape, &e,
        "{\"text\":\"t\",\"uuid\":\"u\",\"json\":[1],\"object\":{\"a\":1},\"dict_str\":{},"
        "\"dict_num\":{\"n\":1},\"list_text\":[\"l\"],\"choice\":\"one\","
        "\"time\":\"2025-01-02T03:04:05.000006Z\",\"integer\":-9223372036854775808,"
        "\"opt\":7,\"flag\":true,\"number\":0.1,\"strings\":[\"a\\\"\\n\",\"\"],"
        "\"values\":{\"i\":-5,\"r\":1.5e300,\"s\":\"x\"},\"points\":[{\"i\":-5},{}],"
        "\"by\":[\"a\\\"\\n\"],\"shapes\":[{\"x\":1},{\"x\":2}],\"shape\":{\"x\":1}}");
}

TEST(null_is_written_or_left_out_as_the_row_says)
{
    struct everything e = { .choice = -1, .time = TIME_NULL, .number = NAN };

    check_written(
        &whole_shape, &e,
        "{\"text\":null,\"uuid\":null,\"json\":null,\"object\":null,\"dict_str\":null,"
        "\"dict_num\":null,\"list_text\":null,\"choice\":null,\"time\":null,\"integer\":0,"
        "\"opt\":null,\"flag\":false,\"number\":null,\"strings\":null,\"values\":null,"
        "\"points\":null,\"by\":null,\"shapes\":null,\"shape\":null}");
    check_written(&sparse_shape, &e, "{\"integer\":0,\"flag\":false}");
}

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
