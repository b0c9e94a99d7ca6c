/* test_datetime.c - date-times, against known instants and against themselves. */
#include "base/datetime.h"

#include "base/clock.h"
#include "base/digest.h"
#include "test.h"

static const int64_t day_us = 86400LL * USEC_PER_SEC;

TEST(known_instants_parse_and_print)
{
    static const struct {
        const char *text;
        int64_t us;
        const char *printed;
    } rows[] = {
        { "1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00Z" },
        { "1970-01-01 00:00", 0, "1970-01-01T00:00:00Z" },
        { "1969-12-31t23:59:59.999999z", -1, "1969-12-31T23:59:59.999999Z" },
        { "2000-02-29_12:30:15.5", 951827415500000, "2000-02-29T12:30:15.500000Z" },
        { "2025-01-02T03:04:05,000006+00:00", 1735787045000006, "2025-01-02T03:04:05.000006Z" },
        { "2025-01-02T03:04:05.1234567899", 1735787045123456, "2025-01-02T03:04:05.123456Z" },
        { "2025-01-01T00:30:00+01:00", 1735687800000000, "2024-12-31T23:30:00Z" },
        { "2024-12-31T18:00:00-0530", 1735687800000000, "2024-12-31T23:30:00Z" },
        { "2024-12-31T18:00:00\xe2\x88\x92"
          "05:30",
          1735687800000000, "2024-12-31T23:30:00Z" },
        { "9999-12-31T23:59:59.999999Z", 253402300799999999, "9999-12-31T23:59:59.999999Z" },
        { "0001-01-01T00:00:00Z", -62135596800000000, "0001-01-01T00:00:00Z" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[DATETIME_TEXT_MAX];
        int64_t us = 42;

        assert_null(datetime_parse(str_of(rows[i].text), &us));
        CHECK_INT(us, rows[i].us);
        CHECK_STR(datetime_format(us, text), rows[i].printed);
    }
}

TEST(what_is_no_date_time_is_refused_and_leaves_the_output_alone)
{
    static const char *const rows[] = {
        "",
        "2025-01-02",
        "2025-01-02T",
        "2025-01-02T03",
        "2025-01-02T03:0",
        "2025-01-02X03:04",
        "2025-13-01T00:00",
        "2025-00-01T00:00",
        "2025-02-29T00:00",
        "1900-02-29T00:00",
        "2025-04-31T00:00",
        "2025-01-00T00:00",
        "2025-01-02T24:00",
        "2025-01-02T23:60",
        "2025-01-02T23:59:60",
        "2025-01-02T23:59:59.",
        "2025-01-02T23:59:59.5x",
        "2025-01-02T23:59:59+24:00",
        "2025-01-02T23:59:59+01:60",
        "2025-01-02T23:59:59+01:0",
        "2025-01-02T23:59:59Zx",
        "25-01-02T23:59:59Z",
        "20a5-01-02T23:59:59Z",
        "2025/01/02T23:59:59Z",
        "1735787045",
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t us = 42;

        assert_non_null(datetime_parse(str_of(rows[i]), &us));
        CHECK_INT(us, 42);
    }
}

TEST(every_prefix_of_a_date_time_is_read_within_its_bounds)
{
    static const char whole[] = "2025-01-02T03:04:05.000006+01:30";

    for (size_t len = 0; len < sizeof(whole); len++) {
        char *exact = test_malloc(len); /* no byte behind it: ASan sees a look too far */
        int64_t us;

        memcpy(exact, whole, len);
        (void)datetime_parse(str_from(exact, len), &us);
        test_free(exact);
    }
}

TEST(only_0000_is_the_year_zero)
{
    CHECK(datetime_is_year_zero(STR_LIT("0000-01-01T00:00:00Z")));
    CHECK(!datetime_is_year_zero(STR_LIT("0001-01-01T00:00:00Z")));
}

/* One day follows the other from year 0 to 9999, by counting as a calendar on the wall does. */
TEST(every_day_of_ten_thousand_years_has_its_own_number)
{
    static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    struct datetime_parts p = { .year = 0, .month = 1, .day = 1 };
    int64_t us = datetime_join(&p);

    while (p.year < 10000) {
        struct datetime_parts split = datetime_split(us);
        bool leap = (p.year % 4 == 0 && p.year % 100 != 0) || p.year % 400 == 0;

        if (memcmp(&split, &p, sizeof(p)) != 0 || datetime_join(&p) != us)
            fail_msg("%d-%d-%d", p.year, p.month, p.day);
        us += day_us;
        if (++p.day > lengths[p.month - 1] + (p.month == 2 && leap)) {
            p.day = 1;
            p.year += p.month == 12;
            p.month = p.month % 12 + 1;
        }
    }
}

TEST(random_instants_survive_printing_and_parsing)
{
    int64_t first = -62135596800000000, last = 253402300799999999; /* years 1 to 9999 */

    for (int i = 0; i < 100000; i++) {
        char text[DATETIME_TEXT_MAX];
        uint64_t random;
        int64_t us, back;

        digest_random(&random, sizeof(random));
        us = first + (int64_t)(random % (uint64_t)(last - first + 1));
        if (i % 2 == 0)
            us -= us % USEC_PER_SEC; /* whole seconds print shorter */
        if (datetime_parse(datetime_format(us, text), &back) != NULL || back != us)
            fail_msg("%lld prints as %s", (long long)us, text);
    }
}

TEST(any_64_bit_instant_prints_within_its_space)
{
    static const int64_t rows[] = { INT64_MIN, INT64_MIN + 1, INT64_MAX, -62135596800000001 };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[DATETIME_TEXT_MAX];

        CHECK(datetime_format(rows[i], text).len < sizeof(text));
    }
}

TEST(a_sentence_has_no_parts_of_a_second)
{
    char text[DATETIME_TEXT_MAX];

    CHECK_STR(datetime_format_second(INT64_C(1767225599999999), text), "2025-12-31T23:59:59Z");
    CHECK_STR(datetime_format_second(-1, text), "1969-12-31T23:59:59Z");
}
