/* test_json_texts.c - texts that every JSON parser must accept, or must refuse (RFC 8259), and
 * those that it may treat either way, which only must do no harm. The kinds of texts follow the
 * categories of JSONTestSuite. */
#include <stdlib.h>

#include "base/mem.h"
#include "shape/json.h"
#include "test.h"

/* clang-format off */
#define T STR_INIT
static const struct str valid[] = {
    T("[]"), T("[ ]"), T("{}"), T("{ }"), T("null"), T("true"), T("false"), T("0"), T("-0"),
    T("42"), T("-1"), T("1E22"), T("1e1"), T("1e+2"), T("1E-2"), T("0e1"), T("0e+1"),
    T("123.456789"), T("[1,2]"), T(" [1] "), T("[1]\x0a"), T("\x09[]"), T("[1\x0a]"), T("\"\""),
    T("\" \""), T("\"asd\""), T("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), T("\"\\u0012\""),
    T("\"\\uD801\\udc37\""), T("\"\\ud83d\\ude39\\ud83d\\udc8d\""), T("\"\\u0000\""),
    T("\"\\u0061\\u30af\""), T("\"\\u002c\""), T("\"\\u0022\""), T("\"\\uFFFF\""),
    T("\"\\uDBFF\\uDFFE\""), T("\"a/*b*/c\""), T("\"\xe2\x82\xac\xf0\x9d\x84\x9e\""),
    T("\"\x7f\""), T("\"\xe2\x80\xa8\xe2\x80\xa9\""), T("\"\xef\xbb\xbf\""), T("{\"\":0}"),
    T("{\"a\":[]}"), T("{\"a\":\"b\",\"a\":\"c\"}"), T("{\"a\":\"b\",\"a\":\"b\"}"),
    T("{\"foo\\u0000bar\":42}"), T("{\"min\":-1.0e+28,\"max\":1.0e+28}"), T("[[]   ]"),
    T("[null,1,\"1\",{}]"), T("[1,null,null,null,2]"), T("[\"a\"]"),
    T("{\"title\":\"\\u041f\\u043e\"}"), T("-0.1"), T("20e1"), T("[-0]"), T("[-123]"), T("[1.0]"),
    T("1e-2"), T("\"\\uDADA\\uDEAD\""),
};

static const struct str invalid[] = {
    T(""), T("["), T("[1"), T("[1,"), T("[,"), T("[,1]"), T("[1,]"), T("[1,,]"), T("[1,,2]"),
    T("[\"\",]"), T("[\"x\""), T("[\"x\","), T("[3[4]]"), T("[1 true]"), T("[1:2]"),
    T("[\"\": 1]"), T("[\"a\",\x0a" "4\x0a,1,"), T("[a"), T("[*]"), T("[\x0a" "1\x0a,1"),
    T("[<null>]"), T("[1 000.0]"), T("+1"), T("[++1234]"), T("[-01]"), T("-"), T("[-]"),
    T("[-1.0.]"), T("[-2.]"), T("[.-1]"), T("[.2e-3]"), T(".5"), T("1."), T("0.1.2"), T("[0.3e]"),
    T("[0.3e+]"), T("0e"), T("0e+"), T("[0E]"), T("1.0e"), T("1.0e-"), T("1eE2"), T("[2.e3]"),
    T("[9.e+]"), T("012"), T("[-012]"), T("0x1"), T("[0x42]"), T("1+2"), T("[Inf]"), T("Infinity"),
    T("-Infinity"), T("NaN"), T("[-NaN]"), T("[nan]"), T("[1a]"), T("[1ea]"), T("[-x]"),
    T("1_000"), T("tru"), T("[fals]"), T("[nul]"), T("True"), T("NULL"), T("[TRUE]"), T("abc"),
    T("[abc"), T("\""), T("\"a"), T("\"\\"), T("\"\\x00\""), T("\"\\u\""), T("\"\\u00A\""),
    T("\"\\u12\""), T("\"\\uqqqq\""), T("\"\\uD800\\u\""), T("\"\\uD800\\u1\""),
    T("\"\\uD800\\uD800\\x\""), T("\"\\\\\\\""), T("\"\\a\""), T("\"\\v\""), T("'single'"), T("`"),
    T("\"a\x0a" "b\""), T("\"a\x09" "b\""), T("\"\x1f\""), T("[\x0c]"), T("[\x0b]"), T("{"),
    T("{\"a\""), T("{\"a\":"), T("{\"a\":1"), T("{\"a\":1,"), T("{\"a\":1,}"),
    T("{\"a\":1,,\"b\":2}"), T("{,}"), T("{\"a\" 1}"), T("{\"a\"::1}"), T("{a:1}"), T("{'a':1}"),
    T("{1:1}"), T("{null:null}"), T("{\"a\":1 \"b\"}"), T("{\"x\", null}"), T("{\"a\":/*c*/1}"),
    T("/**/[]"), T("[]//"), T("{\"a\":true}#"), T("[] x"), T("[]]"), T("{}}"), T("[1]x"), T("1]"),
    T("\"a\" \"b\""), T("{\"a\":\"a\" 123}"), T("{["), T("[{"), T("[{}"), T("[{\"\":[{\"\":"),
    T("[\"a\\"), T("*"), T("&"), T("<.>"), T("123\x00"), T("[1\x00]"), T("\xc2\xa0[]"),
    T("[\xe2\x81\xa0]"), T("\xef\xbb\xbf\xef\xbb\xbf[]"), T("\"\\ud8"), T("{\"k\":\"v\""),
    T("[1]]"), T("{\"a\":b}"), T("{\"\xf0\x9f\x87\xa8\": }"), T("]"), T("}"), T(":"), T(","),
    T("\"\xff\""), T("\"\xe6\x97\""), T("\"\xc0\xaf\""), T("\"\xed\xa0\x80\""),
    T("\"\xf4\xbf\xbf\xbf\""), T("\"\x80\""), T("[\xff]"), T("{\"\xb9\":0}"), T("\xe5"),
};

static const struct str either[] = {
    T("\xef\xbb\xbf{}"), T("\"\\uD800\""), T("\"\\uDd1ea\""), T("\"\\uD800\\n\""),
    T("\"\\uD888\\u1234\""), T("1e400"), T("-1e9999"),
    T("0.4e00669999999999999999999999999999999999999"), T("123123e100000"),
    T("100000000000000000000"), T("-123123123123123123123123123123"), T("1.5e-9999"),
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
    for (size_t i = 0; i < COUNT_OF(valid); i++)
        if (!is_accepted(valid[i]))
            fail_msg("'%.*s' was refused", STR_ARG(valid[i]));
    for (size_t i = 0; i < COUNT_OF(invalid); i++)
        if (is_accepted(invalid[i]))
            fail_msg("'%.*s' was accepted", STR_ARG(invalid[i]));
    for (size_t i = 0; i < COUNT_OF(either); i++)
        (void)is_accepted(either[i]);
}
