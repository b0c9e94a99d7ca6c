/* str.c - what is too long to be inline in str.h. */
#include "base/str.h"

#include <limits.h>

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

bool str_is_one_of(struct str s, const char *const *names)
{
    for (; *names != NULL; names++)
        if (str_eq_c(s, *names))
            return true;
    return false;
}

bool str_eq_nocase(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (lower(a.data[i]) != lower(b.data[i]))
            return false;
    return true;
}

bool str_starts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && str_eq(str_from(s.data, prefix.len), prefix);
}

int str_cmp(struct str a, struct str b)
{
    size_t shared = a.len < b.len ? a.len : b.len;
    int order = shared == 0 ? 0 : memcmp(a.data, b.data, shared);

    if (order != 0)
        return order;
    return a.len < b.len ? -1 : a.len > b.len;
}

struct str str_split(struct str *rest, char separator)
{
    const char *at = rest->len == 0 ? NULL : memchr(rest->data, separator, rest->len);
    struct str head = *rest;

    if (at == NULL) {
        *rest = STR_NULL;
        return head;
    }
    head.len = (size_t)(at - rest->data);
    *rest = str_from(at + 1, rest->len - head.len - 1);
    return head;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct str str_trim(struct str s)
{
    while (s.len > 0 && is_blank(s.data[0]))
        s = str_from(s.data + 1, s.len - 1);
    while (s.len > 0 && is_blank(s.data[s.len - 1]))
        s.len--;
    return s;
}

bool str_to_int(struct str s, int64_t *ret)
{
    bool negative = s.len > 0 && s.data[0] == '-';
    int64_t value = 0;

    if (s.len == (size_t)negative)
        return false;
    for (size_t i = negative; i < s.len; i++) {
        int digit = s.data[i] - '0';

        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value)) /* downwards: INT64_MIN fits too */
            return false;
    }
    if (!negative && __builtin_sub_overflow((int64_t)0, value, &value))
        return false;
    *ret = value;
    return true;
}

/* A table, because branches on random digits are mispredicted. */
int str_hex_digit(char c)
{
    static const uint8_t one_more[UCHAR_MAX + 1] = {
        ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
        ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
        ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
        ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
    };

    return one_more[(unsigned char)c] - 1;
}

bool str_take(struct str *s, char c)
{
    if (s->len == 0 || s->data[0] != c)
        return false;
    *s = str_from(s->data + 1, s->len - 1);
    return true;
}

bool str_take_number(struct str *s, int max, int *ret)
{
    enum { DIGITS_MAX = 4 };
    size_t n = 0;

    for (*ret = 0; n < s->len && n < DIGITS_MAX && s->data[n] >= '0' && s->data[n] <= '9'; n++)
        *ret = *ret * 10 + (s->data[n] - '0');
    *s = str_from(s->data + n, s->len - n);
    return n > 0 && *ret <= max;
}

/* UTF-8: well-formedness as table 3-7 of the Unicode standard gives it. */

static bool between(unsigned char c, unsigned char low, unsigned char high)
{
    return c >= low && c <= high;
}

/* How many bytes follow the lead byte, and the range of the first of them. */
static size_t tail_of(unsigned char lead, unsigned char *low, unsigned char *high)
{
    *low = 0x80;
    *high = 0xbf;
    if (between(lead, 0xc2, 0xdf))
        return 1;
    if (between(lead, 0xe0, 0xef)) {
        *low = lead == 0xe0 ? 0xa0 : 0x80;  /* no overlong form */
        *high = lead == 0xed ? 0x9f : 0xbf; /* no surrogate */
        return 2;
    }
    if (between(lead, 0xf0, 0xf4)) {
        *low = lead == 0xf0 ? 0x90 : 0x80;
        *high = lead == 0xf4 ? 0x8f : 0xbf; /* nothing beyond U+10FFFF */
        return 3;
    }
    return 0;
}

bool utf8_step(const char *at, const char *end, size_t *ret_len)
{
    unsigned char low, high;
    size_t tail;

    *ret_len = 1;
    if ((unsigned char)*at < 0x80)
        return true;
    tail = tail_of((unsigned char)*at, &low, &high);
    if (tail == 0)
        return false;
    for (size_t i = 1; i <= tail; i++) {
        if (i >= (size_t)(end - at) || !between((unsigned char)at[i], low, high))
            return false;
        *ret_len = i + 1;
        low = 0x80;
        high = 0xbf;
    }
    return true;
}

size_t utf8_count(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.data[i] & 0xc0) != 0x80;
    return n;
}

size_t utf8_valid_len(struct str s)
{
    size_t i = 0, len;

    while (i < s.len) {
        if (!utf8_step(s.data + i, s.data + s.len, &len))
            return i;
        i += len;
    }
    return s.len;
}

struct str utf8_cut(struct str s, size_t bytes_max)
{
    size_t len = s.len < bytes_max ? s.len : bytes_max;

    while (len < s.len && len > 0 && ((unsigned char)s.data[len] & 0xc0) == 0x80)
        len--;
    return str_from(s.data, len);
}
