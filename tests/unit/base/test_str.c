/* test_str.c - borrowed bytes. */
#include "base/str.h"

#include <limits.h>

#include "test.h"

TEST(no_string_and_the_empty_string_are_told_apart_but_equal_in_bytes)
{
    CHECK(str_is_null(STR_NULL));
    CHECK(!str_is_null(STR_LIT("")));
    CHECK(str_eq(STR_NULL, STR_LIT("")));
    CHECK(str_is_null(str_of(NULL)));
}

TEST(equality_looks_at_every_byte_nul_included)
{
    CHECK(str_eq(STR_LIT("a\0b"), STR_LIT("a\0b")));
    CHECK(!str_eq(STR_LIT("a\0b"), STR_LIT("a\0c")));
    CHECK(!str_eq_c(STR_LIT("a\0b"), "a"));
    CHECK(str_eq_nocase(STR_LIT("Content-TYPE"), STR_LIT("content-type")));
    CHECK(!str_eq_nocase(STR_LIT("["), STR_LIT("{"))); /* 0x20 apart, no letters */
    CHECK(!str_eq_nocase(STR_LIT("ab"), STR_LIT("abc")));
}

TEST(a_prefix_is_no_longer_than_its_string)
{
    CHECK(str_starts(STR_LIT("abc"), STR_LIT("ab")));
    CHECK(str_starts(STR_LIT("abc"), STR_LIT("")));
    CHECK(str_starts(STR_NULL, STR_NULL));
    CHECK(!str_starts(STR_LIT("ab"), STR_LIT("abc")));
    CHECK(!str_starts(STR_LIT("xbc"), STR_LIT("ab")));
}

TEST(order_is_by_unsigned_bytes_then_length)
{
    CHECK(str_cmp(STR_LIT("a"), STR_LIT("b")) < 0);
    CHECK(str_cmp(STR_LIT("\xc3"), STR_LIT("z")) > 0);
    CHECK(str_cmp(STR_LIT("a"), STR_LIT("aa")) < 0);
    CHECK(str_cmp(STR_LIT("aa"), STR_LIT("a")) > 0);
    CHECK_INT(str_cmp(STR_NULL, STR_LIT("")), 0);
}

TEST(a_split_yields_every_part_and_ends_with_none)
{
    struct str rest = STR_LIT("a,,b,");

    CHECK_STR(str_split(&rest, ','), "a");
    CHECK_STR(str_split(&rest, ','), "");
    CHECK_STR(str_split(&rest, ','), "b");
    CHECK(!str_is_null(rest));
    CHECK_STR(str_split(&rest, ','), "");
    CHECK(str_is_null(rest));
}

TEST(only_spaces_and_tabs_at_the_ends_are_trimmed)
{
    CHECK_STR(str_trim(STR_LIT(" \t a b\t ")), "a b");
    CHECK_STR(str_trim(STR_LIT(" \t ")), "");
    CHECK_STR(str_trim(STR_LIT("\na\n")), "\na\n");
    CHECK_STR(str_trim(STR_NULL), "");
}

TEST(integers_are_read_whole_or_not_at_all)
{
    static const struct {
        const char *text;
        bool good;
        int64_t value;
    } rows[] = {
        { "0", true, 0 },
        { "-0", true, 0 },
        { "007", true, 7 },
        { "9223372036854775807", true, INT64_MAX },
        { "-9223372036854775808", true, INT64_MIN },
        { "9223372036854775808", false, 0 },
        { "-9223372036854775809", false, 0 },
        { "99999999999999999999", false, 0 },
        { "", false, 0 },
        { "-", false, 0 },
        { "+1", false, 0 },
        { " 1", false, 0 },
        { "1 ", false, 0 },
        { "1.0", false, 0 },
        { "0x1", false, 0 },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t value = 4711;

        CHECK_INT(str_to_int(str_of(rows[i].text), &value), rows[i].good);
        CHECK_INT(value, rows[i].good ? rows[i].value : 4711);
    }
}

TEST(hex_digits_are_those_of_both_cases)
{
    for (int c = CHAR_MIN; c <= CHAR_MAX; c++) {
        int value = -1;

        if (c >= '0' && c <= '9')
            value = c - '0';
        else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
            value = (c | 0x20) - 'a' + 10;
        CHECK_INT(str_hex_digit((char)c), value);
    }
}

TEST(text_is_cut_between_two_characters)
{
    static const struct {
        const char *text;
        size_t max;
        const char *cut;
    } rows[] = {
        { "abc", 3, "abc" },
        { "abc", 9, "abc" },
        { "abc", 2, "ab" },
        { "abc", 0, "" },
        { "\xc3\xbc", 1, "" },
        { "\xc3\xbc\xc3\xbc", 3, "\xc3\xbc" },
        { "\xf0\x9f\x98\x80", 3, "" },
        { "a\xe2\x82\xac", 4, "a\xe2\x82\xac" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        CHECK(str_eq_c(utf8_cut(str_of(rows[i].text), rows[i].max), rows[i].cut));
    CHECK(str_is_null(utf8_cut(STR_NULL, 5)));
}
