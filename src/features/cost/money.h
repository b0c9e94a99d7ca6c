/* money.h - amounts of dollars as exact integers, read from and written as decimal text.
 *
 * Prices are whole attodollars for a token: 12 decimals of dollars for a
 * million tokens. Costs are gathered in attodollars and shown in picodollars,
 * rounded once.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "base/base.h"
#include "base/str.h"

__extension__ typedef __int128 wide_int;

enum {
    MONEY_DECIMALS = 12,          /* of what is shown: dollars for a million tokens, or a cost */
    MONEY_TOKEN_DECIMALS = 18,    /* of dollars for one token */
    MONEY_TEXT_MAX = 48,          /* any wide_int with a sign, a point and zeros */
    MONEY_NUMBER_DIGITS_MAX = 15, /* of a JSON number: a double tells no more of them apart */
};

#define MONEY_PRICE_MAX   INT64_C(1000000000000000000) /* a dollar a token */
#define MONEY_ATTO_A_PICO 1000000

/* A decimal such as 2.5, .5, 1e-06, without sign, as a whole number of 10^-decimals. Returns NULL,
 * or a constant sentence that says what is wrong: no number, more digits than that unit has, or
 * more than MONEY_PRICE_MAX. */
const char *money_parse(struct str text, int decimals, int64_t *ret);

/* The same, but digits beyond the unit are rounded, half to even. */
const char *money_parse_rounded(struct str text, int decimals, int64_t *ret);

/* Without exponent, without needless zeros, with at least two decimals. */
struct str money_format(wide_int value, char text[MONEY_TEXT_MAX]);

/* `value` / `by`, half to even; `by` is not 0. */
wide_int money_divide(wide_int value, wide_int by);

/* Sums and products that stay at the ends of what fits instead of leaving it. */
wide_int money_add(wide_int a, wide_int b);
wide_int money_multiply(wide_int a, wide_int b);

/* The nearest 64-bit number. */
int64_t money_to_int(wide_int value);
