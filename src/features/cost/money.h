/* money.h - amounts of dollars as exact integers, read from and written as decimal text.
 *
 * Prices are whole attodollars per token: dollars per million tokens with 12
 * decimals. Costs are summed in attodollars and shown in picodollars, rounded
 * once.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include "base/str.h"

__extension__ typedef __int128 wide_int;

enum {
    MONEY_DECIMALS = 12,          /* shown: of dollars per million tokens, or of a cost */
    MONEY_TOKEN_DECIMALS = 18,    /* of dollars per token */
    MONEY_TEXT_MAX = 48,          /* any wide_int with sign, point and zeros */
    MONEY_NUMBER_DIGITS_MAX = 15, /* of a JSON number: the precision of a double */
};

#define MONEY_PRICE_MAX     INT64_C(1000000000000000000) /* one dollar per token */
#define MONEY_ATTO_PER_PICO 1000000

/* A decimal such as 2.5, .5, 1e-06, without sign, as a whole number of 10^-decimals. Returns NULL,
 * or a constant sentence that says what is wrong: not a number, too many decimals, or more than
 * MONEY_PRICE_MAX. */
const char *money_parse(struct str text, int decimals, int64_t *ret);

/* The same, but further decimals are rounded, half to even. */
const char *money_parse_rounded(struct str text, int decimals, int64_t *ret);

/* Without exponent or trailing zeros, but at least two decimals. */
struct str money_format(wide_int value, char text[MONEY_TEXT_MAX]);

/* `value` / `by`, half to even; `by` is not 0. */
wide_int money_divide(wide_int value, wide_int by);

/* Saturating sum and product. */
wide_int money_add(wide_int a, wide_int b);
wide_int money_multiply(wide_int a, wide_int b);

/* The nearest 64-bit number. */
int64_t money_to_int(wide_int value);
