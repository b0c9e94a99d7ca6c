/* datetime.c - the proleptic Gregorian calendar in integers; no locale, no time zone database. */
#include "base/datetime.h"

#include <stdio.h>

#include "base/clock.h"

enum { SEC_PER_DAY = 86400, DAYS_PER_ERA = 146097, YEARS_PER_ERA = 400 };

static const int64_t year_1_us = -62135596800 * USEC_PER_SEC;
static const int64_t year_10000_us = 253402300800 * USEC_PER_SEC;

/* Days since 1970-01-01. The year is taken to begin in March, so that leap days come last. */
static int64_t days_from_civil(int64_t year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - (YEARS_PER_ERA - 1)) / YEARS_PER_ERA;
    int64_t year_of_era = y - era * YEARS_PER_ERA;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * DAYS_PER_ERA + day_of_era - 719468; /* 719468: from 0000-03-01 to 1970-01-01 */
}

int64_t datetime_join(const struct datetime_parts *p)
{
    int64_t days = days_from_civil(p->year, p->month, p->day);
    int of_day = p->hour * 3600 + p->minute * 60 + p->second;

    return (days * SEC_PER_DAY + of_day) * USEC_PER_SEC + p->microsecond;
}

struct datetime_parts datetime_split(int64_t us)
{
    int64_t seconds = datetime_floor_div(us, USEC_PER_SEC);
    int64_t days = datetime_floor_div(seconds, SEC_PER_DAY);
    int64_t of_day = seconds - days * SEC_PER_DAY;
    int64_t shifted = days + 719468;
    int64_t era = datetime_floor_div(shifted, DAYS_PER_ERA);
    int64_t doe = shifted - era * DAYS_PER_ERA; /* day of era */
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153; /* months since March */
    int month = (int)(mp < 10 ? mp + 3 : mp - 9);

    return (struct datetime_parts){
        .year = (int)(yoe + era * YEARS_PER_ERA + (month <= 2)),
        .month = month,
        .day = (int)(doy - (153 * mp + 2) / 5 + 1),
        .hour = (int)(of_day / 3600),
        .minute = (int)(of_day / 60 % 60),
        .second = (int)(of_day % 60),
        .microsecond = (int)((us % USEC_PER_SEC + USEC_PER_SEC) % USEC_PER_SEC),
    };
}

static int days_in_month(int year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    const bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return days[month - 1] + (month == 2 && is_leap);
}

/* `n` digits at `at` as a number, or -1. */
static int digits(struct str s, size_t at, size_t n)
{
    int value = 0;

    if (at + n > s.len)
        return -1;
    for (size_t i = at; i < at + n; i++) {
        if (s.data[i] < '0' || s.data[i] > '9')
            return -1;
        value = value * 10 + (s.data[i] - '0');
    }
    return value;
}

static const char *parse_date(struct str s, struct datetime_parts *p)
{
    static const char bad_separator[] = "invalid date separator, expected `-`";

    if (s.len < 10)
        return "input is too short";
    p->year = digits(s, 0, 4);
    if (p->year < 0)
        return "invalid character in year";
    if (s.data[4] != '-')
        return bad_separator;
    p->month = digits(s, 5, 2);
    if (p->month < 0)
        return "invalid character in month";
    if (s.data[7] != '-')
        return bad_separator;
    p->day = digits(s, 8, 2);
    if (p->day < 0)
        return "invalid character in day";
    if (p->month < 1 || p->month > 12)
        return "month value is outside expected range of 1-12";
    if (p->day < 1 || p->day > days_in_month(p->year, p->month))
        return "day value is outside expected range";
    return NULL;
}

/* The fraction's digits from *at on, six of them kept. */
static bool parse_fraction(struct str s, size_t *at, struct datetime_parts *p)
{
    size_t first = *at;
    int scale = 100000;

    while (*at < s.len && s.data[*at] >= '0' && s.data[*at] <= '9') {
        p->microsecond += (s.data[*at] - '0') * scale;
        scale /= 10;
        ++*at;
    }
    return *at > first;
}

