/* err.c - filling and wrapping errors. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text that was cut may end within a character of UTF-8: drops what is left of it. */
static void end_at_character(char *text)
{
    size_t len = strlen(text), tail = 0;

    if (len + 1 < ERR_TEXT_MAX)
        return;
    while (tail < 4 && tail < len && ((unsigned char)text[len - 1 - tail] & 0xc0) == 0x80)
        tail++;
    if (tail < len && ((unsigned char)text[len - 1 - tail] & 0x80) != 0)
        text[len - 1 - tail] = '\0';
}

int err_set(struct error *err, enum err_code code, const char *fmt, ...)
{
    va_list args;

    if (err == NULL)
        return -1;
    err->code = code;
    va_start(args, fmt);
    (void)vsnprintf(err->text, sizeof(err->text), fmt, args);
    va_end(args);
    end_at_character(err->text);
    return -1;
}

int err_wrap(struct error *err, const char *fmt, ...)
{
    char inner[ERR_TEXT_MAX];
    va_list args;
    size_t used;

    if (err == NULL)
        return -1;
    memcpy(inner, err->text, sizeof(inner));
    va_start(args, fmt);
    (void)vsnprintf(err->text, sizeof(err->text), fmt, args);
    va_end(args);
    used = strlen(err->text);
    (void)snprintf(err->text + used, sizeof(err->text) - used, ": %s", inner);
    end_at_character(err->text);
    return -1;
}

const char *err_text(enum err_code code)
{
#define ERR_NAME(code, text) text,
    static const char *const texts[] = { ERR_MAP(ERR_NAME) };
#undef ERR_NAME

    return (size_t)code < COUNT_OF(texts) ? texts[code] : "unknown error";
}

void err_die(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)fputs("muster: ", stderr);
    (void)vfprintf(stderr, fmt, args);
    (void)fputc('\n', stderr);
    va_end(args);
    abort();
}

void base_assert_failed(const char *condition, const char *file, int line, const char *function)
{
    err_die("%s:%d: %s: assertion failed: %s", file, line, function, condition);
}
