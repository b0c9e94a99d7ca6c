/* utf8.c - well-formedness as table 3-7 of the Unicode standard gives it. */
#include "shape/utf8.h"

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
