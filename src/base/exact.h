/* exact.h - sums of integers and reals without rounding.
 *
 * A sum is one fixed-point number, wide enough for every double and 2^63 of
 * them: nothing is rounded before the end, so the order in which values come
 * does not matter, and what was added can be taken away again.
 *
 * Thread-safe: values only.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/str.h"

enum { EXACT_LIMBS = 34, EXACT_BYTES_MAX = 2 + 8 * EXACT_LIMBS };

/* Two's complement, least limb first; zeroed is zero. */
struct exact {
    uint64_t limbs[EXACT_LIMBS];
};

void exact_add_int(struct exact *e, int64_t value);

/* `value` is finite. */
void exact_add_real(struct exact *e, double value);

void exact_add(struct exact *e, const struct exact *other);
void exact_subtract(struct exact *e, const struct exact *other);

/* False when it is no integer of 64 bits. */
bool exact_to_int(const struct exact *e, int64_t *ret);

/* The nearest double, ties to even; beyond the largest it is the largest. */
double exact_to_real(const struct exact *e);

/* The nearest double to the sum divided by `n`, which is not 0. */
double exact_mean(const struct exact *e, uint64_t n);

/* As few bytes as tell it, the same on every machine; returns how many. exact_read() gives false
 * for what exact_write() did not write. */
size_t exact_write(const struct exact *e, uint8_t ret[EXACT_BYTES_MAX]);
bool exact_read(struct str bytes, struct exact *ret);
