/* diff.c - the longest common subsequence of lines, and the difference in its unified form. */
#include "features/agents/documents/diff.h"

#include "base/buf.h"
#include "base/digest.h"

/* CELLS_MAX limits the work and the memory, to twice as many bytes: 2,000 lines by as many. */
enum { CONTEXT = 3, CELLS_MAX = 4000000 };

struct line {
    struct str text; /* with its newline; the last line may have none */
    uint64_t hash;
};

struct lines {
    struct line *items;
    bool *changed; /* removed from the old side, added to the new one */
    size_t n;
};

static size_t count_lines(struct str text)
{
    size_t n = text.len > 0 && text.data[text.len - 1] != '\n';

    for (size_t i = 0; i < text.len; i++)
        n += text.data[i] == '\n';
    return n;
}

static struct lines split(struct str text, struct arena *arena)
{
    struct lines lines = { .n = count_lines(text) };
    size_t at = 0;

    lines.items = ARENA_ARRAY(arena, struct line, lines.n);
    lines.changed = ARENA_ARRAY(arena, bool, lines.n);
    for (size_t i = 0; i < lines.n; i++) {
        const char *end = memchr(text.data + at, '\n', text.len - at);
        size_t len = end == NULL ? text.len - at : (size_t)(end - text.data) + 1 - at;

        lines.items[i].text = str_from(text.data + at, len);
        lines.items[i].hash = digest_sip(lines.items[i].text);
        at += len;
    }
    return lines;
}

static bool is_same(const struct line *a, const struct line *b)
{
    return a->hash == b->hash && str_eq(a->text, b->text);
}

/* The lines of both sides between their common beginning and end. */
struct middle {
    struct line *old, *new;
    size_t n, m;
};

/* For each line i of the old side and j of the new one: of the lines from there on, how many the
 * longest common subsequence has. Rows are m + 1 long. */
static uint16_t *count_common(const struct middle *of, struct arena *arena)
{
    const size_t width = of->m + 1;
    uint16_t *common = ARENA_ARRAY(arena, uint16_t, (of->n + 1) * width);

    for (size_t i = of->n; i-- > 0;)
        for (size_t j = of->m; j-- > 0;) {
            uint16_t *at = &common[i * width + j];

            if (is_same(&of->old[i], &of->new[j]))
                *at = (uint16_t)(at[width + 1] + 1);
            else
                *at = at[1] > at[width] ? at[1] : at[width];
        }
    return common;
}

static void mark_differences(const struct middle *of, bool *removed, bool *added)
{
    const size_t width = of->m + 1;
    ARENA_SCOPED(arena);
    const uint16_t *common = count_common(of, &arena);
    size_t i = 0, j = 0;

    while (i < of->n && j < of->m) {
        const uint16_t *at = &common[i * width + j];

        if (is_same(&of->old[i], &of->new[j])) {
            i++;
            j++;
        } else if (at[width] >= at[1]) {
            removed[i++] = true;
        } else {
            added[j++] = true;
        }
    }
    while (i < of->n)
        removed[i++] = true;
    while (j < of->m)
        added[j++] = true;
}

static void compare(struct lines *old, struct lines *new)
{
    const size_t least = old->n < new->n ? old->n : new->n;
    size_t from = 0, till = 0;
    struct middle middle;

    while (from < least && is_same(&old->items[from], &new->items[from]))
        from++;
    while (till < least - from &&
           is_same(&old->items[old->n - 1 - till], &new->items[new->n - 1 - till]))
        till++;
    middle = (struct middle){ old->items + from, new->items + from, old->n - from - till,
                              new->n - from - till };
    if (middle.n == 0 || middle.m <= CELLS_MAX / middle.n) {
        mark_differences(&middle, old->changed + from, new->changed + from);
        return;
    }
    memset(old->changed + from, true, middle.n * sizeof(bool));
    memset(new->changed + from, true, middle.m * sizeof(bool));
}

