/* log.c - building and writing log lines. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/datetime.h"

enum { LINE_MAX_BYTES = 4096 };

static atomic_int least_level = LOG_INFO;

void log_set_level(enum log_level level)
{
    atomic_store(&least_level, (int)level);
}

bool log_wanted(enum log_level level)
{
    return (int)level >= atomic_load_explicit(&least_level, memory_order_relaxed);
}

void log_begin(struct log_line *line, enum log_level level, const char *event)
{
    static const char *const names[] = { "debug", "info", "warning", "error", "off" };
    char when[DATETIME_TEXT_MAX];

    buf_init(&line->text, LINE_MAX_BYTES);
    line->level = level;
    if (!log_wanted(level))
        return;
    buf_add(&line->text, datetime_format(clock_wall_us(), when));
    buf_printf(&line->text, " %s %s", names[level], event);
}

static bool is_plain(struct str value)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.data[i];

        if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\')
            return false;
    }
    return value.len > 0;
}

/* Everything but printable ASCII is escaped, C1 controls and terminal sequences included. */
static void add_quoted(struct buf *b, struct str value)
{
    buf_add_char(b, '"');
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.data[i];

        if (c == '"' || c == '\\')
            buf_printf(b, "\\%c", c);
        else if (c < ' ' || c >= 0x7f)
            buf_printf(b, "\\x%02x", c);
        else
            buf_add_char(b, (char)c);
    }
    buf_add_char(b, '"');
}

void log_str(struct log_line *line, const char *name, struct str value)
{
    if (!log_wanted(line->level))
        return;
    buf_printf(&line->text, " %s=", name);
    if (is_plain(value))
        buf_add(&line->text, value);
    else
        add_quoted(&line->text, value);
}

void log_int(struct log_line *line, const char *name, int64_t value)
{
    if (!log_wanted(line->level))
        return;
    buf_printf(&line->text, " %s=", name);
    buf_add_int(&line->text, value);
}

void log_end(struct log_line *line)
{
    size_t written = 0;

    if (line->text.overflown) /* the ceiling cut it: make room for the newline */
        line->text.overflown = false;
    if (line->text.len == LINE_MAX_BYTES)
        line->text.len--;
    if (line->text.len > 0)
        buf_add_char(&line->text, '\n');
    while (written < line->text.len) {
        ssize_t n = write(STDERR_FILENO, line->text.data + written, line->text.len - written);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break; /* a log that cannot be written has no place to report it */
        written += (size_t)n;
    }
    buf_done(&line->text);
}

void log_write(enum log_level level, const char *event, const char *fmt, ...)
{
    char sentence[1024];
    struct log_line line;
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(sentence, sizeof(sentence), fmt, args);
    va_end(args);
    log_begin(&line, level, event);
    log_str(&line, "msg", str_of(sentence));
    log_end(&line);
}
