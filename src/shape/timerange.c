/* timerange.c - spans, ranges, buckets and groups as the read endpoints spell them. */
#include "shape/timerange.h"

#include "base/clock.h"
#include "base/datetime.h"
#include "shape/shape.h"

#define MINUTE_US (60 * (int64_t)USEC_PER_SEC)
#define HOUR_US   (60 * MINUTE_US)
#define DAY_US    (24 * HOUR_US)
#define WEEK_US   (7 * DAY_US)

/* A century, so that nothing overflows. */
#define SPAN_MAX_US (36525 * DAY_US)

const char *const bucket_names[] = { "minute", "hour", "day", "week", "month", NULL };

static int64_t unit_us(char unit)
{
    switch (unit) {
    case 'm':
        return MINUTE_US;
    case 'h':
        return HOUR_US;
    case 'd':
        return DAY_US;
    case 'w':
        return WEEK_US;
    default:
        return 0;
    }
}

/* Digits and a unit. */
static bool parse_span(struct str s, int64_t *ret_us)
{
    int64_t count, unit;

    if (s.len < 2 || s.data[0] == '-')
        return false;
    unit = unit_us(s.data[s.len - 1]);
    if (unit == 0 || !str_to_int(str_from(s.data, s.len - 1), &count))
        return false;
    if (count > SPAN_MAX_US / unit)
        return false;
    *ret_us = count * unit;
    return true;
}

static bool parse_datetime(struct str s, int64_t *ret)
{
    return !datetime_is_year_zero(s) && datetime_parse(s, ret) == NULL;
}

const char *timerange_parse_moment(struct str s, int64_t now, int64_t *ret)
{
    int64_t span;

    if (parse_span(s, &span)) {
        *ret = now - span;
        return NULL;
    }
    if (parse_datetime(s, ret))
        return NULL;
    return "Should be a date-time, or a span back from now of at most 100 years such as 90m, 24h, "
           "7d or 4w";
}

const char *timerange_between(struct str since, struct str until, int64_t now,
                              struct time_range *ret)
{
    struct time_range range = { TIME_NULL, INT64_MAX };
    const char *problem = NULL;

    if (!str_is_null(since))
        problem = timerange_parse_moment(since, now, &range.since);
    if (problem == NULL && !str_is_null(until))
        problem = timerange_parse_moment(until, now, &range.until);
    if (problem == NULL && range.since > range.until)
        problem = "since should not be after until";
    if (problem == NULL)
        *ret = range;
    return problem;
}

static int64_t day_start(int64_t us)
{
    return timerange_bucket_start(BUCKET_DAY, us);
}

static int64_t month_start(int64_t us)
{
    return timerange_bucket_start(BUCKET_MONTH, us);
}

static bool parse_named_range(struct str s, int64_t now, struct time_range *ret)
{
    if (str_eq_c(s, "today"))
        *ret = (struct time_range){ day_start(now), now };
    else if (str_eq_c(s, "yesterday"))
        *ret = (struct time_range){ day_start(now) - DAY_US, day_start(now) };
    else if (str_eq_c(s, "this_month"))
        *ret = (struct time_range){ month_start(now), now };
    else if (str_eq_c(s, "last_month"))
        *ret = (struct time_range){ month_start(month_start(now) - 1), month_start(now) };
    else if (str_eq_c(s, "all"))
        *ret = (struct time_range){ TIME_NULL, now };
    else
        return false;
    return true;
}

const char *timerange_parse(struct str s, int64_t now, struct time_range *ret)
{
    struct str until = s, since = str_split(&until, '/');
    struct time_range range;
    int64_t span;

    if (parse_named_range(s, now, ret))
        return NULL;
    if (parse_span(s, &span)) {
        *ret = (struct time_range){ now - span, now };
        return NULL;
    }
    if (str_is_null(until) || !parse_datetime(since, &range.since) ||
        !parse_datetime(until, &range.until))
        return "Should be a span of at most 100 years such as 24h, 7d or 30d; today, yesterday, "
               "this_month, last_month or all; or two date-times with a slash between them";
    if (range.since > range.until)
        return "The range should not end before it begins";
    *ret = range;
    return NULL;
}

bool timerange_previous(const struct time_range *range, struct time_range *ret)
{
    int64_t since;

    if (range->since == TIME_NULL ||
        __builtin_sub_overflow(range->since, range->until - range->since, &since))
        return false;
    *ret = (struct time_range){ since, range->since };
    return true;
}

const char *timerange_parse_bucket(struct str s, enum bucket *ret)
{
    for (int i = 0; bucket_names[i] != NULL; i++) {
        if (str_eq_c(s, bucket_names[i])) {
            *ret = (enum bucket)i;
            return NULL;
        }
    }
    return "Should be minute, hour, day, week or month";
}