/* The offset from *at on, to the end of the string, in seconds east of UTC. */
static bool parse_offset(struct str s, size_t at, int *ret_seconds)
{
    static const char minus_sign[] = "\xe2\x88\x92"; /* U+2212 */
    int sign = 1, hours, minutes;

    *ret_seconds = 0;
    if (at == s.len)
        return true;
    if (s.data[at] == 'Z' || s.data[at] == 'z')
        return at + 1 == s.len;
    if (s.len - at > 3 && memcmp(s.data + at, minus_sign, 3) == 0) {
        sign = -1;
        at += 3;
    } else if (s.data[at] == '+' || s.data[at] == '-') {
        sign = s.data[at++] == '-' ? -1 : 1;
    } else {
        return false;
    }
    hours = digits(s, at, 2);
    at += 2;
    if (hours < 0)
        return false;
    if (at < s.len && s.data[at] == ':')
        at++;
    minutes = digits(s, at, 2);
    if (minutes < 0 || minutes > 59 || hours > 23 || at + 2 != s.len)
        return false;
    *ret_seconds = sign * (hours * 3600 + minutes * 60);
    return true;
}

static bool is_separator(char c)
{
    return c == 'T' || c == 't' || c == ' ' || c == '_';
}

/* All after the date. */
static bool parse_time(struct str s, struct datetime_parts *p, int *ret_offset)
{
    size_t at = 16;

    if (s.len < 16 || !is_separator(s.data[10]) || s.data[13] != ':')
        return false;
    p->hour = digits(s, 11, 2);
    p->minute = digits(s, 14, 2);
    if (p->hour < 0 || p->hour > 23 || p->minute < 0 || p->minute > 59)
        return false;
    if (at < s.len && s.data[at] == ':') {
        p->second = digits(s, at + 1, 2);
        if (p->second < 0 || p->second > 59)
            return false;
        at += 3;
        if (at < s.len && (s.data[at] == '.' || s.data[at] == ',')) {
            at++;
            if (!parse_fraction(s, &at, p))
                return false;
        }
    }
    return parse_offset(s, at, ret_offset);
}

const char *datetime_parse(struct str s, int64_t *ret_us)
{
    struct datetime_parts p = { 0 };
    const char *problem = parse_date(s, &p);
    int64_t us;
    int offset;

    if (problem != NULL)
        return problem;
    if (s.len == 10)
        return "input is too short"; /* a date alone is no date-time here */
    if (!parse_time(s, &p, &offset))
        return "unexpected extra characters at the end of the input";
    us = datetime_join(&p) - (int64_t)offset * USEC_PER_SEC;
    if (p.year > 0 && (us < year_1_us || us >= year_10000_us))
        return "the offset leads out of the years 1 to 9999"; /* nothing could read it back */
    *ret_us = us;
    return NULL;
}

bool datetime_is_year_zero(struct str s)
{
    return str_starts(s, STR_LIT("0000"));
}

/* `n` digits, with zeros in front. Answers are full of times, and printf is slow. */
static char *put(char *at, int value, size_t n)
{
    for (size_t i = n; i > 0; i--, value /= 10)
        at[i - 1] = (char)('0' + value % 10);
    return at + n;
}

struct str datetime_format(int64_t us, char text[DATETIME_TEXT_MAX])
{
    const struct datetime_parts p = datetime_split(us);
    const struct {
        char mark;
        int value;
    } pairs[] = {
        { '-', p.month }, { '-', p.day }, { 'T', p.hour }, { ':', p.minute }, { ':', p.second }
    };
    char *at = text;

    if (p.year >= 0 && p.year <= 9999)
        at = put(at, p.year, 4);
    else
        at += snprintf(text, DATETIME_TEXT_MAX, "%04d", p.year);
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        *at++ = pairs[i].mark;
        at = put(at, pairs[i].value, 2);
    }
    if (p.microsecond != 0) {
        *at++ = '.';
        at = put(at, p.microsecond, 6);
    }
    *at++ = 'Z';
    *at = '\0';
    return str_from(text, (size_t)(at - text));
}

struct str datetime_format_second(int64_t us, char text[DATETIME_TEXT_MAX])
{
    return datetime_format(datetime_floor_div(us, USEC_PER_SEC) * USEC_PER_SEC, text);
}
