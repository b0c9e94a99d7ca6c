/* test_query.c - query strings and path parameters, decoded and checked by a table. */
#include "shape/problems.h"
#include "shape/shape.h"
#include "test.h"

struct params {
    struct str text, word;
    int64_t limit;
    struct opt_int any;
    bool flag;
    double number;
    int64_t at;
};

static const char *const words[] = { "one", "two", NULL };

#define ROW(m, tag) .name = #m, .type = (tag), .offset = offsetof(struct params, m)

static const struct field fields[] = {
    { ROW(text, T_STR), .max = 8, .flags = F_NULL },
    { ROW(word, T_STR), .choices = words, .absent = "\"two\"" },
    { ROW(limit, T_INT), .least = 1, .most = 500, .absent = "50" },
    { ROW(any, T_OPT_INT) },
    { ROW(flag, T_BOOL), .absent = "true" },
    { ROW(number, T_NUMBER), .absent = "1.5" },
    { ROW(at, T_TIME) },
};

static const struct shape params_shape = {
    .name = "Params", .fields = fields, .n_fields = COUNT_OF(fields), .size = sizeof(struct params)
};

/* The struct as JSON, or the items of the 422. */
static void check_query(const char *query, const char *expected)
{
    struct problems *problems;
    struct params params;
    struct arena arena;
    struct buf out;

    arena_init(&arena);
    buf_init(&out, MIB(1));
    problems = problems_new(&arena, "query");
    if (shape_read_query(&params_shape, str_of(query), &arena, &params, problems) == 0)
        shape_write_json(&params_shape, &params, &out);
    else
        problems_write(problems, &out);
    CHECK_STR(buf_str(&out), expected);
    buf_done(&out);
    arena_done(&arena);
}

/* Only the text differs from the defaults. */
static void check_text(const char *query, const char *text)
{
    struct arena arena;

    arena_init(&arena);
    check_query(query, arena_printf(&arena,
                                    "{\"text\":%s,\"word\":\"two\",\"limit\":50,\"any\":null,"
                                    "\"flag\":true,\"number\":1.5,\"at\":null}",
                                    text)
                           .data);
    arena_done(&arena);
}

TEST(values_are_decoded_as_forms_are)
{
    static const char *const rows[][2] = {
        { "", "null" },
        { "text=a", "\"a\"" },
        { "text=", "\"\"" },
        { "text", "\"\"" },
        { "&&text=a&", "\"a\"" },
        { "text=a&text=b", "\"b\"" },
        { "other=1&text=a&=x", "\"a\"" },
        { "text=a+b%20c", "\"a b c\"" },
        { "text=%zz%4", "\"%zz%4\"" },
        { "text=%2B%26%3d", "\"+&=\"" },
        { "te%78t=x", "\"x\"" },
        { "text=a=b", "\"a=b\"" },
        { "text=%C3%A9", "\"\xc3\xa9\"" },
        { "text=%ff", "\"\xef\xbf\xbd\"" },
        { "text=%e2%82x", "\"\xef\xbf\xbdx\"" },
        { "text=%f0%9f%ff", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
        { "TEXT=a", "null" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_text(rows[i][0], rows[i][1]);
}

TEST(numbers_and_booleans_are_read_from_text)
{
    check_query("limit=%201_0.0&any=-5&flag=OFF&number=1e3&word=one&at=2025-01-02T03:04:05%2B01:00",
                "{\"text\":null,\"word\":\"one\",\"limit\":10,\"any\":-5,\"flag\":false,"
                "\"number\":1000.0,\"at\":\"2025-01-02T02:04:05Z\"}");
}

#define ITEM(type, name, msg, input)                                                               \
    "{\"detail\":[{\"type\":\"" type "\",\"loc\":[\"query\",\"" name "\"],\"msg\":\"" msg          \
    "\",\"input\":\"" input "\""
#define INT_PARSING "Input should be a valid integer, unable to parse string as an integer"

TEST(what_cannot_be_read_is_told_with_the_text_that_was_sent)
{
    static const char *const rows[][2] = {
        { "limit=", ITEM("int_parsing", "limit", INT_PARSING, "") "}]}" },
        { "limit=x", ITEM("int_parsing", "limit", INT_PARSING, "x") "}]}" },
        { "limit=1.5", ITEM("int_parsing", "limit", INT_PARSING, "1.5") "}]}" },
        { "limit=1__0", ITEM("int_parsing", "limit", INT_PARSING, "1__0") "}]}" },
        { "limit=0",
          ITEM("greater_than_equal", "limit", "Input should be greater than or equal to 1",
               "0") ",\"ctx\":{\"ge\":1}}]}" },
        { "limit=501", ITEM("less_than_equal", "limit", "Input should be less than or equal to 500",
                            "501") ",\"ctx\":{\"le\":500}}]}" },
        { "limit=99999999999999999999",
          ITEM("less_than_equal", "limit", "Input should be less than or equal to 500",
               "99999999999999999999") ",\"ctx\":{\"le\":500}}]}" },
        { "any=9223372036854775808",
          ITEM("less_than_equal", "any",
               "Input should be less than or equal to 9223372036854775807",
               "9223372036854775808") ",\"ctx\":{\"le\":9223372036854775807}}]}" },
        { "flag=maybe",
          ITEM("bool_parsing", "flag", "Input should be a valid boolean, unable to interpret input",
               "maybe") "}]}" },
        { "number=x",
          ITEM("float_parsing", "number",
               "Input should be a valid number, unable to parse string as a number", "x") "}]}" },
        { "number=nan",
          ITEM("finite_number", "number", "Input should be a finite number", "nan") "}]}" },
        { "word=three", ITEM("literal_error", "word", "Input should be 'one' or 'two'",
                             "three") ",\"ctx\":{\"expected\":\"'one' or 'two'\"}}]}" },
        { "text=123456789",
          ITEM("string_too_long", "text", "String should have at most 8 characters",
               "123456789") ",\"ctx\":{\"max_length\":8}}]}" },
        { "at=2025-01-02T03:04:05+01:00", /* the plus sign was a space */
          ITEM(
              "datetime_from_date_parsing", "at",
              "Input should be a valid datetime or date, unexpected extra characters at the end of "
              "the input",
              "2025-01-02T03:04:05 01:00") ",\"ctx\":{\"error\":\"unexpected extra characters at "
                                           "the end of the input\"}}]}" },
        { "text=%00",
          "{\"detail\":[{\"type\":\"string_unicode\",\"loc\":[\"query\",\"text\"],\"msg\":\"Input "
          "should be a valid string, unable to parse raw data as a unicode string\"}]}" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_query(rows[i][0], rows[i][1]);
}

TEST(problems_of_several_parameters_come_in_the_order_of_the_table)
{
    check_query("flag=x&limit=x",
                "{\"detail\":[{\"type\":\"int_parsing\",\"loc\":[\"query\",\"limit\"],\"msg\":"
                "\"" INT_PARSING "\",\"input\":\"x\"},{\"type\":\"bool_parsing\",\"loc\":["
                "\"query\",\"flag\"],\"msg\":\"Input "
                "should be a valid boolean, unable to interpret input\",\"input\":\"x\"}]}");
}
