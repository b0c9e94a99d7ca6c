/* exposition.c - heads, samples and their labels. */
#include "api/exposition.h"

#include <stdio.h>

#include "base/metrics.h"

void exposition_begin(struct exposition *e, struct buf *out, size_t bytes_max)
{
    *e = (struct exposition){ .out = out,
                              .part_end = bytes_max == SIZE_MAX ? SIZE_MAX : out->len + bytes_max };
}

void exposition_head(struct exposition *e, const char *name, const char *type, const char *help)
{
    metric_print_head(e->out, name, type, help);
}

/* Backslash, quote and line feed have escapes; every other byte stands for itself. */
static void add_escaped(struct buf *out, struct str value)
{
    for (size_t i = 0; i < value.len; i++) {
        char c = value.data[i];

        if (c == '\\' || c == '"')
            buf_add_char(out, '\\');
        if (c == '\n')
            buf_add_c(out, "\\n");
        else
            buf_add_char(out, c);
    }
}

void exposition_add(struct exposition *e, const char *name, const struct exposition_label *labels,
                    size_t n, struct str value)
{
    if (e->cut || e->out->len >= e->part_end) {
        e->cut = true;
        return;
    }
    buf_add_c(e->out, name);
    for (size_t i = 0; i < n; i++) {
        buf_printf(e->out, "%s%s=\"", i == 0 ? "{" : ",", labels[i].name);
        add_escaped(e->out, utf8_cut(labels[i].value, EXPOSITION_LABEL_MAX));
        buf_add_char(e->out, '"');
    }
    buf_add_c(e->out, n == 0 ? " " : "} ");
    buf_add(e->out, value);
    buf_add_char(e->out, '\n');
}

void exposition_add_int(struct exposition *e, const char *name,
                        const struct exposition_label *labels, size_t n, int64_t value)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%lld", (long long)value);
    exposition_add(e, name, labels, n, str_of(text));
}
