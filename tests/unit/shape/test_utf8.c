/* test_utf8.c - text is cut between two characters. */

#include "test.h"

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
