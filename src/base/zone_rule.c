/* zone_rule.c - POSIX's words for summer time, and the spans that follow from them. */
#include "base/zone_rule.h"

#include "base/clock.h"
#include "base/datetime.h"

enum { DAY_S = 86400, HOUR_S = 3600, CHANGE_HOUR = 2 };

/* What is left to read. */
struct reader {
    const char *at, *end;
};

static bool takes(struct reader *r, char c)
{
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool read_number(struct reader *r, int most, int *ret)
{
    const char *begin = r->at;

    for (*ret = 0; r->at < r->end && is_digit(*r->at) && *ret <= most; r->at++)
        *ret = *ret * 10 + (*r->at - '0');
    return r->at > begin && *ret <= most;
}

/* "CET", "<+0330>". */
static bool skip_name(struct reader *r)
{
    const char *begin = r->at;

    if (takes(r, '<')) {
        while (r->at < r->end && *r->at != '>')
            r->at++;
        return takes(r, '>');
    }
    while (r->at < r->end && ((*r->at >= 'A' && *r->at <= 'Z') || (*r->at >= 'a' && *r->at <= 'z')))
        r->at++;
    return r->at > begin;
}

/* "-3:30", "2", "-167:00:00". */
static bool read_time(struct reader *r, int64_t *ret_s)
{
    bool is_negative = takes(r, '-');
    int hours, minutes = 0, seconds = 0;

    if (!is_negative)
        (void)takes(r, '+');
    if (!read_number(r, 167, &hours) ||
        (takes(r, ':') &&
         (!read_number(r, 59, &minutes) || (takes(r, ':') && !read_number(r, 59, &seconds)))))
        return false;
    *ret_s = (int64_t)hours * HOUR_S + (int64_t)minutes * 60 + seconds;
    if (is_negative)
        *ret_s = -*ret_s;
    return true;
}

static bool read_day(struct reader *r, struct zone_day *ret)
{
    bool good;

    *ret = (struct zone_day){ .kind = DAY_FROM_ZERO, .time_s = (int64_t)CHANGE_HOUR * HOUR_S };
    if (takes(r, 'M')) {
        ret->kind = DAY_OF_MONTH;
        good = read_number(r, 12, &ret->month) && takes(r, '.') && read_number(r, 5, &ret->week) &&
               takes(r, '.') && read_number(r, 6, &ret->weekday) && ret->month > 0 && ret->week > 0;
    } else if (takes(r, 'J')) {
        ret->kind = DAY_WITHOUT_LEAP;
        good = read_number(r, 365, &ret->day) && ret->day > 0;
    } else {
        good = read_number(r, 365, &ret->day);
    }
    return good && (!takes(r, '/') || read_time(r, &ret->time_s));
}

bool zone_rule_parse(struct str text, struct zone_rule *ret)
{
    struct reader r = { text.data, text.data + text.len };

    *ret = (struct zone_rule){ 0 };
    if (!skip_name(&r) || !read_time(&r, &ret->standard_s))
        return false;
    ret->standard_s = -ret->standard_s; /* POSIX counts to the west */
    if (r.at == r.end)
        return true;
    ret->has_summer = true;
    ret->summer_s = ret->standard_s + HOUR_S;
    if (!skip_name(&r))
        return false;
    if (!takes(&r, ',')) {
        if (!read_time(&r, &ret->summer_s) || !takes(&r, ','))
            return false;
        ret->summer_s = -ret->summer_s;
    }
    return read_day(&r, &ret->begins) && takes(&r, ',') && read_day(&r, &ret->ends) &&
           r.at == r.end;
}

static int64_t day_number(int year, int month, int day)
{
    return datetime_join(&(struct datetime_parts){ .year = year, .month = month, .day = day }) /
           USEC_PER_SEC / DAY_S;
}

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* 1970-01-01 was a Thursday. */
static int weekday_of(int64_t day)
{
    return (int)(((day + 4) % 7 + 7) % 7);
}

static int64_t day_of(const struct zone_day *d, int year)
{
    int64_t first, next, day;

    if (d->kind == DAY_FROM_ZERO)
        return day_number(year, 1, 1) + d->day;
    if (d->kind == DAY_WITHOUT_LEAP)
        return day_number(year, 1, 1) + d->day - 1 + (is_leap(year) && d->day > 59 ? 1 : 0);
    first = day_number(year, d->month, 1);
    next = d->month == 12 ? day_number(year + 1, 1, 1) : day_number(year, d->month + 1, 1);
    day = first + (d->weekday - weekday_of(first) + 7) % 7 + (int64_t)7 * (d->week - 1);
    return day < next ? day : day - 7;
}

/* The changes of the years around a time, in order. */
enum { YEARS = 5, CHANGES = 2 * YEARS };

struct rule_change {
    int64_t at_s, offset_s;
};

static size_t list_changes(const struct zone_rule *rule, int year, struct rule_change *ret)
{
    size_t n = 0;

    for (int y = year - 2; y <= year + 2; y++) {
        struct rule_change begins = { day_of(&rule->begins, y) * DAY_S + rule->begins.time_s -
                                          rule->standard_s,
                                      rule->summer_s };
        struct rule_change ends = {
            day_of(&rule->ends, y) * DAY_S + rule->ends.time_s - rule->summer_s, rule->standard_s
        };
        bool is_north = begins.at_s < ends.at_s;

        ret[n++] = is_north ? begins : ends;
        ret[n++] = is_north ? ends : begins;
    }
    return n;
}

struct zone_span zone_rule_span(const struct zone_rule *rule, int64_t at_s)
{
    struct rule_change changes[CHANGES];
    size_t n, i;

    if (!rule->has_summer)
        return (struct zone_span){ INT64_MIN, INT64_MAX, rule->standard_s, rule->standard_s };
    n = list_changes(rule, datetime_split(at_s * USEC_PER_SEC).year, changes);
    for (i = 1; i + 1 < n && changes[i].at_s <= at_s; i++)
        ;
    return (struct zone_span){ changes[i - 1].at_s, changes[i].at_s, changes[i - 1].offset_s,
                               i < 2 ? changes[i].offset_s : changes[i - 2].offset_s };
}
