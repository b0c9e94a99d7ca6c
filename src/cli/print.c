/* print.c - control characters made visible. */
#include "cli/print.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* U+200E, U+200F, U+2028 to U+202E and U+2066 to U+2069 turn the direction of text or break lines.
 */
static bool is_direction(unsigned char second, unsigned char third)
{
    if (second == 0x80)
        return third == 0x8e || third == 0x8f || (third >= 0xa8 && third <= 0xae);
    return second == 0x81 && third >= 0xa6 && third <= 0xa9;
}

/* Bytes of the control character that `s` starts with; 0: it starts with another. U+0080 to U+009F
 * have two, those that turn the direction of text have three. */
static size_t control_bytes(struct str s)
{
    const unsigned char *c = (const unsigned char *)s.data;

    if (c[0] < ' ' || c[0] == 0x7f)
        return 1;
    if (c[0] == 0xe2 && s.len > 2 && is_direction(c[1], c[2]))
        return 3;
    return c[0] == 0xc2 && s.len > 1 && (c[1] & 0xe0) == 0x80 ? 2 : 0;
}

void print_visible(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.len;) {
        size_t n = control_bytes(str_from(s.data + i, s.len - i));

        if (n == 0)
            buf_add_char(out, s.data[i]);
        else if (n == 3)
            buf_printf(out, "\\u20%02x",
                       ((unsigned)s.data[i + 1] & 1) << 6 | ((unsigned)s.data[i + 2] & 0x3f));
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
    BUF_SCOPED(text, SIZE_MAX);
    char *raw;
    int len;

    va_start(args, format);
    va_copy(again, args);
    len = vsnprintf(NULL, 0, format, args);
    va_end(args);
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
}
