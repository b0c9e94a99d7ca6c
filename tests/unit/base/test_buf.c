/* test_buf.c - bytes that grow up to a ceiling. */
#include "base/buf.h"

#include "test.h"

TEST(a_buffer_holds_exactly_its_ceiling_and_not_a_byte_more)
{
    struct buf b;

    buf_init(&b, 1000);
    for (int i = 0; i < 1000; i++)
        buf_add_char(&b, 'x');
    CHECK(!b.overflown);
    CHECK_INT(b.len, 1000);
    buf_add_char(&b, 'y');
    CHECK(b.overflown);
    CHECK_INT(b.len, 1000);
    buf_done(&b);
    buf_done(NULL);
}

TEST(an_overflown_buffer_takes_nothing_more_until_cleared)
{
    struct buf b;

    buf_init(&b, 8);
    buf_add_c(&b, "0123456789");
    buf_add_c(&b, "a"); /* would fit, but a gap before it would be a lie */
    CHECK(b.overflown);
    CHECK_INT(b.len, 0);
    CHECK(buf_reserve(&b, 1) == NULL);
    buf_clear(&b);
    buf_add_c(&b, "a");
    CHECK(!b.overflown);
    CHECK_STR(buf_str(&b), "a");
    buf_done(&b);
}

TEST(an_empty_buffer_is_an_empty_string_not_none)
{
    struct buf b;

    buf_init(&b, 8);
    buf_add(&b, STR_NULL);
    CHECK(!str_is_null(buf_str(&b)));
    CHECK_STR(buf_str(&b), "");
    buf_done(&b);
}

TEST(integers_are_written_to_both_ends_of_their_range)
{
    static const struct {
        int64_t value;
        const char *text;
    } rows[] = {
        { 0, "0" },
        { 7, "7" },
        { -1, "-1" },
        { 1234567890123, "1234567890123" },
        { INT64_MAX, "9223372036854775807" },
        { INT64_MIN, "-9223372036854775808" },
    };
    struct buf b;

    buf_init(&b, 100);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        buf_clear(&b);
        buf_add_int(&b, rows[i].value);
        CHECK_STR(buf_str(&b), rows[i].text);
    }
    buf_done(&b);
}

TEST(a_json_string_escapes_quotes_backslash_and_controls_only)
{
    static const struct {
        struct str plain;
        const char *json;
    } rows[] = {
        { STR_INIT(""), "\"\"" },
        { STR_INIT("abc"), "\"abc\"" },
        { STR_INIT("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"" },
        { STR_INIT("\b\t\n\f\r"), "\"\\b\\t\\n\\f\\r\"" },
        { STR_INIT("\v\x01\x1f\x7f"), "\"\\u000b\\u0001\\u001f\x7f\"" },
        { STR_INIT("a\0b"), "\"a\\u0000b\"" },
        { STR_INIT("h\xc3\xa9 \xf0\x9f\x90\x9f"), "\"h\xc3\xa9 \xf0\x9f\x90\x9f\"" },
        { { NULL, 0 }, "\"\"" },
    };
    struct buf b;

    buf_init(&b, 100);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        buf_clear(&b);
        buf_add_json(&b, rows[i].plain);
        CHECK_INT(buf_json_len(rows[i].plain), b.len);
        CHECK_STR(buf_str(&b), rows[i].json);
    }
    buf_done(&b);
}

static void check_places(const char *around, char c, bool escaped)
{
    struct buf b;

    buf_init(&b, 100);
    for (size_t at = 0; at < 20; at++) {
        char text[20];

        memcpy(text, around, sizeof(text));
        text[at] = c;
        buf_clear(&b);
        buf_add_json(&b, str_from(text, sizeof(text)));
        CHECK((buf_str(&b).len > sizeof(text) + 2) == escaped);
        CHECK((buf_str(&b).data[1 + at] == '\\') == escaped);
    }
    buf_done(&b);
}

/* Every byte at every place of a text that is looked at in eights, beside bytes that lie next to
 * those that are escaped, and beside some with their highest bit. */
TEST(no_place_hides_a_byte_that_is_escaped)
{
    for (unsigned c = 0; c < 0x100; c++) {
        bool escaped = c < 0x20 || c == '"' || c == '\\';

        check_places("!#[] !#[]\x7f!#[]! !#[]", (char)c, escaped);
        check_places("\xff!#[]\x80 \x7f\xff!#[]\x80 \x7f\xff!#[", (char)c, escaped);
    }
}

TEST(reserved_room_becomes_text_when_it_is_filled)
{
    struct buf b;

    buf_init(&b, 100);
    buf_printf(&b, "%d-%s", 12, "abc");
    memcpy(buf_reserve(&b, 2), "de", 2);
    CHECK_STR(buf_str(&b), "12-abc");
    buf_added(&b, 2);
    CHECK_STR(buf_str(&b), "12-abcde");
    buf_done(&b);
}