static void add_line(struct buf *out, char prefix, const struct line *line)
{
    buf_add_char(out, prefix);
    buf_add(out, line->text);
    if (line->text.data[line->text.len - 1] != '\n')
        buf_add_c(out, "\n\\ No newline at end of file\n");
}

/* A position in both texts. */
struct diff_pos {
    size_t old, new;
};

static bool is_end(const struct lines *old, const struct lines *new, struct diff_pos at)
{
    return at.old == old->n && at.new == new->n;
}

static bool is_changed(const struct lines *old, const struct lines *new, struct diff_pos at)
{
    return (at.old < old->n && old->changed[at.old]) || (at.new < new->n &&new->changed[at.new]);
}

/* Moves past one block of changes, or past one unchanged line. */
static struct diff_pos step(const struct lines *old, const struct lines *new, struct diff_pos at)
{
    if (!is_changed(old, new, at))
        return (struct diff_pos){ at.old + 1, at.new + 1 };
    while (at.old < old->n && old->changed[at.old])
        at.old++;
    while (at.new < new->n &&new->changed[at.new])
        at.new ++;
    return at;
}

/* The end of the hunk whose first change is at `at`: after the trailing context of its last change.
 * Changes with at most two contexts of equal lines between them share a hunk. */
static struct diff_pos hunk_end(const struct lines *old, const struct lines *new,
                                struct diff_pos at)
{
    struct diff_pos end = at;
    size_t same = 0;

    while (!is_end(old, new, at) && same <= (size_t)2 * CONTEXT) {
        bool changed = is_changed(old, new, at);

        at = step(old, new, at);
        same = changed ? 0 : same + 1;
        if (same <= CONTEXT)
            end = at;
    }
    return end;
}

/* A range of lines as in a hunk header; an empty one has the number of the line before it. */
static void add_range(struct buf *out, char prefix, size_t from, size_t till)
{
    buf_printf(out, "%c%zu", prefix, from == till ? from : from + 1);
    if (till - from != 1)
        buf_printf(out, ",%zu", till - from);
}

static void add_hunk(struct buf *out, const struct lines *old, const struct lines *new,
                     struct diff_pos from, struct diff_pos till)
{
    buf_add_c(out, "@@ ");
    add_range(out, '-', from.old, till.old);
    buf_add_char(out, ' ');
    add_range(out, '+', from.new, till.new);
    buf_add_c(out, " @@\n");
    while (from.old < till.old || from.new < till.new) {
        struct diff_pos next = step(old, new, from);

        if (!is_changed(old, new, from)) {
            add_line(out, ' ', &old->items[from.old]);
        } else {
            for (size_t i = from.old; i < next.old; i++)
                add_line(out, '-', &old->items[i]);
            for (size_t i = from.new; i < next.new; i++)
                add_line(out, '+', &new->items[i]);
        }
        from = next;
    }
}

static void add_hunks(struct buf *out, const struct lines *old, const struct lines *new)
{
    struct diff_pos at = { 0, 0 };
    size_t same = 0; /* lines before `at` that are neither changed nor in a hunk */

    while (!is_end(old, new, at)) {
        if (is_changed(old, new, at)) {
            size_t before = same < CONTEXT ? same : CONTEXT;
            struct diff_pos end = hunk_end(old, new, at);

            add_hunk(out, old, new, (struct diff_pos){ at.old - before, at.new - before }, end);
            at = end;
            same = 0;
        } else {
            at = step(old, new, at);
            same++;
        }
    }
}

struct str diff_unified(const struct diff_side *old, const struct diff_side *new,
                        struct arena *arena)
{
    struct lines before, after;
    BUF_SCOPED(out, SIZE_MAX); /* bounded: a few bytes per line more than the texts */

    if (str_eq(old->text, new->text))
        return STR_LIT("");
    before = split(old->text, arena);
    after = split(new->text, arena);
    compare(&before, &after);
    buf_printf(&out, "--- %.*s\n+++ %.*s\n", STR_ARG(old->label), STR_ARG(new->label));
    add_hunks(&out, &before, &after);
    return buf_take(&out, arena);
}
