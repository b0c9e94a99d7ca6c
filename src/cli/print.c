/* print.c - control characters made visible. */
#include "cli/print.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"

/* Bytes of a control character at the start of `s`; 0: there is none. U+0080 to U+009F have two. */
static size_t control_bytes(struct str s)
{
    unsigned char c = (unsigned char)s.data[0];

    if (c < ' ' || c == 0x7f)
        return 1;
    return c == 0xc2 && s.len > 1 && ((unsigned char)s.data[1] & 0xe0) == 0x80 ? 2 : 0;
}

static void say_text(FILE *out, struct str s)
{
    for (size_t i = 0; i < s.len;) {
        size_t n = control_bytes(str_from(s.data + i, s.len - i));

        if (n == 0)
            (void)fputc(s.data[i], out);
        else
            (void)fprintf(out, "\\x%02x", (unsigned char)s.data[i + n - 1]);
        i += n == 0 ? 1 : n;
    }
}

void say(FILE *out, const char *format, ...)
{
    const size_t n = strlen(format);
    const bool ends_line = n > 0 && format[n - 1] == '\n';
    struct arena arena;
    va_list args, again;
    char *text;
    int len;

    va_start(args, format);
    va_copy(again, args);
    len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    arena_init(&arena);
    if (len > 0) {
        text = arena_alloc(&arena, (size_t)len + 1);
        (void)vsnprintf(text, (size_t)len + 1, format, again);
        say_text(out, str_from(text, (size_t)len - ends_line));
    }
    if (ends_line)
        (void)fputc('\n', out);
    va_end(again);
    arena_done(&arena);
}
