/* buf.c - bytes that grow up to a ceiling. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){ .max = max };
}

void buf_done(struct buf *b)
{
    if (b == NULL)
        return;
    free(b->data);
    buf_init(b, b->max);
}

struct str buf_take(struct buf *b, struct arena *arena)
{
    struct str text = arena_copy(arena, buf_str(b));

    buf_done(b);
    return text;
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->overflown = false;
}

char *buf_reserve(struct buf *b, size_t n)
{
    if (b->overflown || n > b->max - b->len) {
        b->overflown = true;
        return NULL;
    }
    if (n > b->capacity - b->len) {
        size_t capacity = b->capacity < 128 ? 256 : b->capacity * 2;

        if (capacity < b->len + n)
            capacity = b->len + n;
        if (capacity > b->max)
            capacity = b->max;
        b->data = mem_resize(b->data, capacity);
        b->capacity = capacity;
    }
    return b->data + b->len;
}

void buf_added(struct buf *b, size_t n)
{
    b->len += n;
}

void buf_add(struct buf *b, struct str s)
{
    char *at;

    if (s.len == 0)
        return;
    at = buf_reserve(b, s.len);
    if (at == NULL)
        return;
    memcpy(at, s.data, s.len);
    b->len += s.len;
}

void buf_add_c(struct buf *b, const char *text)
{
    buf_add(b, str_of(text));
}

void buf_add_char(struct buf *b, char c)
{
    char *at = b->len < b->capacity && !b->overflown ? b->data + b->len : buf_reserve(b, 1);

    if (at == NULL)
        return;
    *at = c;
    b->len++;
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list args, again;
    char *at;
    int len;

    va_start(args, fmt);
    va_copy(again, args);
    len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (len < 0)
        err_die("buf: bad format '%s'", fmt);
    at = buf_reserve(b, (size_t)len + 1);
    if (at != NULL) {
        (void)vsnprintf(at, (size_t)len + 1, fmt, again);
        b->len += (size_t)len;
    }
    va_end(again);
}

void buf_add_int(struct buf *b, int64_t value)
{
    char digits[20];
    size_t n = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do {
        digits[sizeof(digits) - ++n] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        buf_add_char(b, '-');
    buf_add(b, str_from(digits + sizeof(digits) - n, n));
}

/* Does one of eight bytes have to be escaped: is it below 0x20, a quote or a backslash? To take n
 * from each sets the highest bit of a byte that is less than n; one that had it set before does not
 * count. A borrow reaches the byte above only from one that is less, so that nothing is missed. */
static bool has_escape(uint64_t x)
{
    const uint64_t ones = 0x0101010101010101, highs = ones << 7;
    uint64_t quote = x ^ ones * '"', slash = x ^ ones * '\\';

    return ((((x - ones * 0x20) & ~x) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash)) &
            highs) != 0;
}

/* How many bytes from the beginning are surely as they are in JSON; nearly all are, nearly always.
 */
static size_t plain_bytes(struct str s)
{
    size_t n = 0;
    uint64_t eight;

    for (; n + sizeof(eight) <= s.len; n += sizeof(eight)) {
        memcpy(&eight, s.data + n, sizeof(eight));
        if (has_escape(eight))
            break;
    }
    return n;
}

static void add_escape(struct buf *b, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char shorts[] = "btn_fr"; /* for 8 to 13; 11 has none */
    char escape[] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

    if (c == '"' || c == '\\') {
        escape[1] = (char)c;
        buf_add(b, str_from(escape, 2));
    } else if (c >= 8 && c <= 13 && c != 11) {
        escape[1] = shorts[c - 8];
        buf_add(b, str_from(escape, 2));
    } else {
        buf_add(b, str_from(escape, sizeof(escape)));
    }
}

size_t buf_json_len(struct str s)
{
    size_t n = s.len + 2;

    for (size_t i = plain_bytes(s); i < s.len; i++) {
        unsigned char c = (unsigned char)s.data[i];

        if (LIKELY(c >= 0x20 && c != '"' && c != '\\'))
            continue;
        n += c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f'
                 ? 1
                 : 5;
    }
    return n;
}

void buf_add_json(struct buf *b, struct str s)
{
    size_t from = 0;

    if (buf_reserve(b, s.len + 2) == NULL)
        return; /* before the text is looked at */
    buf_add_char(b, '"');
    for (size_t i = plain_bytes(s); i < s.len && !b->overflown; i++) {
        unsigned char c = (unsigned char)s.data[i];

        if (LIKELY(c >= 0x20 && c != '"' && c != '\\'))
            continue;
        buf_add(b, str_from(s.data + from, i - from));
        add_escape(b, c);
        from = i + 1;
    }
    if (s.len > from)
        buf_add(b, str_from(s.data + from, s.len - from));
    buf_add_char(b, '"');
}

void buf_add_percent(struct buf *b, struct str s)
{
    static const char hex[] = "0123456789ABCDEF";

    for (size_t i = 0; i < s.len; i++) {
        const unsigned char c = (unsigned char)s.data[i];
        const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                           (c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '_' || c == '~';

        if (plain) {
            buf_add_char(b, (char)c);
        } else {
            buf_add_char(b, '%');
            buf_add_char(b, hex[c >> 4]);
            buf_add_char(b, hex[c & 15]);
        }
    }
}

struct str buf_percent(struct str s, struct arena *arena)
{
    BUF_SCOPED(out, SIZE_MAX); /* bounded by the caller's text */

    buf_add_percent(&out, s);
    return s.len == 0 ? STR_LIT("") : buf_take(&out, arena);
}
