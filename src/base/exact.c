/* exact.c - a fixed-point number of 2,176 bits.
 *
 * The point stands after 17 limbs: 1,088 bits below it hold the least double
 * (2^-1074), those above it the greatest and 64 bits for carries and sign.
 */
#include "base/exact.h"

#include <float.h>
#include <math.h>

enum {
    LIMB_BITS = 64,
    POINT = 1088,
    POINT_LIMB = POINT / LIMB_BITS,
    MANTISSA = 52,        /* bits of a double's fraction */
    LEAST = POINT - 1074, /* the place of the least double's only bit */
    HEADER = 2,
};

__extension__ typedef unsigned __int128 wide;

/* Adds two limbs at `at` and carries on. */
static void add_at(struct exact *e, size_t at, uint64_t low, uint64_t high)
{
    bool carry = __builtin_add_overflow(e->limbs[at], low, &e->limbs[at]);

    if (++at == EXACT_LIMBS)
        return;
    if (__builtin_add_overflow(high, (uint64_t)carry, &high))
        carry = true; /* and high is 0 */
    else
        carry = __builtin_add_overflow(e->limbs[at], high, &e->limbs[at]);
    while (carry && ++at < EXACT_LIMBS)
        carry = __builtin_add_overflow(e->limbs[at], (uint64_t)1, &e->limbs[at]);
}

static void subtract_at(struct exact *e, size_t at, uint64_t low, uint64_t high)
{
    bool borrow = __builtin_sub_overflow(e->limbs[at], low, &e->limbs[at]);

    if (++at == EXACT_LIMBS)
        return;
    if (__builtin_add_overflow(high, (uint64_t)borrow, &high))
        borrow = true;
    else
        borrow = __builtin_sub_overflow(e->limbs[at], high, &e->limbs[at]);
    while (borrow && ++at < EXACT_LIMBS)
        borrow = __builtin_sub_overflow(e->limbs[at], (uint64_t)1, &e->limbs[at]);
}

void exact_add_int(struct exact *e, int64_t value)
{
    if (value < 0)
        subtract_at(e, POINT_LIMB, 0 - (uint64_t)value, 0);
    else
        add_at(e, POINT_LIMB, (uint64_t)value, 0);
}

void exact_add_real(struct exact *e, double value)
{
    uint64_t bits, mantissa, exponent;
    unsigned place, shift;

    memcpy(&bits, &value, sizeof(bits));
    mantissa = bits & (((uint64_t)1 << MANTISSA) - 1);
    exponent = bits >> MANTISSA & 0x7ff;
    if (exponent > 0)
        mantissa |= (uint64_t)1 << MANTISSA;
    place = LEAST + (unsigned)(exponent > 0 ? exponent - 1 : 0);
    shift = place % LIMB_BITS;
    if (bits >> 63 != 0)
        subtract_at(e, place / LIMB_BITS, mantissa << shift,
                    shift == 0 ? 0 : mantissa >> (LIMB_BITS - shift));
    else
        add_at(e, place / LIMB_BITS, mantissa << shift,
               shift == 0 ? 0 : mantissa >> (LIMB_BITS - shift));
}

void exact_add(struct exact *e, const struct exact *other)
{
    wide carry = 0;

    for (size_t i = 0; i < EXACT_LIMBS; i++) {
        carry += (wide)e->limbs[i] + other->limbs[i];
        e->limbs[i] = (uint64_t)carry;
        carry >>= LIMB_BITS;
    }
}

static void negate(struct exact *e)
{
    for (size_t i = 0; i < EXACT_LIMBS; i++)
        e->limbs[i] = ~e->limbs[i];
    add_at(e, 0, 1, 0);
}

void exact_subtract(struct exact *e, const struct exact *other)
{
    struct exact negative = *other;

    negate(&negative);
    exact_add(e, &negative);
}

static bool is_negative(const struct exact *e)
{
    return e->limbs[EXACT_LIMBS - 1] >> 63 != 0;
}

bool exact_to_int(const struct exact *e, int64_t *ret)
{
    uint64_t low = e->limbs[POINT_LIMB], sign = is_negative(e) ? UINT64_MAX : 0;

    for (size_t i = 0; i < EXACT_LIMBS; i++)
        if (i != POINT_LIMB && e->limbs[i] != (i < POINT_LIMB ? 0 : sign))
            return false;
    if (low >> 63 != (sign & 1))
        return false;
    *ret = (int64_t)low;
    return true;
}

