/* test_exact.c - sums are exact, whatever is added in whichever order. */
#include "base/exact.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "test.h"
#include "unit/random.h"

static struct exact sum_of(const double *values, size_t n)
{
    struct exact e = { 0 };

    for (size_t i = 0; i < n; i++)
        exact_add_real(&e, values[i]);
    return e;
}

static double total(const double *values, size_t n)
{
    struct exact e = sum_of(values, n);

    return exact_to_real(&e);
}

#define TOTAL(...)                                                                                 \
    total((const double[]){ __VA_ARGS__ }, COUNT_OF(((const double[]){ __VA_ARGS__ })))

TEST(a_sum_is_the_nearest_double_to_the_true_one)
{
    static const struct {
        double a, b, c, sum;
    } rows[] = {
        { 0.1, 0.2, 0.3, 0.6 },
        { 1e308, 1e308, -1e308, 1e308 },
        { DBL_MAX, DBL_MAX, 0, DBL_MAX },
        { -DBL_MAX, -DBL_MAX, 0, -DBL_MAX },
        { 1e16, 1, -1e16, 1 },
        { 1e300, 1e-300, -1e300, 1e-300 },
        { 5e-324, 5e-324, 0, 1e-323 },
        { 5e-324, -5e-324, 0, 0 },
        { 0x1p53, 1, 0, 0x1p53 },             /* half: to even */
        { 0x1p53, 1, 0x1p-1074, 0x1p53 + 2 }, /* a little more than half */
        { 0x1p53 + 2, 1, 0, 0x1p53 + 4 },     /* half: to even, upwards */
        { -0x1p53, -1, -0x1p-1074, -0x1p53 - 2 },
        { DBL_MIN, -0x1p-1074, 0, DBL_MIN - 0x1p-1074 },
        { 0x1.fffffffffffffp0, 0x1p-53, 0, 2 }, /* carries into the next power */
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (TOTAL(rows[i].a, rows[i].b, rows[i].c) != rows[i].sum)
            fail_msg("row %zu: %a", i, TOTAL(rows[i].a, rows[i].b, rows[i].c));
    CHECK(!signbit(TOTAL(-1.0, 1.0)));
    CHECK(!signbit(TOTAL(-0.0)));
}

TEST(integers_stay_integers_while_they_fit)
{
    struct exact e = { 0 };
    int64_t value = 7;

    CHECK(exact_to_int(&e, &value) && value == 0);
    exact_add_int(&e, INT64_MAX);
    CHECK(exact_to_int(&e, &value) && value == INT64_MAX);
    exact_add_int(&e, 1);
    CHECK(!exact_to_int(&e, &value));
    CHECK(exact_to_real(&e) == 0x1p63);
    exact_add_int(&e, INT64_MIN);
    exact_add_int(&e, INT64_MIN);
    CHECK(exact_to_int(&e, &value) && value == INT64_MIN);
    exact_add_int(&e, -1);
    CHECK(!exact_to_int(&e, &value));
    exact_add_real(&e, 0.5);
    exact_add_int(&e, 1);
    CHECK(!exact_to_int(&e, &value));
}

TEST(a_mean_is_rounded_once)
{
    struct exact e = { 0 };

    exact_add_int(&e, 1);
    CHECK(exact_mean(&e, 3) == 1.0 / 3);
    exact_add_int(&e, -3);
    CHECK(exact_mean(&e, 3) == -2.0 / 3);
    e = sum_of((const double[]){ 5e-324 }, 1);
    CHECK(exact_mean(&e, 2) == 0); /* half of the least: to even */
    exact_add_real(&e, 1e-323);
    CHECK(exact_mean(&e, 2) == 1e-323); /* one and a half: to even */
    e = sum_of((const double[]){ DBL_MAX, DBL_MAX, DBL_MAX }, 3);
    CHECK(exact_mean(&e, 3) == DBL_MAX);
}

static double random_double(struct random *r)
{
    double value;

    do {
        uint64_t bits = random_next(r);

        memcpy(&value, &bits, sizeof(value));
    } while (!isfinite(value));
    return value;
}

TEST(order_writing_and_taking_away_leave_no_trace)
{
    enum { N = 50 };
    struct random r = { 1 };

    for (int round = 0; round < 300; round++) {
        struct exact forward = { 0 }, backward = { 0 }, read, rest;
        uint8_t bytes[EXACT_BYTES_MAX];
        double values[N];
        size_t len;

        for (int i = 0; i < N; i++)
            values[i] = round % 2 == 0 ? random_double(&r) : (double)(random_next(&r) % 100) / 10;
        for (int i = 0; i < N; i++)
            exact_add_real(&forward, values[i]);
        for (int i = N - 1; i >= 0; i--)
            exact_add_real(&backward, values[i]);
        CHECK(memcmp(&forward, &backward, sizeof(forward)) == 0);
        len = exact_write(&forward, bytes);
        CHECK(exact_read(str_from((const char *)bytes, len), &read));
        CHECK(memcmp(&forward, &read, sizeof(forward)) == 0);
        rest = sum_of(values, N / 2);
        exact_subtract(&forward, &rest);
        backward = sum_of(values + N / 2, N - N / 2);
        CHECK(memcmp(&forward, &backward, sizeof(forward)) == 0);
        exact_add(&forward, &rest);
        CHECK(memcmp(&forward, &read, sizeof(forward)) == 0);
    }
}

TEST(small_sums_take_few_bytes_and_bad_bytes_are_told)
{
    struct exact e = { 0 };
    uint8_t bytes[EXACT_BYTES_MAX];

    CHECK_INT(exact_write(&e, bytes), 0);
    exact_add_int(&e, -1);
    CHECK_INT(exact_write(&e, bytes), 3);
    exact_add_int(&e, 1001);
    CHECK_INT(exact_write(&e, bytes), 4);
    CHECK(!exact_read(STR_LIT("\x01"), &e));
    CHECK(!exact_read(STR_LIT("\x01\x00"), &e));
    CHECK(!exact_read(STR_LIT("\xff\xff\x01"), &e));
    CHECK(!exact_read(STR_LIT("\x0f\x01\x01\x01"), &e));
    CHECK(exact_read(STR_LIT("\x0f\x01\x01"), &e));
}
