/* print.c - control characters made visible. */
#include "cli/print.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Bytes of a control character at the start of `s`; 0: there is none. U+0080 to U+009F have two. */
static size_t control_bytes(struct str s)
{
    unsigned char c = (unsigned char)s.data[0];

    if (c < ' ' || c == 0x7f)
        return 1;
    return c == 0xc2 && s.len > 1 && ((unsigned char)s.data[1] & 0xe0) == 0x80 ? 2 : 0;
}

void print_visible(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.len;) {
        size_t n = control_bytes(str_from(s.data + i, s.len - i));

        if (n == 0)
            buf_add_char(out, s.data[i]);
        else
            buf_printf(out, "\\x%02x", (unsigned char)s.data[i + n - 1]);
        i += n == 0 ? 1 : n;
    }
}

/* Means nothing in a URL; a dot does, in "..". */
static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

void print_encoded(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        buf_printf(out, is_plain(s.data[i]) ? "%c" : "%%%02x", (unsigned char)s.data[i]);
}

void say(FILE *out, const char *format, ...)
{
    const size_t n = strlen(format);
    const bool ends_line = n > 0 && format[n - 1] == '\n';
    va_list args, again;
    struct buf text;
    char *raw;
    int len;

    va_start(args, format);
    va_copy(again, args);
    len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    buf_init(&text, SIZE_MAX);
    if (len > 0) {
        raw = mem_new((size_t)len + 1);
        (void)vsnprintf(raw, (size_t)len + 1, format, again);
        print_visible(&text, str_from(raw, (size_t)len - ends_line));
        free(raw);
    }
    va_end(again);
    if (ends_line)
        buf_add_char(&text, '\n');
    (void)fwrite(text.data, 1, text.len, out);
    buf_done(&text);
}
