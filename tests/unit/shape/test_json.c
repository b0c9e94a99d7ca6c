/* test_json.c - what is read from JSON text, and what is said about text that is not JSON. */
#include "shape/json.h"
#include "test.h"

/* The text as it is written back, or "error at position". */
static void check_read(struct str text, const char *expected)
{
    struct json_fault fault;
    struct json_doc doc;
    struct arena arena;

    arena_init(&arena);
    if (json_read(text, &arena, &doc, &fault) == 0)
        CHECK_STR(json_write_text(doc.root, &arena), expected);
    else
        CHECK_STR(arena_printf(&arena, "%s at %zu", fault.error, fault.at), expected);
    arena_done(&arena);
}

/* `n` opening brackets of one kind around nothing, closed again. */
static struct str nested(struct arena *arena, size_t n, const char *open, const char *close)
{
    struct buf b;
    struct str text;

    buf_init(&b, MIB(16));
    for (size_t i = 0; i < n; i++)
        buf_add_c(&b, open);
    buf_add_c(&b, "[]");
    for (size_t i = 0; i < n; i++)
        buf_add_c(&b, close);
    text = arena_copy(arena, buf_str(&b));
    buf_done(&b);
    return text;
}

TEST(of_members_with_one_name_the_last_value_stands_at_the_first_place)
{
    static const char *const rows[][2] = {
        { "{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}" },
        { "{\"a\":1,\"a\":2,\"a\":3}", "{\"a\":3}" },
        { "{\"a\":1,\"\\u0061\":2}", "{\"a\":2}" },
        { "{\"\":1,\"\":{\"x\":[1,2]},\"b\":0}", "{\"\":{\"x\":[1,2]},\"b\":0}" },
        { "[{\"o\":{\"k\":[{\"x\":1,\"x\":{\"y\":1,\"y\":2}}],\"k2\":0}},7]",
          "[{\"o\":{\"k\":[{\"x\":{\"y\":2}}],\"k2\":0}},7]" },
        { "{\"a\":{\"x\":1,\"x\":2},\"a\":5,\"c\":[]}", "{\"a\":5,\"c\":[]}" },
        { "{\"a\":1,\"A\":2,\"aa\":3}", "{\"a\":1,\"A\":2,\"aa\":3}" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_read(str_of(rows[i][0]), rows[i][1]);
}

TEST(a_duplicate_is_found_among_very_many_names)
{
    enum { N = 100000 };
    struct json_fault fault;
    struct json_doc doc;
    struct arena arena;
    struct buf b;

    arena_init(&arena);
    buf_init(&b, MIB(4));
    buf_add_char(&b, '{');
    for (int i = 0; i < N; i++)
        buf_printf(&b, "\"k%d\":%d,", i, i);
    buf_add_c(&b, "\"k5\":\"last\"}");
    CHECK_INT(json_read(buf_str(&b), &arena, &doc, &fault), 0);
    CHECK_INT(yyjson_obj_size(doc.root), N);
    CHECK_STR(json_str(yyjson_obj_get(doc.root, "k5")), "last");
    CHECK_STR(json_str(unsafe_yyjson_get_first(doc.root)), "k0");
    CHECK_INT(yyjson_get_int(yyjson_obj_get(doc.root, "k99999")), N - 1);
    buf_done(&b);
    arena_done(&arena);
}

TEST(sixty_four_levels_are_read_and_one_more_is_refused)
{
    static const struct {
        size_t around;
        const char *open, *close;
        const char *error; /* NULL: read */
    } rows[] = {
        { 63, "[", "]", NULL },
        { 64, "[", "]", "Too deeply nested at 64" },
        { 63, "{\"a\":", "}", NULL },
        { 64, "{\"a\":", "}", "Too deeply nested at 320" },
        { 64, "{\"\xc3\xa9\":", "}", "Too deeply nested at 320" },
        { 100000, "[", "]", "Too deeply nested at 64" },
        { 100000, "[", "", "Too deeply nested at 64" }, /* the bracket stands before the end */
        { 3000000, "[", "]", "Too deeply nested at 64" },
        { 3000000, "[,", "]", "Expecting value at 1" },
        { 3000000, "\"[", "]", "Extra data at 3" },
        { 64, "[,", "]", "Expecting value at 1" }, /* the comma before the bracket */
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena arena;
        struct str text;

        arena_init(&arena);
        text = nested(&arena, rows[i].around, rows[i].open, rows[i].close);
        check_read(text, rows[i].error != NULL ? rows[i].error : text.data);
        arena_done(&arena);
    }
}

TEST(depth_is_counted_in_the_value_that_a_duplicate_hides)
{
    struct arena arena;
    struct str deep;

    arena_init(&arena);
    deep = nested(&arena, 64, "[", "]");
    check_read(arena_printf(&arena, "{\"a\":%s,\"a\":1}", deep.data), "Too deeply nested at 68");
    arena_done(&arena);
}

TEST(what_is_no_utf8_is_told_by_its_position)
{
    static const struct {
        struct str text;
        const char *expected;
    } rows[] = {
        { STR_INIT("{\"a\":\"\xff\"}"), "Invalid UTF-8 at 6" },
        { STR_INIT("{\"\xc3\xa9\":\"\xc3\"}"), "Invalid UTF-8 at 6" },
        { STR_INIT("\"\xed\xa0\x80\""), "Invalid UTF-8 at 1" },     /* a surrogate */
        { STR_INIT("\"\xc0\x80\""), "Invalid UTF-8 at 1" },         /* overlong */
        { STR_INIT("\"\xf4\x90\x80\x80\""), "Invalid UTF-8 at 1" }, /* beyond U+10FFFF */
        { STR_INIT("\"\xe2\x82"), "Invalid UTF-8 at 1" },
        { STR_INIT("[,\xff"), "Invalid UTF-8 at 2" }, /* bytes come before syntax */
        { STR_INIT("\xff\xfe{\0}\0"), "Invalid UTF-8 at 0" },
        { STR_INIT("\xfe\xff\0{\0}"), "Invalid UTF-8 at 0" },
        { STR_INIT("{\0}\0"), "Invalid UTF-8 at 1" },
        { STR_INIT("\0{\0}"), "Invalid UTF-8 at 0" },
        { STR_INIT("\xef\xbb\xbf{\"a\":1}"), "{\"a\":1}" },
        { STR_INIT("\xef\xbb\xbf{\"a\":1,}"),
          "Expecting property name enclosed in double quotes at 7" },
        { STR_INIT("\xef\xbb\xbf"), "Expecting value at 0" },
        { STR_INIT("\xef\xbb\xbf\xef\xbb\xbf{}"), "Expecting value at 0" },
        { STR_INIT("\"\x7f\xe2\x80\xa8\xf4\x8f\xbf\xbf\""),
          "\"\x7f\xe2\x80\xa8\xf4\x8f\xbf\xbf\"" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_read(rows[i].text, rows[i].expected);
}

TEST(faults_are_told_in_the_words_and_at_the_place_of_the_contract)
{
    static const char *const rows[][2] = {
        { " \n ", "Expecting value at 3" },
        { "[1,2", "Expecting ',' delimiter at 4" },
        { "[", "Expecting value at 1" },
        { "{\"a\"", "Expecting ':' delimiter at 4" },
        { "{\"a\" 1}", "Expecting ':' delimiter at 5" },
        { "{\"a\":1 \"b\":2}", "Expecting ',' delimiter at 7" },
        { "{\"a\":1]", "Expecting ',' delimiter at 6" },
        { "{} {}", "Extra data at 3" },
        { "1.", "Extra data at 1" },
        { "-01", "Extra data at 2" },
        { "1e+", "Extra data at 1" },
        { "tru", "Expecting value at 0" },
        { "NaN", "Expecting value at 0" },
        { "[1,-Infinity]", "Expecting value at 3" },
        { "{\"a\":Infinity}", "Expecting value at 5" },
        { "\"abc", "Unterminated string starting at at 0" },
        { "\"abc\\", "Unterminated string starting at at 0" },
        { "\"a\tb\"", "Invalid control character at at 2" },
        { "\"a\\x\"", "Invalid \\escape at 2" },
        { "\"\\u12", "Invalid \\uXXXX escape at 2" },
        { "\"\\u1234", "Invalid \\uXXXX escape at 2" },
        { "\"\\u12G4\"", "Invalid \\uXXXX escape at 2" },
        { "\"\\ud800\\u12G4\"", "Invalid \\uXXXX escape at 8" },
        { "[\"\xf0\x9f\x98\x80\",}", "Expecting value at 5" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_read(str_of(rows[i][0]), rows[i][1]);
}

TEST(lone_surrogates_are_read_as_nul_and_pairs_as_one_character)
{
    static const char *const rows[][2] = {
        { "[\"\\ud800\"]", "[\"\\u0000\"]" },
        { "[\"x\\udfffy\"]", "[\"x\\u0000y\"]" },
        { "[\"\\ud83d\\ud83d\\ude00\"]", "[\"\\u0000\xf0\x9f\x98\x80\"]" },
        { "[\"\\uDE00\\uD83D\"]", "[\"\\u0000\\u0000\"]" },
        { "[\"\\ud800\\u0041\"]", "[\"\\u0000A\"]" },
        { "[\"\\\\ud800\\ud800\"]", "[\"\\\\ud800\\u0000\"]" }, /* an escaped backslash before */
        { "{\"\\ud800\":{\"a\":1,\"a\":2}}", "{\"\\u0000\":{\"a\":2}}" },
        { "[\"\\ud83d\\ude00\"]", "[\"\xf0\x9f\x98\x80\"]" },
        { "[\"\\ud800\",]", "Expecting value at 10" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_read(str_of(rows[i][0]), rows[i][1]);
}

TEST(numbers_have_the_fewest_digits)
{
    static const char *const rows[][2] = {
        { "1.0", "1.0" },
        { "1e5", "100000.0" },
        { "1e15", "1000000000000000.0" },
        { "123456789012345.6", "123456789012345.6" },
        { "1e16", "10000000000000000.0" },
        { "9999999999999998.0", "9999999999999998.0" },
        { "1.5e300", "1.5e300" },
        { "1e-5", "0.00001" },
        { "1.25e-7", "1.25e-7" },
        { "0.0001", "0.0001" },
        { "0.00012", "0.00012" },
        { "1e-100", "1e-100" },
        { "5e-324", "5e-324" },
        { "1e-400", "0.0" },
        { "-0.0", "-0.0" },
        { "-0", "0" },
        { "-1.10", "-1.1" },
        { "5.684341886080802e-14", "5.684341886080802e-14" }, /* two to the -44: 16 digits do */
        { "18446744073709551615", "18446744073709551615" },
        { "-9223372036854775808", "-9223372036854775808" },
        { "-9223372036854775809", "-9223372036854775809" },
        { "123456789012345678901234567890", "123456789012345678901234567890" },
        { "1e400", "null" }, /* no double holds it */
        { "[-1e999,1]", "[null,1]" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_read(str_of(rows[i][0]), rows[i][1]);
}

TEST(strings_are_escaped_no_more_than_needed)
{
    check_read(str_of("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0001\\u001F\\u007f\\u00e9\\u2028\"]"),
               "[\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\xc3\xa9\xe2\x80\xa8\"]");
}

TEST(a_long_string_that_is_all_escapes_is_written_whole)
{
    struct arena arena;
    struct buf b;

    arena_init(&arena);
    buf_init(&b, MIB(1));
    buf_add_char(&b, '"');
    for (int i = 0; i < 10000; i++)
        buf_add_c(&b, "\\u0001");
    buf_add_char(&b, '"');
    check_read(buf_str(&b), arena_cstr(&arena, buf_str(&b)));
    buf_done(&b);
    arena_done(&arena);
}

TEST(a_text_of_very_many_small_values_is_read_in_bounded_memory)
{
    struct json_fault fault;
    struct json_doc doc;
    struct arena arena;
    struct buf b;

    arena_init(&arena);
    buf_init(&b, MIB(2));
    buf_add_char(&b, '[');
    for (int i = 0; i < 500000; i++)
        buf_add_c(&b, "0,");
    buf_add_c(&b, "0]");
    CHECK_INT(json_read(buf_str(&b), &arena, &doc, &fault), 0);
    CHECK_INT(yyjson_arr_size(doc.root), 500001);
    CHECK(arena.total < 17 * b.len);
    buf_done(&b);
    arena_done(&arena);
}