static int64_t floor_to(int64_t us, int64_t length, int64_t origin)
{
    int64_t into = (us - origin) % length;

    return us - (into < 0 ? into + length : into);
}

int64_t timerange_bucket_start(enum bucket bucket, int64_t us)
{
    struct datetime_parts parts;

    switch (bucket) {
    case BUCKET_MINUTE:
        return floor_to(us, MINUTE_US, 0);
    case BUCKET_HOUR:
        return floor_to(us, HOUR_US, 0);
    case BUCKET_DAY:
        return floor_to(us, DAY_US, 0);
    case BUCKET_WEEK:
        return floor_to(us, WEEK_US, 4 * DAY_US); /* 1970-01-05 was a Monday */
    case BUCKET_MONTH:
        break;
    }
    parts = datetime_split(us);
    return datetime_join(
        &(struct datetime_parts){ .year = parts.year, .month = parts.month, .day = 1 });
}

int64_t timerange_bucket_next(enum bucket bucket, int64_t us)
{
    static const int64_t lengths[] = {
        [BUCKET_MINUTE] = MINUTE_US,
        [BUCKET_HOUR] = HOUR_US,
        [BUCKET_DAY] = DAY_US,
        [BUCKET_WEEK] = WEEK_US,
    };
    int64_t start = timerange_bucket_start(bucket, us);

    if (bucket != BUCKET_MONTH)
        return start + lengths[bucket];
    return month_start(start + 31 * DAY_US); /* always in the next month */
}

static int64_t month_number(int64_t us)
{
    struct datetime_parts parts = datetime_split(us);

    return (int64_t)parts.year * 12 + parts.month;
}

int64_t timerange_count_buckets(const struct time_range *range, enum bucket bucket)
{
    int64_t first, last;

    if (range->since >= range->until)
        return 0;
    if (bucket == BUCKET_MONTH)
        return month_number(range->until - 1) - month_number(range->since) + 1;
    first = timerange_bucket_start(bucket, range->since);
    last = timerange_bucket_start(bucket, range->until - 1);
    return (last - first) / (timerange_bucket_next(bucket, first) - first) + 1;
}

enum bucket timerange_choose_bucket(const struct time_range *range)
{
    enum bucket bucket = BUCKET_MINUTE;

    while (bucket < BUCKET_MONTH && timerange_count_buckets(range, bucket) > BUCKETS_DEFAULT_MAX)
        bucket++;
    return bucket;
}

const char *timerange_check_buckets(const struct time_range *range, enum bucket bucket)
{
    if (timerange_count_buckets(range, bucket) <= BUCKETS_MAX)
        return NULL;
    return "The range has more than 1500 buckets: use a longer bucket or a shorter range";
}

const char *timerange_parse_groups(struct str s, unsigned *ret)
{
    static const struct {
        const char *name;
        unsigned bit;
    } groups[] = { { "model", GROUP_MODEL },
                   { "agent", GROUP_AGENT },
                   { "run", GROUP_RUN },
                   { "day", GROUP_DAY },
                   { "version", GROUP_VERSION } };
    unsigned set = 0;

    do {
        struct str word = str_split(&s, ',');
        size_t i = 0;

        while (i < COUNT_OF(groups) && !str_eq_c(word, groups[i].name))
            i++;
        if (i == COUNT_OF(groups))
            return "Should be model, agent, version, run, day, or several of them separated by "
                   "commas";
        set |= groups[i].bit;
    } while (!str_is_null(s));
    *ret = set;
    return NULL;
}

const char *rule_time_range(struct str *text, struct arena *arena)
{
    struct time_range range;

    (void)arena;
    return timerange_parse(*text, 0, &range); /* the grammar is the same at any time */
}

static bool check_moment(struct problems *problems, struct arena *arena, const char *name,
                         struct str text)
{
    int64_t moment;
    const char *sentence = str_is_null(text) ? NULL : timerange_parse_moment(text, 0, &moment);

    if (sentence != NULL)
        rule_refuse_text(problems, arena, name, text, sentence);
    return sentence == NULL;
}

void rule_check_since_until(struct problems *problems, struct arena *arena, struct str since,
                            struct str until, struct time_range *ret)
{
    bool since_ok = check_moment(problems, arena, "since", since);
    bool until_ok = check_moment(problems, arena, "until", until);
    const char *sentence = NULL;

    if (since_ok && until_ok)
        sentence = timerange_between(since, until, clock_wall_us(), ret);
    if (sentence != NULL)
        rule_refuse_text(problems, arena, "since", since, sentence);
}
