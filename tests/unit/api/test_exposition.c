/* test_exposition.c - samples are escaped, and a full part is cut between two of them. */
#include "api/exposition.h"
#include "test.h"

TEST(labels_are_escaped_and_nothing_else_is)
{
    const struct exposition_label labels[] = { { "a", STR_LIT("q\" b\\ n\n t\t \xc3\xbc") },
                                               { "b", STR_NULL } };
    struct exposition e;
    struct buf out;

    buf_init(&out, 1000);
    exposition_begin(&e, &out, 1000);
    exposition_head(&e, "m", "gauge", "Help");
    exposition_add_int(&e, "m", labels, COUNT_OF(labels), INT64_MIN);
    exposition_add(&e, "m", NULL, 0, STR_LIT("0.10"));
    CHECK_STR(buf_str(&out), "# HELP m Help.\n# TYPE m gauge\n"
                             "m{a=\"q\\\" b\\\\ n\\n t\t \xc3\xbc\",b=\"\"} -9223372036854775808\n"
                             "m 0.10\n");
    CHECK(!e.cut);
    buf_done(&out);
}

TEST(a_full_part_leaves_whole_samples_out_and_says_so)
{
    struct exposition e;
    struct buf out;

    buf_init(&out, 1000);
    buf_add_c(&out, "before\n");
    exposition_begin(&e, &out, 8);
    exposition_add(&e, "abc", NULL, 0, STR_LIT("1")); /* 6 bytes: there is room for one more */
    exposition_add(&e, "abc", NULL, 0, STR_LIT("2"));
    CHECK(!e.cut);
    exposition_add(&e, "abc", NULL, 0, STR_LIT("3"));
    CHECK(e.cut);
    CHECK_STR(buf_str(&out), "before\nabc 1\nabc 2\n");
    exposition_begin(&e, &out, 8);
    exposition_add(&e, "abc", NULL, 0, STR_LIT("4"));
    CHECK_STR(buf_str(&out), "before\nabc 1\nabc 2\nabc 4\n");
    CHECK(!e.cut);
    buf_done(&out);
}

TEST(a_long_label_is_cut_between_characters)
{
    char text[EXPOSITION_LABEL_MAX + 1] = { 0 };
    struct exposition_label label = { "a", str_from(text, sizeof(text)) };
    struct exposition e;
    struct buf out;

    memset(text, 'x', sizeof(text));
    memcpy(text + EXPOSITION_LABEL_MAX - 1, "\xc3\xbc", 2);
    buf_init(&out, 2 * sizeof(text));
    exposition_begin(&e, &out, 1000);
    exposition_add_int(&e, "m", &label, 1, 1);
    CHECK_INT(out.len, strlen("m{a=\"\"} 1\n") + EXPOSITION_LABEL_MAX - 1);
    buf_done(&out);
}
