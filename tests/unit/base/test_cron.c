/* test_cron.c - cron expressions against a search that looks at every minute, by the C library's
 * clock of each zone. */
#include "base/cron.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/datetime.h"
#include "base/digest.h"
#include "base/zone.h"
#include "test.h"

static int64_t seconds_of(const char *text)
{
    int64_t us = 0;

    CHECK(datetime_parse(str_of(text), &us) == NULL);
    return us / USEC_PER_SEC;
}

static struct cron parsed(const char *text)
{
    struct cron cron = { 0 };
    const char *problem = cron_parse(str_of(text), &cron);

    if (problem != NULL)
        fail_msg("%s: %s", text, problem);
    return cron;
}

static void use_zone(const char *name)
{
    assert_int_equal(setenv("TZ", name, 1), 0);
    tzset();
}

/* An expression as its author thinks of it: written apart from the parser under test. */
struct oracle_row {
    const char *text;
    bool (*is_due)(const struct tm *t);
};

static bool each_quarter(const struct tm *t)
{
    return t->tm_min % 15 == 0;
}

static bool each_hour_at_30(const struct tm *t)
{
    return t->tm_min == 30;
}

static bool daily_at_0230(const struct tm *t)
{
    return t->tm_hour == 2 && t->tm_min == 30;
}

static bool daily_at_midnight(const struct tm *t)
{
    return t->tm_hour == 0 && t->tm_min == 0;
}

static bool office_hours(const struct tm *t)
{
    return t->tm_min % 20 == 5 && t->tm_hour >= 8 && t->tm_hour <= 17 && t->tm_wday >= 1 &&
           t->tm_wday <= 5;
}

static bool friday_or_thirteenth(const struct tm *t)
{
    return t->tm_hour == 1 && t->tm_min == 59 && (t->tm_mday == 13 || t->tm_wday == 5);
}

static bool odd_days_on_sundays(const struct tm *t)
{
    return t->tm_hour == 3 && t->tm_min == 0 && t->tm_mday % 2 == 1 && t->tm_wday == 0;
}

static bool last_days_of_quarters(const struct tm *t)
{
    return t->tm_hour == 23 && t->tm_min == 45 && t->tm_mday == 31 &&
           (t->tm_mon == 2 || t->tm_mon == 5 || t->tm_mon == 8 || t->tm_mon == 11);
}

static bool from_ten_by_seven(const struct tm *t)
{
    return t->tm_min >= 10 && (t->tm_min - 10) % 7 == 0 && (t->tm_hour == 4 || t->tm_hour >= 22);
}

static const struct oracle_row oracle[] = {
    { "*/15 * * * *", each_quarter },
    { "30 * * * *", each_hour_at_30 },
    { "30 2 * * *", daily_at_0230 },
    { "0 0 * * *", daily_at_midnight },
    { "5-59/20 8-17 * * mon-fri", office_hours },
    { "59 1 13 * 5", friday_or_thirteenth },
    { "0 3 */2 * 7", odd_days_on_sundays },
    { "45 23 31 3,jun,9,DEC *", last_days_of_quarters },
    { "10/7 4,22-23 * * *", from_ten_by_seven },
};

static const char *const zones[] = {
    "UTC",           "Europe/Berlin",        "America/New_York", "Australia/Lord_Howe",
    "Asia/Kolkata",  "America/Santiago",     "Pacific/Apia",     "Africa/Casablanca",
    "Europe/Dublin", "America/Scoresbysund",
};

/* What the clock of a zone shows at a minute. */
struct minute {
    struct tm local;
    time_t skipped; /* seconds that it has just jumped over */
    bool repeated;  /* it showed the same before */
};

enum { DAYS = 3, MINUTES = DAYS * 24 * 60 };

static struct minute minutes[MINUTES];

static struct tm local_at(time_t at)
{
    struct tm local;

    CHECK(localtime_r(&at, &local) != NULL);
    return local;
}

static struct minute read_minute(time_t at)
{
    struct minute m = { .local = local_at(at) };
    long jump = m.local.tm_gmtoff - local_at(at - 1).tm_gmtoff;

    m.skipped = jump > 0 ? jump : 0;
    for (time_t back = 1800; back <= 7200; back += 1800)
        m.repeated |= local_at(at - back).tm_gmtoff - m.local.tm_gmtoff == back;
    return m;
}

/* Is a local time due in the second when the clock jumps over it? */
static bool is_skipped_now(const struct oracle_row *row, time_t at, const struct minute *m)
{
    time_t end = at + m->local.tm_gmtoff;

    for (time_t local = end - m->skipped; local < end; local += 60) {
        struct tm skipped;

        CHECK(gmtime_r(&local, &skipped) != NULL);
        if (row->is_due(&skipped))
            return true;
    }
    return false;
}

static bool names_hours(const struct oracle_row *row)
{
    return row->is_due != each_quarter && row->is_due != each_hour_at_30;
}

static bool is_due_at(const struct oracle_row *row, time_t at, const struct minute *m)
{
    if (names_hours(row) && is_skipped_now(row, at, m))
        return true;
    return row->is_due(&m->local) && (!names_hours(row) || !m->repeated);
}

/* All due times of some days, found by looking at each of `minutes`, and by cron_next(). */
static void compare(const struct oracle_row *row, const char *zone_name, int64_t begin)
{
    const struct cron cron = parsed(row->text);
    const struct zone *zone = zone_find(str_of(zone_name));
    int64_t next = begin - 1;

    assert_non_null(zone);
    for (int i = 0; i < MINUTES; i++) {
        int64_t at = begin + (int64_t)i * 60;

        if (next < at)
            next = cron_next(&cron, zone, at - 1);
        if (is_due_at(row, (time_t)at, &minutes[i]) != (next == at))
            fail_msg("'%s' in %s: wrong at %lld, next is %lld", row->text, zone_name, (long long)at,
                     (long long)next);
    }
}

