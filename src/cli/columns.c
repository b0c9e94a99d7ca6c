/* columns.c - lists as tables. */
#include "cli/columns.h"

#include <assert.h>
#include <stdio.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/template.h"
#include "shape/shape.h"
#include "shape/utf8.h"

enum { COLUMNS_MAX = 12, GAP = 2 };

static struct str cell_text(struct invocation *in, const struct column *column,
                            const struct shape *shape, const void *item)
{
    BUF_SCOPED(out, SIZE_MAX);

    if (column->cell_of != NULL)
        return str_of(column->cell_of(item));
    template_write(in, shape, item, column->cell, &out);
    return buf_take(&out, &in->arena);
}

/* One line; what is empty is shown as "-", so that columns can be counted. */
static void print_cells(const struct str *cells, const size_t *widths, size_t n)
{
    BUF_SCOPED(line, SIZE_MAX);

    for (size_t c = 0; c < n; c++) {
        const struct str text = cells[c].len == 0 ? STR_LIT("-") : cells[c];

        buf_add(&line, text);
        for (size_t w = utf8_count(text); c + 1 < n && w < widths[c] + GAP; w++)
            buf_add_char(&line, ' ');
    }
    buf_add_char(&line, '\n');
    (void)fwrite(line.data, 1, line.len, stdout);
}

void columns_print(struct invocation *in, const struct field *field, const void *answer,
                   bool header)
{
    const struct column *columns = in->command->columns;
    const struct list *list = (const void *)((const char *)answer + field->offset);
    size_t widths[COLUMNS_MAX] = { 0 }, n = 0;
    struct str *cells;

    while (columns[n].title != NULL)
        n++;
    assert(n <= COLUMNS_MAX);
    cells = ARENA_ARRAY(&in->arena, struct str, (list->n + 1) * n);
    for (size_t c = 0; c < n; c++)
        cells[c] = str_of(columns[c].title);
    for (size_t i = 0; i < list->n; i++)
        for (size_t c = 0; c < n; c++)
            cells[(i + 1) * n + c] = cell_text(in, &columns[c], field->nested,
                                               (const char *)list->items + i * field->nested->size);
    for (size_t i = 0; i < (list->n + 1) * n; i++)
        widths[i % n] = utf8_count(cells[i]) > widths[i % n] ? utf8_count(cells[i]) : widths[i % n];
    for (size_t i = header ? 0 : 1; i <= list->n; i++)
        print_cells(cells + i * n, widths, n);
}
