/* test_timerange.c - the grammars of since, until, time_range, bucket and group_by. */
#include "shape/timerange.h"

#include "base/datetime.h"
#include "shape/shape.h"
#include "test.h"

#define NOW "2026-03-18T10:20:30.5Z" /* a Wednesday */

static int64_t at(const char *text)
{
    int64_t us = 0;

    CHECK(datetime_parse(str_of(text), &us) == NULL);
    return us;
}

static void check_time(int64_t us, const char *expected)
{
    char text[DATETIME_TEXT_MAX];

    if (expected == NULL)
        CHECK(us == TIME_NULL);
    else
        CHECK_STR(datetime_format(us, text), expected);
}

TEST(a_moment_is_a_date_time_or_a_span_back_from_now)
{
    static const struct {
        const char *text, *moment;
    } rows[] = {
        { "90m", "2026-03-18T08:50:30.500000Z" },
        { "24h", "2026-03-17T10:20:30.500000Z" },
        { "7d", "2026-03-11T10:20:30.500000Z" },
        { "4w", "2026-02-18T10:20:30.500000Z" },
        { "0m", "2026-03-18T10:20:30.500000Z" },
        { "2025-01-02T03:04:05Z", "2025-01-02T03:04:05Z" },
        { "2025-01-02 03:04+01:00", "2025-01-02T02:04:00Z" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t moment = 0;

        CHECK(timerange_parse_moment(str_of(rows[i].text), at(NOW), &moment) == NULL);
        check_time(moment, rows[i].moment);
    }
}

TEST(what_is_no_moment_is_refused)
{
    static const char *const rows[] = { "",
                                        "h",
                                        "24",
                                        "24s",
                                        "-1h",
                                        "1.5h",
                                        "24 h",
                                        "2025-01-02",
                                        "1000000000w",
                                        "+1h",
                                        "now",
                                        "99999999999999999999d",
                                        "0000-01-01T00:00:00Z" };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t moment = 7;

        CHECK(timerange_parse_moment(str_of(rows[i]), at(NOW), &moment) != NULL);
        CHECK(moment == 7);
    }
}

TEST(since_and_until_may_be_left_out_but_not_reversed)
{
    struct time_range range;

    CHECK(timerange_between(STR_NULL, STR_NULL, at(NOW), &range) == NULL);
    CHECK(range.since == TIME_NULL && range.until == INT64_MAX);
    CHECK(timerange_between(STR_LIT("2d"), STR_LIT("1d"), at(NOW), &range) == NULL);
    check_time(range.since, "2026-03-16T10:20:30.500000Z");
    check_time(range.until, "2026-03-17T10:20:30.500000Z");
    CHECK(timerange_between(STR_LIT("1d"), STR_LIT("2d"), at(NOW), &range) != NULL);
    CHECK(timerange_between(STR_LIT("1d"), STR_LIT("2020-01-01T00:00:00Z"), at(NOW), &range) !=
          NULL);
    CHECK(timerange_between(STR_LIT("x"), STR_NULL, at(NOW), &range) != NULL);
    CHECK(timerange_between(STR_NULL, STR_LIT("x"), at(NOW), &range) != NULL);
}

