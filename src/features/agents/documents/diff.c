/* diff.c - Myers' greedy difference with a bound, and its unified form. */
#include "features/agents/documents/diff.h"

#include "base/buf.h"
#include "base/digest.h"

/* EDITS_MAX also limits the memory, to twice its square in bytes. */
enum { CONTEXT = 3, EDITS_MAX = 1500, STEPS_MAX = 20000000 };

struct line {
    struct str text; /* with its newline; the last line may have none */
    uint64_t hash;
};

struct lines {
    struct line *items;
    bool *changed; /* removed from the old side, added to the new one */
    size_t n;
};

/* The lines of both sides between their common beginning and end. */
struct window {
    struct lines *old, *new;
    int64_t from; /* the same on both sides */
    int64_t n, m; /* lines of old and new in it */
    int64_t steps;
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

static struct window trim(struct lines *old, struct lines *new)
{
    size_t least = old->n < new->n ? old->n : new->n, from = 0, till = 0;

    while (from < least && is_same(&old->items[from], &new->items[from]))
        from++;
    while (till < least - from &&
           is_same(&old->items[old->n - 1 - till], &new->items[new->n - 1 - till]))
        till++;
    return (struct window){ .old = old,
                            .new = new,
                            .from = (int64_t)from,
                            .n = (int64_t)(old->n - from - till),
                            .m = (int64_t)(new->n - from - till) };
}

/* The x at which the equal lines that begin at (x, y) end. */
static int64_t slide(struct window *w, int64_t x, int64_t y)
{
    while (x < w->n && y < w->m &&
           is_same(&w->old->items[w->from + x], &w->new->items[w->from + y])) {
        x++;
        y++;
        w->steps++;
    }
    return x;
}

/* Does the furthest path to diagonal `k` with `d` edits come from diagonal k + 1, by an added line?
 * `before` has the paths with one edit less. */
static bool comes_down(const int32_t *before, int64_t d, int64_t k)
{
    return k == -d || (k != d && before[(k + d - 2) / 2] < before[(k + d) / 2]);
}

/* trace[d] has, for each diagonal k = -d, -d + 2 … d, the furthest x that d edits reach. Returns
 * the fewest edits that reach the end, or -1 when there are too many. */
static int64_t search(struct window *w, int32_t **trace, struct arena *arena)
{
    for (int64_t d = 0; d <= EDITS_MAX && w->steps <= STEPS_MAX; d++) {
        trace[d] = arena_alloc(arena, sizeof(int32_t) * (size_t)(d + 1));
        for (int64_t k = -d; k <= d; k += 2) {
            const int32_t *before = d == 0 ? NULL : trace[d - 1];
            int64_t x = 0;

            if (d > 0)
                x = comes_down(before, d, k) ? before[(k + d) / 2] : before[(k + d - 2) / 2] + 1;
            x = slide(w, x, x - k);
            w->steps++;
            trace[d][(k + d) / 2] = (int32_t)x;
            if (x >= w->n && x - k >= w->m)
                return d;
        }
    }
    return -1;
}

/* Follows the path back from the end and marks each edit. */
static void mark(const struct window *w, int32_t *const *trace, int64_t edits)
{
    int64_t k = w->n - w->m;

    for (int64_t d = edits; d > 0; d--) {
        bool down = comes_down(trace[d - 1], d, k);
        int64_t x = trace[d - 1][down ? (k + d) / 2 : (k + d - 2) / 2];

        k += down ? 1 : -1;
        if (down)
            w->new->changed[w->from + x - k] = true;
        else
            w->old->changed[w->from + x] = true;
    }
}

static void mark_all(const struct window *w)
{
    for (int64_t i = 0; i < w->n; i++)
        w->old->changed[w->from + i] = true;
    for (int64_t i = 0; i < w->m; i++)
        w->new->changed[w->from + i] = true;
}

static void compare(struct lines *old, struct lines *new)
{
    struct window w = trim(old, new);
    ARENA_SCOPED(arena);
    int32_t **trace;
    int64_t edits;

    trace = ARENA_ARRAY(&arena, int32_t *, EDITS_MAX + 1);
    edits = search(&w, trace, &arena);
    if (edits >= 0)
        mark(&w, trace, edits);
    else
        mark_all(&w);
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
