/* money.c - decimal text to integers and back, digit by digit. */
#include "features/cost/money.h"

#define WIDE_MAX ((wide_int)(~(__extension__(unsigned __int128) 0) >> 1))
#define WIDE_MIN (-WIDE_MAX - 1)

enum { DIGITS_MAX = 64, EXPONENT_MAX = 1000, RESULT_DIGITS_MAX = 19 };

static const char not_a_number[] = "Should be a number >= 0, such as 2.5 or \"2.5\"";
static const char too_many[] = "Should have at most 12 decimals per million tokens";
static const char too_much[] = "Should be at most 1000000 dollars per million tokens";

/* digits × 10^exponent, without leading zeros: 0 has no digits. */
struct number {
    char digits[DIGITS_MAX];
    int n, exponent;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "e-06" and the like, up to the end of the text. */
static bool parse_exponent(struct str s, int *ret)
{
    bool negative = false;
    int value = 0;

    if (s.len > 0 && (s.data[0] == '-' || s.data[0] == '+')) {
        negative = s.data[0] == '-';
        s = str_from(s.data + 1, s.len - 1);
    }
    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (!is_digit(s.data[i]))
            return false;
        if (value < EXPONENT_MAX)
            value = value * 10 + (s.data[i] - '0');
    }
    *ret = negative ? -value : value;
    return true;
}

static bool parse_number(struct str s, struct number *ret)
{
    bool point = false, any = false;
    int exponent = 0;
    size_t i = 0;

    *ret = (struct number){ 0 };
    for (; i < s.len && s.data[i] != 'e' && s.data[i] != 'E'; i++) {
        char c = s.data[i];

        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (!is_digit(c) || ret->n == DIGITS_MAX)
            return false;
        any = true;
        ret->exponent -= point;
        if (c != '0' || ret->n > 0)
            ret->digits[ret->n++] = (char)(c - '0');
    }
    if (!any || (i < s.len && !parse_exponent(str_from(s.data + i + 1, s.len - i - 1), &exponent)))
        return false;
    ret->exponent += exponent;
    return true;
}

/* 1 when the digits beyond the first `kept` round `value` up, otherwise 0. */
static int rounds_up(const struct number *n, int kept, int64_t value)
{
    bool rest = false;

    if (kept < 0)
        return 0; /* less than a tenth of a unit */
    for (int i = kept + 1; i < n->n; i++)
        rest |= n->digits[i] != 0;
    if (n->digits[kept] != 5 || rest)
        return n->digits[kept] >= 5;
    return (int)(value & 1);
}

static const char *to_units(const struct number *n, int decimals, bool round, int64_t *ret)
{
    int kept = n->n + n->exponent + decimals; /* digits of the result, padded with zeros */
    int64_t value = 0;
    bool lost = false;

    if (n->n > 0 && kept > RESULT_DIGITS_MAX)
        return too_much;
    for (int i = kept < 0 ? 0 : kept; i < n->n; i++)
        lost |= n->digits[i] != 0;
    if (lost && !round)
        return too_many;
    for (int i = 0; n->n > 0 && i < kept; i++) {
        if (value > MONEY_PRICE_MAX / 10)
            return too_much;
        value = value * 10 + (i < n->n ? n->digits[i] : 0);
    }
    if (lost)
        value += rounds_up(n, kept, value);
    if (value > MONEY_PRICE_MAX)
        return too_much;
    *ret = value;
    return NULL;
}

const char *money_parse(struct str text, int decimals, int64_t *ret)
{
    struct number number;

    return parse_number(text, &number) ? to_units(&number, decimals, false, ret) : not_a_number;
}

const char *money_parse_rounded(struct str text, int decimals, int64_t *ret)
{
    struct number number;

    return parse_number(text, &number) ? to_units(&number, decimals, true, ret) : not_a_number;
}

struct str money_format(wide_int value, char text[MONEY_TEXT_MAX])
{
    enum { DECIMALS_LEAST = 2 };
    bool negative = value < 0, written = false;
    char *end = text + MONEY_TEXT_MAX, *at = end;

    for (int position = 0; position <= MONEY_DECIMALS || value != 0; position++) {
        int digit = (int)(value % 10);

        value /= 10;
        digit = digit < 0 ? -digit : digit;
        if (position == MONEY_DECIMALS)
            *--at = '.';
        written |= digit != 0 || position >= MONEY_DECIMALS - DECIMALS_LEAST;
        if (written)
            *--at = (char)('0' + digit);
    }
    if (negative)
        *--at = '-';
    return str_from(at, (size_t)(end - at));
}

wide_int money_divide(wide_int value, wide_int by)
{
    wide_int quotient = value / by, rest = value % by;
    wide_int twice = rest < 0 ? -rest : rest, size = by < 0 ? -by : by;
    bool negative = (value < 0) != (by < 0);

    if (twice > size - twice || (twice == size - twice && (quotient & 1) != 0))
        quotient += negative ? -1 : 1;
    return quotient;
}

wide_int money_add(wide_int a, wide_int b)
{
    wide_int sum;

    if (__builtin_add_overflow(a, b, &sum))
        return a < 0 ? WIDE_MIN : WIDE_MAX;
    return sum;
}

wide_int money_multiply(wide_int a, wide_int b)
{
    wide_int product;

    if (__builtin_mul_overflow(a, b, &product))
        return (a < 0) == (b < 0) ? WIDE_MAX : WIDE_MIN;
    return product;
}

int64_t money_to_int(wide_int value)
{
    if (value > INT64_MAX)
        return INT64_MAX;
    return value < INT64_MIN ? INT64_MIN : (int64_t)value;
}
