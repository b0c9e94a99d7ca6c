/* test_reference.c - references to secrets in values. */
#include "features/vault/secrets.h"

#include "base/buf.h"
#include "test.h"

/* The parts of a value: text as it is, names of secrets in angle brackets. */
static void check(const char *value, const char *expected)
{
    struct reference_part part;
    struct buf out;
    size_t at = 0;

    CHECK(reference_problem(str_of(value)) == NULL);
    buf_init(&out, KIB(1));
    while (reference_next(str_of(value), &at, &part)) {
        buf_add_char(&out, part.is_secret ? '<' : '|');
        buf_add(&out, part.text);
        buf_add_char(&out, part.is_secret ? '>' : '|');
    }
    CHECK_STR(buf_str(&out), expected);
    CHECK(reference_is_in(str_of(value)) == (strchr(expected, '<') != NULL));
    buf_done(&out);
}

TEST(a_value_is_cut_into_text_and_references)
{
    check("", "");
    check("text", "|text|");
    check("vault:A", "<A>");
    check("vault:a.b-c_9", "<a.b-c_9>");
    check(" vault:A", "| vault:A|");
    check("${vault:A}", "<A>");
    check("${vault:A}${vault:B}", "<A><B>");
    check("x${vault:A}y${vault:B}z", "|x|<A>|y|<B>|z|");
    check("${vault:A}:vault:B", "<A>|:vault:B|");
    check("$${vault:A}}", "|$|<A>|}|");
    check("${VAULT:A} $vault:A {vault:A}", "|${VAULT:A} $vault:A {vault:A}|");
    check("${", "|${|");
}

TEST(what_only_looks_like_a_reference_is_a_problem)
{
    static const char *const values[] = {
        "vault:",           "vault: A",       "vault:A B",          "vault:A/B",
        "vault:.A",         "vault:\xc3\xa9", "${vault:",           "${vault:}",
        "${vault:A",        "x${vault:A B}",  "${vault:A}${vault:", "${vault:${vault:A}}",
        "vault:${vault:A}",
    };

    for (size_t i = 0; i < COUNT_OF(values); i++)
        if (reference_problem(str_of(values[i])) == NULL)
            fail_msg("'%s' is taken", values[i]);
}
