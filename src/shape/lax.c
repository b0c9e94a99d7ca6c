/* lax.c - numbers and booleans in strings, as pydantic's lax mode reads them.
 *
 * Queries and paths are read this way. In a body it decides the message for a
 * string in place of a number.
 */
#include <stdlib.h>

#include "base/str.h"
#include "shape/check.h"

enum { DIGITS_MAX = 4300 }; /* Python refuses to read more */

static const struct str wide_spaces[] = {
    STR_INIT("\xc2\x85"),     STR_INIT("\xc2\xa0"),     STR_INIT("\xe1\x9a\x80"),
    STR_INIT("\xe2\x80\xa8"), STR_INIT("\xe2\x80\xa9"), STR_INIT("\xe2\x80\xaf"),
    STR_INIT("\xe2\x81\x9f"), STR_INIT("\xe3\x80\x80"), STR_INIT("\xe2\x80\x80"),
    STR_INIT("\xe2\x80\x81"), STR_INIT("\xe2\x80\x82"), STR_INIT("\xe2\x80\x83"),
    STR_INIT("\xe2\x80\x84"), STR_INIT("\xe2\x80\x85"), STR_INIT("\xe2\x80\x86"),
    STR_INIT("\xe2\x80\x87"), STR_INIT("\xe2\x80\x88"), STR_INIT("\xe2\x80\x89"),
    STR_INIT("\xe2\x80\x8a"),
};

/* Bytes of the white space that `s` begins with (or ends in), or 0. */
static size_t space_len(struct str s, bool at_end)
{
    unsigned char c;

    if (s.len == 0)
        return 0;
    c = (unsigned char)s.data[at_end ? s.len - 1 : 0];
    if (c == ' ' || (c >= '\t' && c <= '\r'))
        return 1;
    if (c < 0x80)
        return 0;
    for (size_t i = 0; i < COUNT_OF(wide_spaces); i++) {
        size_t n = wide_spaces[i].len;

        if (n <= s.len && memcmp(s.data + (at_end ? s.len - n : 0), wide_spaces[i].data, n) == 0)
            return n;
    }
    return 0;
}

static struct str trim(struct str s)
{
    size_t n;

    while ((n = space_len(s, false)) > 0)
        s = str_from(s.data + n, s.len - n);
    while ((n = space_len(s, true)) > 0)
        s.len -= n;
    return s;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool take_sign(struct str *s)
{
    bool negative = str_take(s, '-');

    if (!negative)
        (void)str_take(s, '+');
    return negative;
}

static size_t take_digits(struct str *s)
{
    size_t n = 0;

    while (n < s->len && is_digit(s->data[n]))
        n++;
    *s = str_from(s->data + n, s->len - n);
    return n;
}

/* Digits with single underscores between, then perhaps a point and zeros. */
static bool is_integer_text(struct str s)
{
    do {
        if (take_digits(&s) == 0)
            return false;
    } while (str_take(&s, '_'));
    if (str_take(&s, '.')) {
        while (str_take(&s, '0'))
            ;
    }
    return s.len == 0;
}

enum lax_result lax_integer(struct str s, int64_t *ret)
{
    uint64_t value = 0, limit;
    bool negative, overflow = false;
    size_t n_digits = 0;

    s = trim(s);
    negative = take_sign(&s);
    if (!is_integer_text(s))
        return LAX_UNREADABLE;
    limit = (uint64_t)INT64_MAX + negative;
    for (size_t i = 0; i < s.len && s.data[i] != '.'; i++) {
        unsigned digit = (unsigned)(s.data[i] - '0');

        if (s.data[i] == '_')
            continue;
        n_digits++;
        overflow = overflow || value > (limit - digit) / 10;
        value = overflow ? 0 : value * 10 + digit;
    }
    if (n_digits > DIGITS_MAX)
        return LAX_TOO_LONG;
    if (overflow)
        return negative ? LAX_TOO_SMALL : LAX_TOO_LARGE;
    *ret = negative ? (int64_t)(0 - value) : (int64_t)value;
    return LAX_OK;
}

/* Without underscores. */
static bool is_real_text(struct str s)
{
    static const struct str words[] = { STR_INIT("inf"), STR_INIT("infinity"), STR_INIT("nan") };
    size_t n;

    (void)take_sign(&s);
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (str_eq_nocase(s, words[i]))
            return true;
    }
    n = take_digits(&s);
    if (str_take(&s, '.'))
        n += take_digits(&s);
    if (n == 0)
        return false;
    if (str_take(&s, 'e') || str_take(&s, 'E')) {
        (void)take_sign(&s);
        if (take_digits(&s) == 0)
            return false;
    }
    return s.len == 0;
}

/* Without its underscores, which must be single and inside; STR_NULL without any. */
static struct str without_underscores(struct str s, struct arena *arena)
{
    char *copy;
    size_t n = 0;

    if (memchr(s.data, '_', s.len) == NULL || s.data[0] == '_' || s.data[s.len - 1] == '_')
        return STR_NULL;
    copy = arena_alloc(arena, s.len);
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] != '_')
            copy[n++] = s.data[i];
        else if (s.data[i - 1] == '_')
            return STR_NULL;
    }
    return str_from(copy, n);
}

bool lax_real(struct str s, struct arena *arena, double *ret)
{
    struct str trimmed = trim(s);

    if (!is_real_text(trimmed)) {
        trimmed = without_underscores(s, arena);
        if (str_is_null(trimmed) || !is_real_text(trimmed))
            return false;
    }
    *ret = strtod(arena_cstr(arena, trimmed), NULL);
    return true;
}

bool lax_bool(struct str s, bool *ret)
{
    static const char *const words[][2] = {
        { "0", "1" },    { "f", "t" },    { "n", "y" },
        { "no", "yes" }, { "off", "on" }, { "false", "true" },
    };

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        for (int value = 0; value < 2; value++) {
            if (str_eq_nocase(s, str_of(words[i][value]))) {
                *ret = value == 1;
                return true;
            }
        }
    }
    return false;
}
