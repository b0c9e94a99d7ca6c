/* log.c - building and writing log lines. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/datetime.h"

enum {
    LINE_MAX_BYTES = 4096,
    JSON_MAX_BYTES = 64 * 1024, /* the longest path, with every byte escaped */
    JSON_END_BYTES = 32,        /* kept for the end of a line whose fields did not all fit */
};

static atomic_int least_level = LOG_INFO, line_format = LOG_TEXT;

void log_set_level(enum log_level level)
{
    atomic_store(&least_level, (int)level);
}

void log_set_format(enum log_format format)
{
    atomic_store(&line_format, (int)format);
}

bool log_wanted(enum log_level level)
{
    return (int)level >= atomic_load_explicit(&least_level, memory_order_relaxed);
}

void log_begin(struct log_line *line, enum log_level level, const char *event)
{
    static const char *const names[] = { "debug", "info", "warning", "error", "off" };
    char when[DATETIME_TEXT_MAX];

    line->format = (enum log_format)atomic_load_explicit(&line_format, memory_order_relaxed);
    line->cut = false;
    buf_init(&line->text, line->format == LOG_JSON ? JSON_MAX_BYTES : LINE_MAX_BYTES);
    line->level = level;
    if (!log_wanted(level))
        return;
    if (line->format == LOG_JSON) {
        buf_add_c(&line->text, "{\"time\":\"");
        buf_add(&line->text, datetime_format(clock_wall_us(), when));
        buf_printf(&line->text, "\",\"level\":\"%s\",\"event\":\"%s\"", names[level], event);
        return;
    }
    buf_add(&line->text, datetime_format(clock_wall_us(), when));
    buf_printf(&line->text, " %s %s", names[level], event);
}

/* The code point that begins at `at`, and its length; U+FFFD and 1 for a byte that begins none. */
static uint32_t code_point(const char *at, const char *end, size_t *ret_len)
{
    const unsigned char first = (unsigned char)*at;
    const bool good = utf8_step(at, end, ret_len);
    uint32_t code = *ret_len == 1 ? first : first & (0xffU >> (*ret_len + 1));

    if (!good)
        *ret_len = 1;
    for (size_t i = 1; i < *ret_len; i++)
        code = code << 6 | ((unsigned char)at[i] & 0x3f);
    return good ? code : 0xfffd;
}

/* A JSON string of ASCII alone: no control reaches a terminal, and no invalid byte a reader. */
static void add_json(struct buf *b, struct str value)
{
    size_t len;

    buf_add_char(b, '"');
    for (size_t i = 0; i < value.len; i += len) {
        uint32_t code = code_point(value.data + i, value.data + value.len, &len);

        if (code == '"' || code == '\\')
            buf_printf(b, "\\%c", (char)code);
        else if (code >= ' ' && code < 0x7f)
            buf_add_char(b, (char)code);
        else if (code < 0x10000)
            buf_printf(b, "\\u%04x", code);
        else
            buf_printf(b, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
                       0xdc00 + (code & 0x3ff));
    }
    buf_add_char(b, '"');
}

/* Takes a field back that leaves no room for the end of the line. */
static void keep_if_fits(struct log_line *line, size_t before)
{
    if (!line->text.overflown && line->text.len + JSON_END_BYTES <= JSON_MAX_BYTES)
        return;
    line->text.len = before;
    line->text.overflown = false;
    line->cut = true;
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
    size_t before = line->text.len;

    if (!log_wanted(line->level))
        return;
    if (line->format == LOG_JSON) {
        buf_printf(&line->text, ",\"%s\":", name);
        add_json(&line->text, value);
        keep_if_fits(line, before);
        return;
    }
    buf_printf(&line->text, " %s=", name);
    if (is_plain(value))
        buf_add(&line->text, value);
    else
        add_quoted(&line->text, value);
}

void log_int(struct log_line *line, const char *name, int64_t value)
{
    size_t before = line->text.len;

    if (!log_wanted(line->level))
        return;
    if (line->format == LOG_JSON) {
        buf_printf(&line->text, ",\"%s\":%lld", name, (long long)value);
        keep_if_fits(line, before);
        return;
    }
    buf_printf(&line->text, " %s=", name);
    buf_add_int(&line->text, value);
}

void log_end(struct log_line *line)
{
    size_t written = 0;

    if (line->format == LOG_JSON && line->text.len > 0)
        buf_add_c(&line->text, line->cut ? ",\"cut\":true}" : "}");
    if (line->text.overflown) /* the ceiling cut it: make room for the newline */
        line->text.overflown = false;
    if (line->format == LOG_TEXT && line->text.len == LINE_MAX_BYTES)
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