TEST(due_times_are_those_that_a_search_of_every_minute_finds)
{
    /* Days around the changes of 2026 in both hemispheres, and one after the last in any file. */
    static const char *const froms[] = { "2026-03-06T00:00:00Z", "2026-03-27T00:00:00Z",
                                         "2026-04-03T00:00:00Z", "2026-09-04T00:00:00Z",
                                         "2026-10-02T00:00:00Z", "2026-10-23T00:00:00Z",
                                         "2026-10-30T00:00:00Z", "2061-03-25T00:00:00Z",
                                         "2061-10-28T00:00:00Z" };

    for (size_t z = 0; z < COUNT_OF(zones); z++) {
        use_zone(zones[z]);
        for (size_t f = 0; f < COUNT_OF(froms); f++) {
            int64_t begin = seconds_of(froms[f]);

            for (int i = 0; i < MINUTES; i++)
                minutes[i] = read_minute((time_t)begin + (time_t)i * 60);
            for (size_t i = 0; i < COUNT_OF(oracle); i++)
                compare(&oracle[i], zones[z], begin);
        }
    }
}

TEST(rare_days_are_found_over_years)
{
    static const struct {
        const char *text, *after, *next;
    } rows[] = {
        { "0 0 29 2 *", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z" },
        { "0 12 31 12 *", "2026-01-01T00:00:00Z", "2026-12-31T12:00:00Z" },
        { "0 0 1 1 *", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z" },
        { "0 0 1 1 *", "2025-12-31T23:59:59Z", "2026-01-01T00:00:00Z" },
        { "* * * * *", "2026-11-16T10:00:30Z", "2026-11-16T10:01:00Z" },
        { "59 23 31 */2 sun", "2026-05-31T23:59:00Z", "2026-07-05T23:59:00Z" },
        { "0 6 * * fri-sun", "2026-11-16T10:00:00Z", "2026-11-20T06:00:00Z" },
        { "0 6 * * 0-7/3", "2026-11-16T10:00:00Z", "2026-11-18T06:00:00Z" },
        { "0 0 29 2 */7", "2026-01-01T00:00:00Z", "2032-02-29T00:00:00Z" },
    };
    const struct zone *utc = zone_find(STR_LIT("UTC"));

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct cron cron = parsed(rows[i].text);

        CHECK_INT(cron_next(&cron, utc, seconds_of(rows[i].after)), seconds_of(rows[i].next));
    }
}

TEST(a_time_that_the_clock_skips_is_due_at_the_jump_and_one_shown_twice_once)
{
    const struct zone *berlin = zone_find(STR_LIT("Europe/Berlin"));
    const struct cron cron = parsed("30 2 * * *");

    CHECK_INT(cron_next(&cron, berlin, seconds_of("2026-03-28T12:00:00Z")),
              seconds_of("2026-03-29T01:00:00Z"));
    CHECK_INT(cron_next(&cron, berlin, seconds_of("2026-03-29T01:00:00Z")),
              seconds_of("2026-03-30T00:30:00Z"));
    CHECK_INT(cron_next(&cron, berlin, seconds_of("2026-10-24T12:00:00Z")),
              seconds_of("2026-10-25T00:30:00Z"));
    CHECK_INT(cron_next(&cron, berlin, seconds_of("2026-10-25T00:30:00Z")),
              seconds_of("2026-10-26T01:30:00Z"));
}

TEST(what_is_no_expression_is_refused_with_a_sentence)
{
    /* clang-format off */
    static const char *const rows[] = {
        "", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *",
        "* * * 13 *", "* * * * 8", "*/0 * * * *", "*/60 * * * *", "5-1 * * * *", "5-0 * * * *",
        "0 6-0 * * *", "1,, * * * *", "a * * * *", "* * * foo *", "* * 30 2 *", "* * 31 2,4 *",
        "1- * * * *", "-1 * * * *", "99999999999 * * * *", "@daily", "* * * * mon-", "1;2 * * * *",
        "** * * * *",
    };
    /* clang-format on */
    struct cron cron;

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (cron_parse(str_of(rows[i]), &cron) == NULL)
            fail_msg("accepted: '%s'", rows[i]);
}

TEST(zones_are_found_by_name_and_nothing_else_is_opened)
{
    /* clang-format off */
    static const char *const bad[] = {
        "", "../etc/passwd", "Europe/", "Europe/Berlim", "/etc/passwd", "Europe//Berlin",
        "posix/Europe/Berlin", "Europe", "Europe/../UTC", "tzdata.zi",
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_null(zone_find(str_of(bad[i])));
    CHECK(zone_find(STR_LIT("Europe/Berlin")) == zone_find(STR_LIT("Europe/Berlin")));
}

TEST(offsets_are_those_of_the_c_library_in_every_hour_of_years)
{
    for (size_t z = 0; z < COUNT_OF(zones); z++) {
        const struct zone *zone = zone_find(str_of(zones[z]));

        use_zone(zones[z]);
        for (int64_t at = seconds_of("2005-01-01T00:00:00Z");
             at < seconds_of("2060-01-01T00:00:00Z"); at += 25 * 3600) {
            struct zone_span span = zone_span_at(zone, at);
            time_t t = (time_t)at;
            struct tm tm;

            CHECK(localtime_r(&t, &tm) != NULL);
            CHECK(span.from_s <= at && at < span.until_s);
            CHECK_INT(span.offset_s, tm.tm_gmtoff);
        }
    }
}
