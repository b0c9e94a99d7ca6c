/* test_diff.c - differences that lead from one text to the other. */
#include "features/agents/documents/diff.h"

#include "base/buf.h"
#include "base/digest.h"
#include "test.h"

static struct str diff(struct arena *arena, struct str old, struct str new)
{
    const struct diff_side a = { old, STR_LIT("a") }, b = { new, STR_LIT("b") };

    return diff_unified(&a, &b, arena);
}

TEST(the_unified_form_is_that_of_diff)
{
    static const struct {
        const char *old, *new, *diff;
    } rows[] = {
        { "", "", "" },
        { "x\n", "x\n", "" },
        { "", "x\n", "--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n" },
        { "x\n", "", "--- a\n+++ b\n@@ -1 +0,0 @@\n-x\n" },
        { "x\n", "y\n", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n" },
        { "x", "x\n", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x\n" },
        { "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
          "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n" },
        { "a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n", /* contexts that touch */
          "--- a\n+++ b\n@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n" },
        { "a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n", /* and that do not */
          "--- a\n+++ b\n@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n"
          "@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n" },
        { "a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", /* the example of Myers' paper */
          "--- a\n+++ b\n@@ -1,7 +1,6 @@\n-a\n-b\n c\n-a\n b\n+a\n b\n a\n+c\n" },
    };
    struct arena arena;

    digest_init();
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        CHECK_STR(diff(&arena, str_of(rows[i].old), str_of(rows[i].new)), rows[i].diff);
    arena_done(&arena);
}

static struct str random_lines(struct arena *arena, size_t n, uint32_t words)
{
    struct str text;
    struct buf out;

    buf_init(&out, SIZE_MAX);
    for (size_t i = 0; i < n; i++)
        buf_printf(&out, "%u%s", digest_random_below(words),
                   i + 1 == n && digest_random_below(2) == 0 ? "" : "\n");
    text = arena_copy(arena, buf_str(&out));
    buf_done(&out);
    return text;
}

/* One side of a difference with all lines in one hunk. */
static void check_side(struct str diff_text, struct str whole, char other)
{
    struct str rest = diff_text;
    struct buf side;

    buf_init(&side, SIZE_MAX);
    for (int head = 0; head < 3; head++)
        (void)str_split(&rest, '\n');
    while (rest.len > 0) {
        struct str line = str_split(&rest, '\n');

        if (line.data[0] == other)
            line = STR_NULL;
        if (rest.len > 0 && rest.data[0] == '\\') { /* the line before has no newline */
            (void)str_split(&rest, '\n');
            if (!str_is_null(line))
                buf_add(&side, str_from(line.data + 1, line.len - 1));
        } else if (!str_is_null(line)) {
            buf_add(&side, str_from(line.data + 1, line.len - 1));
            buf_add_char(&side, '\n');
        }
    }
    if (!str_eq(buf_str(&side), whole))
        fail_msg("%.*s", STR_ARG(diff_text));
    buf_done(&side);
}

/* Few words, so that short texts have much in common; short, so that all is one hunk. */
TEST(a_difference_has_both_texts_in_it)
{
    struct arena arena;

    digest_init();
    arena_init(&arena);
    for (int round = 0; round < 2000; round++) {
        struct str old = random_lines(&arena, digest_random_below(5), 3);
        struct str new = random_lines(&arena, 1 + digest_random_below(4), 3);
        struct str text = diff(&arena, old, new);

        if (!str_eq(old, new)) {
            check_side(text, old, '+');
            check_side(text, new, '-');
        }
        arena_reset(&arena);
    }
    arena_done(&arena);
}

/* Nothing in common, and many lines: told as replaced, in bounded time. */
TEST(texts_that_differ_everywhere_are_replaced_whole)
{
    struct buf old, new;
    struct arena arena;
    struct str text;

    digest_init();
    arena_init(&arena);
    buf_init(&old, SIZE_MAX);
    buf_init(&new, SIZE_MAX);
    buf_add_c(&old, "same\n");
    buf_add_c(&new, "same\n");
    for (int i = 0; i < 100000; i++) {
        buf_printf(&old, "old %d\n", i);
        buf_printf(&new, "new %d\n", i);
    }
    text = diff(&arena, buf_str(&old), buf_str(&new));
    CHECK(str_starts(text,
                     STR_LIT("--- a\n+++ b\n@@ -1,100001 +1,100001 @@\n same\n-old 0\n-old 1\n")));
    CHECK(text.len > old.len + new.len);
    buf_done(&old);
    buf_done(&new);
    arena_done(&arena);
}
