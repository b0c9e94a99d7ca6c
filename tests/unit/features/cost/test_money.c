/* test_money.c - decimals as exact integers. */
#include "features/cost/money.h"

#include "test.h"

TEST(a_decimal_becomes_a_whole_number_of_its_unit_or_is_refused)
{
    static const struct {
        const char *text;
        int64_t units; /* -1: refused */
    } rows[] = {
        { "0", 0 },
        { "2.5", INT64_C(2500000000000) },
        { "2.500", INT64_C(2500000000000) },
        { ".5", INT64_C(500000000000) },
        { "5.", INT64_C(5000000000000) },
        { "0.000000000001", 1 },
        { "0.0000000000010", 1 },
        { "0.0000000000011", -1 },
        { "0.0000000000001", -1 },
        { "1e-12", 1 },
        { "1e-13", -1 },
        { "1.5E+3", INT64_C(1500000000000000) },
        { "999999.999999999999", INT64_C(999999999999999999) },
        { "1000000", MONEY_PRICE_MAX },
        { "1e6", MONEY_PRICE_MAX },
        { "1000000.000000000001", -1 },
        { "1e7", -1 },
        { "1e400", -1 },
        { "1e99999999999999999999", -1 },
        { "0e99999999999999999999", 0 },
        { "1e-99999999999999999999", -1 },
        { "", -1 },
        { ".", -1 },
        { "e5", -1 },
        { "1e", -1 },
        { "1e+", -1 },
        { "-1", -1 },
        { "+1", -1 },
        { "1.2.3", -1 },
        { "1,5", -1 },
        { " 1", -1 },
        { "nan", -1 },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t units = -1;
        const char *wrong = money_parse(str_of(rows[i].text), MONEY_DECIMALS, &units);

        if ((wrong != NULL) != (rows[i].units == -1) || units != rows[i].units)
            fail_msg("%s: %lld, %s", rows[i].text, (long long)units, wrong);
    }
}

TEST(floats_of_a_token_are_rounded_half_to_even)
{
    static const struct {
        const char *text;
        int64_t units;
    } rows[] = {
        { "1.5e-06", INT64_C(1500000000000) },
        { "2.5e-18", 2 },
        { "3.5e-18", 4 },
        { "2.5000001e-18", 3 },
        { "2.4999999e-18", 2 },
        { "5e-19", 0 },
        { "6e-19", 1 },
        { "9e-20", 0 },
        { "1.5e-18", 2 },
        { "3.0000000000000004e-07", INT64_C(300000000000) },
        { "0.99999999999999999999", MONEY_PRICE_MAX },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t units = -1;

        CHECK(money_parse_rounded(str_of(rows[i].text), MONEY_TOKEN_DECIMALS, &units) == NULL);
        CHECK_INT(units, rows[i].units);
    }
}

TEST(amounts_are_written_with_two_decimals_at_least_and_no_needless_zero)
{
    static const struct {
        int64_t units;
        const char *text;
    } rows[] = {
        { 0, "0.00" },
        { 1, "0.000000000001" },
        { -1, "-0.000000000001" },
        { INT64_C(10000000000), "0.01" },
        { INT64_C(100000000000), "0.10" },
        { INT64_C(123000000000), "0.123" },
        { INT64_C(1000000000000), "1.00" },
        { INT64_C(12345678901234567), "12345.678901234567" },
        { INT64_MAX, "9223372.036854775807" },
        { INT64_MIN, "-9223372.036854775808" },
    };
    char text[MONEY_TEXT_MAX];
    wide_int most = money_multiply((wide_int)INT64_MAX * INT64_MAX, INT64_MAX);

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        CHECK_STR(money_format(rows[i].units, text), rows[i].text);
    CHECK_STR(money_format(most, text), "170141183460469231731687303.715884105727");
    CHECK_STR(money_format(-most - 1, text), "-170141183460469231731687303.715884105728");
}

TEST(division_rounds_half_to_even_on_both_sides_of_zero)
{
    static const struct {
        int value, by, quotient;
    } rows[] = {
        { 5, 10, 0 },    { 15, 10, 2 },   { 25, 10, 2 },   { 26, 10, 3 },   { -5, 10, 0 },
        { -15, 10, -2 }, { -25, 10, -2 }, { -26, 10, -3 }, { 15, -10, -2 }, { -15, -10, 2 },
        { 7, 3, 2 },     { 8, 3, 3 },     { 0, 7, 0 },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        CHECK_INT((int)money_divide(rows[i].value, rows[i].by), rows[i].quotient);
}

TEST(sums_and_products_stay_at_the_ends_of_what_fits)
{
    wide_int most = money_multiply((wide_int)INT64_MAX * INT64_MAX, INT64_MAX);
    wide_int least = money_multiply((wide_int)INT64_MAX * INT64_MAX, INT64_MIN);

    CHECK(money_add(most, 1) == most);
    CHECK(money_add(least, -1) == least);
    CHECK(money_add(most, least) == -1);
    CHECK_INT(money_to_int(most), INT64_MAX);
    CHECK_INT(money_to_int(least), INT64_MIN);
    CHECK_INT(money_to_int(-5), -5);
}