static uint64_t bit(const struct exact *e, int place)
{
    return e->limbs[place / LIMB_BITS] >> (place % LIMB_BITS) & 1;
}

/* The place of the highest bit, or -1. */
static int top_bit(const struct exact *e)
{
    for (int i = EXACT_LIMBS - 1; i >= 0; i--)
        if (e->limbs[i] != 0)
            return i * LIMB_BITS + LIMB_BITS - 1 - __builtin_clzll(e->limbs[i]);
    return -1;
}

static bool any_below(const struct exact *e, int place)
{
    for (int i = 0; i < place / LIMB_BITS; i++)
        if (e->limbs[i] != 0)
            return true;
    return place % LIMB_BITS > 0 &&
           (e->limbs[place / LIMB_BITS] & (((uint64_t)1 << place % LIMB_BITS) - 1)) != 0;
}

/* Of a magnitude, to which a little may be missing (`more`) below its last bit. */
static double round_magnitude(const struct exact *e, bool more)
{
    int top = top_bit(e);
    int low = top - MANTISSA > LEAST ? top - MANTISSA : LEAST;
    uint64_t mantissa = 0;
    double value;

    for (int i = top; i >= low; i--)
        mantissa = mantissa << 1 | bit(e, i);
    if (bit(e, low - 1) != 0 && (any_below(e, low - 1) || more || (mantissa & 1) != 0))
        mantissa++;
    value = ldexp((double)mantissa, low - POINT);
    return isinf(value) ? DBL_MAX : value;
}

static double round_quotient(const struct exact *e, uint64_t n)
{
    struct exact magnitude = *e;
    bool negative = is_negative(e);
    wide rest = 0;
    double value;

    if (negative)
        negate(&magnitude);
    for (int i = EXACT_LIMBS - 1; i >= 0 && n > 1; i--) {
        rest = rest << LIMB_BITS | magnitude.limbs[i];
        magnitude.limbs[i] = (uint64_t)(rest / n);
        rest %= n;
    }
    value = round_magnitude(&magnitude, rest != 0);
    return negative && value != 0 ? -value : value; /* there is one zero */
}

double exact_to_real(const struct exact *e)
{
    return round_quotient(e, 1);
}

double exact_mean(const struct exact *e, uint64_t n)
{
    return round_quotient(e, n);
}

static uint8_t byte_at(const struct exact *e, size_t i)
{
    return (uint8_t)(e->limbs[i / 8] >> (i % 8 * 8));
}

/* Where the first byte belongs, then the bytes; those above are like the last one's sign. */
size_t exact_write(const struct exact *e, uint8_t ret[EXACT_BYTES_MAX])
{
    const size_t n = sizeof(e->limbs);
    uint8_t sign = is_negative(e) ? 0xff : 0;
    size_t first = 0, end = n;

    while (first < n && byte_at(e, first) == 0)
        first++;
    if (first == n)
        return 0;
    while (end - 1 > first && byte_at(e, end - 1) == sign && (byte_at(e, end - 2) ^ sign) < 0x80)
        end--;
    ret[0] = (uint8_t)first;
    ret[1] = (uint8_t)(first >> 8);
    for (size_t i = first; i < end; i++)
        ret[HEADER + i - first] = byte_at(e, i);
    return HEADER + end - first;
}

bool exact_read(struct str bytes, struct exact *ret)
{
    const uint8_t *data = (const uint8_t *)bytes.data;
    const size_t n = sizeof(ret->limbs);
    size_t first, end;

    memset(ret, 0, sizeof(*ret));
    if (bytes.len == 0)
        return true;
    if (bytes.len <= HEADER)
        return false;
    first = data[0] | (size_t)data[1] << 8;
    end = first + bytes.len - HEADER;
    if (end > n)
        return false;
    for (size_t i = first; i < n; i++) {
        uint8_t sign = data[bytes.len - 1] < 0x80 ? 0 : 0xff;
        uint64_t byte = i < end ? data[HEADER + i - first] : sign;

        ret->limbs[i / 8] |= byte << (i % 8 * 8);
    }
    return true;
}