TEST(a_range_has_the_bounds_its_name_says)
{
    static const struct {
        const char *text, *since, *until;
    } rows[] = {
        { "24h", "2026-03-17T10:20:30.500000Z", "2026-03-18T10:20:30.500000Z" },
        { "30d", "2026-02-16T10:20:30.500000Z", "2026-03-18T10:20:30.500000Z" },
        { "today", "2026-03-18T00:00:00Z", "2026-03-18T10:20:30.500000Z" },
        { "yesterday", "2026-03-17T00:00:00Z", "2026-03-18T00:00:00Z" },
        { "this_month", "2026-03-01T00:00:00Z", "2026-03-18T10:20:30.500000Z" },
        { "last_month", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z" },
        { "all", NULL, "2026-03-18T10:20:30.500000Z" },
        { "2025-01-01T00:00:00Z/2025-02-01T00:00:00+01:00", "2025-01-01T00:00:00Z",
          "2025-01-31T23:00:00Z" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct time_range range;

        CHECK(timerange_parse(str_of(rows[i].text), at(NOW), &range) == NULL);
        check_time(range.since, rows[i].since);
        check_time(range.until, rows[i].until);
    }
}

TEST(what_is_no_range_is_refused)
{
    static const char *const rows[] = { "",
                                        "Today",
                                        "7x",
                                        "7d/1d",
                                        "2025-01-01T00:00:00Z",
                                        "2025-01-01T00:00:00Z/",
                                        "/2025-01-01T00:00:00Z",
                                        "2025-01-01/2025-02-01",
                                        "2025-02-01T00:00:00Z/2025-01-01T00:00:00Z",
                                        "2025-01-01T00:00:00Z/2025-02-01T00:00:00Z/" };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct time_range range;

        CHECK(timerange_parse(str_of(rows[i]), at(NOW), &range) != NULL);
    }
}

TEST(the_range_before_has_the_same_length)
{
    struct time_range range, before;

    CHECK(timerange_parse(STR_LIT("7d"), at(NOW), &range) == NULL);
    CHECK(timerange_previous(&range, &before));
    check_time(before.since, "2026-03-04T10:20:30.500000Z");
    check_time(before.until, "2026-03-11T10:20:30.500000Z");
    CHECK(timerange_parse(STR_LIT("all"), at(NOW), &range) == NULL);
    CHECK(!timerange_previous(&range, &before));
}

TEST(a_bucket_begins_where_its_name_says)
{
    static const struct {
        const char *name, *moment, *start, *next;
    } rows[] = {
        { "minute", NOW, "2026-03-18T10:20:00Z", "2026-03-18T10:21:00Z" },
        { "hour", NOW, "2026-03-18T10:00:00Z", "2026-03-18T11:00:00Z" },
        { "day", NOW, "2026-03-18T00:00:00Z", "2026-03-19T00:00:00Z" },
        { "week", NOW, "2026-03-16T00:00:00Z", "2026-03-23T00:00:00Z" },
        { "week", "2026-03-16T00:00:00Z", "2026-03-16T00:00:00Z", "2026-03-23T00:00:00Z" },
        { "week", "2026-03-15T23:59:59Z", "2026-03-09T00:00:00Z", "2026-03-16T00:00:00Z" },
        { "month", NOW, "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z" },
        { "month", "2024-02-29T12:00:00Z", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z" },
        { "month", "2025-12-31T23:59:59Z", "2025-12-01T00:00:00Z", "2026-01-01T00:00:00Z" },
        { "day", "1969-12-31T23:00:00Z", "1969-12-31T00:00:00Z", "1970-01-01T00:00:00Z" },
        { "week", "1969-12-31T23:00:00Z", "1969-12-29T00:00:00Z", "1970-01-05T00:00:00Z" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        enum bucket bucket;

        CHECK(timerange_parse_bucket(str_of(rows[i].name), &bucket) == NULL);
        check_time(timerange_bucket_start(bucket, at(rows[i].moment)), rows[i].start);
        check_time(timerange_bucket_next(bucket, at(rows[i].moment)), rows[i].next);
    }
}

TEST(an_unknown_bucket_is_refused)
{
    enum bucket bucket;

    CHECK(timerange_parse_bucket(STR_LIT("year"), &bucket) != NULL);
    CHECK(timerange_parse_bucket(STR_LIT(""), &bucket) != NULL);
    CHECK(timerange_parse_bucket(STR_LIT("Day"), &bucket) != NULL);
}

TEST(buckets_are_counted_as_the_range_touches_them)
{
    static const struct {
        const char *since, *until;
        enum bucket bucket;
        int64_t count;
    } rows[] = {
        { "2026-03-18T10:20:30Z", "2026-03-18T10:20:30Z", BUCKET_MINUTE, 0 },
        { "2026-03-18T10:20:30Z", "2026-03-18T10:20:31Z", BUCKET_MINUTE, 1 },
        { "2026-03-18T10:20:00Z", "2026-03-18T10:21:00Z", BUCKET_MINUTE, 1 },
        { "2026-03-18T10:20:30Z", "2026-03-18T10:21:30Z", BUCKET_MINUTE, 2 },
        { "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", BUCKET_DAY, 31 },
        { "2026-03-15T00:00:00Z", "2026-03-16T00:00:01Z", BUCKET_WEEK, 2 },
        { "2025-11-30T00:00:00Z", "2026-02-01T00:00:00Z", BUCKET_MONTH, 3 },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct time_range range = { at(rows[i].since), at(rows[i].until) };

        CHECK_INT(timerange_count_buckets(&range, rows[i].bucket), rows[i].count);
    }
}

TEST(the_default_bucket_gives_at_most_200_points)
{
    static const struct {
        const char *text;
        enum bucket bucket;
    } rows[] = {
        { "60m", BUCKET_MINUTE }, { "199m", BUCKET_MINUTE }, { "24h", BUCKET_HOUR },
        { "7d", BUCKET_HOUR },    { "30d", BUCKET_DAY },     { "100w", BUCKET_WEEK },
        { "500w", BUCKET_MONTH },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct time_range range;

        CHECK(timerange_parse(str_of(rows[i].text), at(NOW), &range) == NULL);
        CHECK_INT(timerange_choose_bucket(&range), rows[i].bucket);
    }
}

TEST(more_than_1500_buckets_are_refused)
{
    struct time_range range = { at("2026-01-01T00:00:00Z"), at("2026-01-02T01:00:00Z") };

    CHECK(timerange_check_buckets(&range, BUCKET_MINUTE) == NULL);
    range.until++;
    CHECK(timerange_check_buckets(&range, BUCKET_MINUTE) != NULL);
}

TEST(groups_are_a_comma_list)
{
    unsigned groups = 0;

    CHECK(timerange_parse_groups(STR_LIT("model"), &groups) == NULL);
    CHECK_INT(groups, GROUP_MODEL);
    CHECK(timerange_parse_groups(STR_LIT("day,agent,run,day"), &groups) == NULL);
    CHECK_INT(groups, GROUP_DAY | GROUP_AGENT | GROUP_RUN);
    CHECK(timerange_parse_groups(STR_LIT(""), &groups) != NULL);
    CHECK(timerange_parse_groups(STR_LIT("model,"), &groups) != NULL);
    CHECK(timerange_parse_groups(STR_LIT("model, day"), &groups) != NULL);
    CHECK(timerange_parse_groups(STR_LIT("month"), &groups) != NULL);
}
