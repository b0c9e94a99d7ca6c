/* test_json_texts.c - texts that every JSON parser must accept, or must refuse (RFC 8259), and
 * those that it may treat either way, which only must do no harm. The kinds of texts follow the
 * categories of JSONTestSuite. */
#include <stdlib.h>

#include "base/mem.h"
#include "shape/json.h"
#include "test.h"

enum verdict { YES, NO, EITHER };

struct text {
    enum verdict verdict;
    struct str text;
};

/* clang-format off */
static const struct text texts[] = {
    { YES, { "[]", 2 } },
    { YES, { "[ ]", 3 } },
    { YES, { "{}", 2 } },
    { YES, { "{ }", 3 } },
    { YES, { "null", 4 } },
    { YES, { "true", 4 } },
    { YES, { "false", 5 } },
    { YES, { "0", 1 } },
    { YES, { "-0", 2 } },
    { YES, { "42", 2 } },
    { YES, { "-1", 2 } },
    { YES, { "1E22", 4 } },
    { YES, { "1e1", 3 } },
    { YES, { "1e+2", 4 } },
    { YES, { "1E-2", 4 } },
    { YES, { "0e1", 3 } },
    { YES, { "0e+1", 4 } },
    { YES, { "123.456789", 10 } },
    { YES, { "[1,2]", 5 } },
    { YES, { " [1] ", 5 } },
    { YES, { "[1]\x0a", 4 } },
    { YES, { "\x09[]", 3 } },
    { YES, { "[1\x0a]", 4 } },
    { YES, { "\"\"", 2 } },
    { YES, { "\" \"", 3 } },
    { YES, { "\"asd\"", 5 } },
    { YES, { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", 18 } },
    { YES, { "\"\\u0012\"", 8 } },
    { YES, { "\"\\uD801\\udc37\"", 14 } },
    { YES, { "\"\\ud83d\\ude39\\ud83d\\udc8d\"", 26 } },
    { YES, { "\"\\u0000\"", 8 } },
    { YES, { "\"\\u0061\\u30af\"", 14 } },
    { YES, { "\"\\u002c\"", 8 } },
    { YES, { "\"\\u0022\"", 8 } },
    { YES, { "\"\\uFFFF\"", 8 } },
    { YES, { "\"\\uDBFF\\uDFFE\"", 14 } },
    { YES, { "\"a/*b*/c\"", 9 } },
    { YES, { "\"\xe2\x82\xac\xf0\x9d\x84\x9e\"", 9 } },
    { YES, { "\"\x7f\"", 3 } },
    { YES, { "\"\xe2\x80\xa8\xe2\x80\xa9\"", 8 } },
    { YES, { "\"\xef\xbb\xbf\"", 5 } },
    { YES, { "{\"\":0}", 6 } },
    { YES, { "{\"a\":[]}", 8 } },
    { YES, { "{\"a\":\"b\",\"a\":\"c\"}", 17 } },
    { YES, { "{\"a\":\"b\",\"a\":\"b\"}", 17 } },
    { YES, { "{\"foo\\u0000bar\":42}", 19 } },
    { YES, { "{\"min\":-1.0e+28,\"max\":1.0e+28}", 30 } },
    { YES, { "[[]   ]", 7 } },
    { YES, { "[null,1,\"1\",{}]", 15 } },
    { YES, { "[1,null,null,null,2]", 20 } },
    { YES, { "[\"a\"]", 5 } },
    { YES, { "{\"title\":\"\\u041f\\u043e\"}", 24 } },
    { YES, { "-0.1", 4 } },
    { YES, { "20e1", 4 } },
    { YES, { "[-0]", 4 } },
    { YES, { "[-123]", 6 } },
    { YES, { "[1.0]", 5 } },
    { YES, { "1e-2", 4 } },
    { YES, { "\"\\uDADA\\uDEAD\"", 14 } },
    { NO, { "", 0 } },
    { NO, { "[", 1 } },
    { NO, { "[1", 2 } },
    { NO, { "[1,", 3 } },
    { NO, { "[,", 2 } },
    { NO, { "[,1]", 4 } },
    { NO, { "[1,]", 4 } },
    { NO, { "[1,,]", 5 } },
    { NO, { "[1,,2]", 6 } },
    { NO, { "[\"\",]", 5 } },
    { NO, { "[\"x\"", 4 } },
    { NO, { "[\"x\",", 5 } },
    { NO, { "[3[4]]", 6 } },
    { NO, { "[1 true]", 8 } },
    { NO, { "[1:2]", 5 } },
    { NO, { "[\"\": 1]", 7 } },
    { NO, { "[\"a\",\x0a" "4\x0a,1,", 11 } },
    { NO, { "[a", 2 } },
    { NO, { "[*]", 3 } },
    { NO, { "[\x0a" "1\x0a,1", 6 } },
    { NO, { "[<null>]", 8 } },
    { NO, { "[1 000.0]", 9 } },
    { NO, { "+1", 2 } },
    { NO, { "[++1234]", 8 } },
    { NO, { "[-01]", 5 } },
    { NO, { "-", 1 } },
    { NO, { "[-]", 3 } },
    { NO, { "[-1.0.]", 7 } },
    { NO, { "[-2.]", 5 } },
    { NO, { "[.-1]", 5 } },
    { NO, { "[.2e-3]", 7 } },
    { NO, { ".5", 2 } },
    { NO, { "1.", 2 } },
    { NO, { "0.1.2", 5 } },
    { NO, { "[0.3e]", 6 } },
    { NO, { "[0.3e+]", 7 } },
    { NO, { "0e", 2 } },
    { NO, { "0e+", 3 } },
    { NO, { "[0E]", 4 } },
    { NO, { "1.0e", 4 } },
    { NO, { "1.0e-", 5 } },
    { NO, { "1eE2", 4 } },
    { NO, { "[2.e3]", 6 } },
    { NO, { "[9.e+]", 6 } },
    { NO, { "012", 3 } },
    { NO, { "[-012]", 6 } },
    { NO, { "0x1", 3 } },
    { NO, { "[0x42]", 6 } },
    { NO, { "1+2", 3 } },
    { NO, { "[Inf]", 5 } },
    { NO, { "Infinity", 8 } },
    { NO, { "-Infinity", 9 } },
    { NO, { "NaN", 3 } },
    { NO, { "[-NaN]", 6 } },
    { NO, { "[nan]", 5 } },
    { NO, { "[1a]", 4 } },
    { NO, { "[1ea]", 5 } },
    { NO, { "[-x]", 4 } },
    { NO, { "1_000", 5 } },
    { NO, { "tru", 3 } },
    { NO, { "[fals]", 6 } },
    { NO, { "[nul]", 5 } },
    { NO, { "True", 4 } },
    { NO, { "NULL", 4 } },
    { NO, { "[TRUE]", 6 } },
    { NO, { "abc", 3 } },
    { NO, { "[abc", 4 } },
    { NO, { "\"", 1 } },
    { NO, { "\"a", 2 } },
    { NO, { "\"\\", 2 } },
    { NO, { "\"\\x00\"", 6 } },
    { NO, { "\"\\u\"", 4 } },
    { NO, { "\"\\u00A\"", 7 } },
    { NO, { "\"\\u12\"", 6 } },
    { NO, { "\"\\uqqqq\"", 8 } },
    { NO, { "\"\\uD800\\u\"", 10 } },
    { NO, { "\"\\uD800\\u1\"", 11 } },
    { NO, { "\"\\uD800\\uD800\\x\"", 16 } },
    { NO, { "\"\\\\\\\"", 5 } },
    { NO, { "\"\\a\"", 4 } },
    { NO, { "\"\\v\"", 4 } },
    { NO, { "'single'", 8 } },
    { NO, { "`", 1 } },
    { NO, { "\"a\x0a" "b\"", 5 } },
    { NO, { "\"a\x09" "b\"", 5 } },
    { NO, { "\"\x1f\"", 3 } },
    { NO, { "[\x0c]", 3 } },
    { NO, { "[\x0b]", 3 } },
    { NO, { "{", 1 } },
    { NO, { "{\"a\"", 4 } },
    { NO, { "{\"a\":", 5 } },
    { NO, { "{\"a\":1", 6 } },
    { NO, { "{\"a\":1,", 7 } },
    { NO, { "{\"a\":1,}", 8 } },
    { NO, { "{\"a\":1,,\"b\":2}", 14 } },
    { NO, { "{,}", 3 } },
    { NO, { "{\"a\" 1}", 7 } },
    { NO, { "{\"a\"::1}", 8 } },
    { NO, { "{a:1}", 5 } },
    { NO, { "{'a':1}", 7 } },
    { NO, { "{1:1}", 5 } },
    { NO, { "{null:null}", 11 } },
    { NO, { "{\"a\":1 \"b\"}", 11 } },
    { NO, { "{\"x\", null}", 11 } },
    { NO, { "{\"a\":/*c*/1}", 12 } },
    { NO, { "/**/[]", 6 } },
    { NO, { "[]//", 4 } },
    { NO, { "{\"a\":true}#", 11 } },
    { NO, { "[] x", 4 } },
    { NO, { "[]]", 3 } },
    { NO, { "{}}", 3 } },
    { NO, { "[1]x", 4 } },
    { NO, { "1]", 2 } },
    { NO, { "\"a\" \"b\"", 7 } },
    { NO, { "{\"a\":\"a\" 123}", 13 } },
    { NO, { "{[", 2 } },
    { NO, { "[{", 2 } },
    { NO, { "[{}", 3 } },
    { NO, { "[{\"\":[{\"\":", 10 } },
    { NO, { "[\"a\\", 4 } },
    { NO, { "*", 1 } },
    { NO, { "&", 1 } },
    { NO, { "<.>", 3 } },
    { NO, { "123\x00", 4 } },
    { NO, { "[1\x00]", 4 } },
    { NO, { "\xc2\xa0[]", 4 } },
    { NO, { "[\xe2\x81\xa0]", 5 } },
    { NO, { "\xef\xbb\xbf\xef\xbb\xbf[]", 8 } },
    { NO, { "\"\\ud8", 5 } },
    { NO, { "{\"k\":\"v\"", 8 } },
    { NO, { "[1]]", 4 } },
    { NO, { "{\"a\":b}", 7 } },
    { NO, { "{\"\xf0\x9f\x87\xa8\": }", 10 } },
    { NO, { "]", 1 } },
    { NO, { "}", 1 } },
    { NO, { ":", 1 } },
    { NO, { ",", 1 } },
    { NO, { "\"\xff\"", 3 } },
    { NO, { "\"\xe6\x97\"", 4 } },
    { NO, { "\"\xc0\xaf\"", 4 } },
    { NO, { "\"\xed\xa0\x80\"", 5 } },
    { NO, { "\"\xf4\xbf\xbf\xbf\"", 6 } },
    { NO, { "\"\x80\"", 3 } },
    { NO, { "[\xff]", 3 } },
    { NO, { "{\"\xb9\":0}", 7 } },
    { NO, { "\xe5", 1 } },
    { EITHER, { "\xef\xbb\xbf{}", 5 } },
    { EITHER, { "\"\\uD800\"", 8 } },
    { EITHER, { "\"\\uDd1ea\"", 9 } },
    { EITHER, { "\"\\uD800\\n\"", 10 } },
    { EITHER, { "\"\\uD888\\u1234\"", 14 } },
    { EITHER, { "1e400", 5 } },
    { EITHER, { "-1e9999", 7 } },
    { EITHER, { "0.4e00669999999999999999999999999999999999999", 45 } },
    { EITHER, { "123123e100000", 13 } },
    { EITHER, { "100000000000000000000", 21 } },
    { EITHER, { "-123123123123123123123123123123", 31 } },
    { EITHER, { "1.5e-9999", 9 } },
};
/* clang-format on */

/* The parser gets memory of exactly the text's size, so that a sanitizer sees a read beyond it. */
static bool is_accepted(struct str text)
{
    char *copy = mem_resize(NULL, text.len == 0 ? 1 : text.len);
    struct json_fault fault;
    struct json_doc doc;
    struct arena arena;
    bool accepted;

    memcpy(copy, text.data, text.len);
    arena_init(&arena);
    accepted = json_read(str_from(copy, text.len), &arena, &doc, &fault) == 0;
    if (!accepted)
        CHECK(fault.error != NULL && fault.at <= text.len);
    arena_done(&arena);
    free(copy);
    return accepted;
}

TEST(json_texts_are_accepted_and_refused_as_the_standard_says)
{
    size_t accepted = 0, refused = 0;

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        bool yes = is_accepted(texts[i].text);

        if (texts[i].verdict != EITHER && yes != (texts[i].verdict == YES))
            fail_msg("%zu: '%.*s' was %s", i, STR_ARG(texts[i].text), yes ? "accepted" : "refused");
        accepted += yes;
        refused += !yes;
    }
    CHECK(accepted > 50 && refused > 100);
}
