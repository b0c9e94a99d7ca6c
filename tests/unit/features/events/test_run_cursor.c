/* test_run_cursor.c - a cursor comes back as it went out, or not at all. */
#include "features/events/shapes.h"

#include "base/digest.h"
#include "test.h"

#define ID "3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b"

TEST(a_cursor_comes_back_as_it_went_out)
{
    static const int64_t starts[] = { 0, 1, -1, 1735787045000006, INT64_MIN, INT64_MAX };

    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        const struct run_cursor cursor = { starts[i], STR_LIT(ID) };
        char text[RUN_CURSOR_LEN];
        struct run_cursor back = { 0 };

        CHECK(run_cursor_parse(run_cursor_format(&cursor, text), &back));
        CHECK(back.start_at == starts[i]);
        CHECK_STR(back.run_id, ID);
    }
}

/* So that a stranger who copies it gets a page. */
TEST(the_cursor_of_the_documented_example_is_one)
{
    struct run_cursor back;

    CHECK(run_cursor_parse(STR_LIT("0086AtWLjM0" ID "06xuaQ"), &back));
    CHECK(back.start_at == 1768469400000000);
}

/* Also one that names the same place in other digits: what parses is what was given. */
TEST(no_other_text_is_a_cursor)
{
    const struct run_cursor cursor = { 1735787045000006, STR_LIT(ID) };
    char text[RUN_CURSOR_LEN], longer[RUN_CURSOR_LEN + 1] = { 0 };
    struct run_cursor back = { .start_at = 7 };

    (void)run_cursor_format(&cursor, text);
    for (size_t i = 0; i < RUN_CURSOR_LEN; i++) {
        static const char others[] = { '0', 'z', '-', '{', '\x80', 0 };

        for (size_t j = 0; j < COUNT_OF(others); j++) {
            char kept = text[i];

            text[i] = others[j];
            CHECK(others[j] == kept || !run_cursor_parse(str_from(text, sizeof(text)), &back));
            text[i] = kept;
        }
    }
    memcpy(longer, text, sizeof(text));
    CHECK(!run_cursor_parse(str_from(longer, sizeof(longer)), &back));
    CHECK(!run_cursor_parse(str_from(text, sizeof(text) - 1), &back));
    CHECK(!run_cursor_parse(STR_LIT(""), &back));
    memset(text, 'z', 11); /* 62^11 - 1 does not fit in 64 bits */
    digest_base62(digest_crc32(str_from(text, 47)), text + 47, 6);
    CHECK(!run_cursor_parse(str_from(text, sizeof(text)), &back));
    CHECK(back.start_at == 7);
}
