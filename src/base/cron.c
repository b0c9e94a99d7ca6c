/* cron.c - reading cron expressions, and finding the next time that they name. */
#include "base/cron.h"

#include <assert.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/zone.h"

enum { MINUTE_S = 60, HOUR_S = 3600, DAY_S = 86400, MONTHS = 12, NAME_LEN = 3 };

static const uint32_t every_hour = (1U << 24) - 1;

struct field {
    int least, most;
    const char *names; /* of three letters each, the first is `least`; NULL: it has no names */
    const char *problem;
};

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

static const struct field fields[FIELDS] = {
    { 0, 59, NULL, "The minute should be *, or numbers from 0 to 59, such as 0,30 or */15" },
    { 0, 23, NULL, "The hour should be *, or numbers from 0 to 23, such as 8-18 or */2" },
    { 1, 31, NULL, "The day of the month should be *, or numbers from 1 to 31" },
    { 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec",
      "The month should be *, or numbers from 1 to 12, or names such as jan" },
    { 0, 7, "sunmontuewedthufrisat",
      "The day of the week should be *, or numbers from 0 (Sunday) to 7 (Sunday), or names such "
      "as mon-fri" },
};

static bool read_value(struct str *r, const struct field *field, int *ret)
{
    if (field->names != NULL && r->len >= NAME_LEN) {
        struct str text = str_from(r->data, NAME_LEN);

        for (size_t i = 0; field->names[i * NAME_LEN] != '\0'; i++)
            if (str_eq_nocase(text, str_from(field->names + i * NAME_LEN, NAME_LEN))) {
                *r = str_from(r->data + NAME_LEN, r->len - NAME_LEN);
                *ret = field->least + (int)i;
                return true;
            }
    }
    return str_take_number(r, field->most, ret) && *ret >= field->least;
}

/* "*", "5", "5-10", and each with a step: "/2". From 5 to the end: "5/2". */
static bool read_item(struct str *r, const struct field *field, uint64_t *ret)
{
    int from = field->least, until = field->most, step = 1;
    bool is_one = false;

    if (!str_take(r, '*')) {
        if (!read_value(r, field, &from))
            return false;
        is_one = !str_take(r, '-');
        until = from;
        if (!is_one && !read_value(r, field, &until))
            return false;
        if (until == 0 && from > 0 && field == &fields[WEEKDAY])
            until = 7; /* fri-sun */
    }
    if (str_take(r, '/')) {
        if (!str_take_number(r, field->most, &step) || step < 1)
            return false;
        until = is_one ? field->most : until;
    }
    if (until < from || until > field->most)
        return false;
    assert(from >= 0);
    for (int i = from; i <= until; i += step)
        *ret |= 1ULL << i;
    return true;
}

static bool read_field(struct str *r, const struct field *field, uint64_t *ret)
{
    *ret = 0;
    do
        if (!read_item(r, field, ret))
            return false;
    while (str_take(r, ','));
    return r->len == 0 || r->data[0] == ' ' || r->data[0] == '\t';
}

static bool is_ever_due(const struct cron *c)
{
    static const int longest[] = { 0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

    for (int month = 1; month <= MONTHS; month++)
        if ((c->months >> month & 1) != 0 &&
            (c->either_day || (c->days & ((2U << longest[month]) - 1)) != 0))
            return true;
    return false;
}

const char *cron_parse(struct str text, struct cron *ret)
{
    struct str r = str_trim(text);
    bool starred[FIELDS];
    uint64_t bits[FIELDS];

    for (size_t i = 0; i < FIELDS; i++) {
        if (r.len == 0)
            return "Should have five fields: minute, hour, day of the month, month, day of the "
                   "week";
        starred[i] = r.data[0] == '*';
        if (!read_field(&r, &fields[i], &bits[i]))
            return fields[i].problem;
        r = str_trim(r);
    }
    if (r.len > 0)
        return "Should have five fields and nothing after them";
    *ret = (struct cron){ .minutes = bits[MINUTE],
                          .hours = (uint32_t)bits[HOUR],
                          .days = (uint32_t)bits[DAY],
                          .months = (uint16_t)bits[MONTH],
                          .weekdays = (uint8_t)((bits[WEEKDAY] | bits[WEEKDAY] >> 7) & 0x7f),
                          .either_day = !starred[DAY] && !starred[WEEKDAY] };
    return is_ever_due(ret) ? NULL : "Names a day that no month has";
}

/* The lowest set bit from `from` on; -1: no such bit. */
static int next_bit(uint64_t bits, int from)
{
    bits = from > 63 ? 0 : bits >> from << from;
    return bits == 0 ? -1 : __builtin_ctzll(bits);
}

/* Whole days since 1970 of the first of a month, which may be beyond the year's end. */
static int64_t month_begins(int year, int month)
{
    struct datetime_parts p = { .year = year + (month - 1) / MONTHS,
                                .month = (month - 1) % MONTHS + 1,
                                .day = 1 };

    return datetime_floor_div(datetime_join(&p), (int64_t)DAY_S * USEC_PER_SEC);
}

static bool has_day(const struct cron *c, int64_t day, int day_of_month)
{
    bool by_month = (c->days >> day_of_month & 1) != 0;
    bool by_week = (c->weekdays >> datetime_weekday(day) & 1) != 0;

    return c->either_day ? by_month || by_week : by_month && by_week;
}

/* The first day from `day` on, before `end`; `end` if no day matches. */
static int64_t next_day(const struct cron *c, int64_t day, int64_t end)
{
    struct datetime_parts p = datetime_split(day * DAY_S * USEC_PER_SEC);
    int month = p.month;

    while (day < end) {
        int64_t first = month_begins(p.year, month), next = month_begins(p.year, month + 1);

        if ((c->months >> ((month - 1) % MONTHS + 1) & 1) != 0)
            for (; day < next && day < end; day++)
                if (has_day(c, day, (int)(day - first) + 1))
                    return day;
        day = next;
        month++;
    }
    return end;
}

/* The first match of a day's times from `second` on; -1: none is left. */
static int64_t next_time(const struct cron *c, int64_t second)
{
    int hour = (int)(second / HOUR_S), minute = (int)(second % HOUR_S / MINUTE_S);
    int found = next_bit(c->hours, hour);

    if (found < 0)
        return -1;
    if (found > hour)
        minute = 0;
    minute = next_bit(c->minutes, minute);
    if (minute < 0) {
        found = next_bit(c->hours, found + 1);
        minute = next_bit(c->minutes, 0);
    }
    return found < 0 ? -1 : (int64_t)found * HOUR_S + (int64_t)minute * MINUTE_S;
}

/* The first match from `local` on, which is a whole minute of local time; INT64_MAX: none before
 * `end`. */
static int64_t next_local(const struct cron *c, int64_t local, int64_t end)
{
    int64_t day = datetime_floor_div(local, DAY_S), last = datetime_floor_div(end - 1, DAY_S) + 1;
    int64_t second = local - day * DAY_S;

    while ((day = next_day(c, day, last)) < last) {
        int64_t time = next_time(c, day == datetime_floor_div(local, DAY_S) ? second : 0);

        if (time >= 0)
            return day * DAY_S + time < end ? day * DAY_S + time : INT64_MAX;
        day++;
    }
    return INT64_MAX;
}

static int64_t to_minute(int64_t second)
{
    return -datetime_floor_div(-second, MINUTE_S) * MINUTE_S;
}

int64_t cron_next(const struct cron *c, const struct zone *zone, int64_t after_s)
{
    int64_t give_up = after_s + (int64_t)CRON_NEVER_YEARS * 366 * DAY_S, at = after_s + 1;
    bool names_hours = c->hours != every_hour;

    while (at < give_up) {
        struct zone_span span = zone_span_at(zone, at);
        int64_t until = span.until_s < give_up ? span.until_s : give_up, found;
        int64_t local = to_minute(at + span.offset_s);

        if (names_hours && span.from_s == at && span.before_s < span.offset_s &&
            next_local(c, to_minute(at + span.before_s), at + span.offset_s) != INT64_MAX)
            return at; /* the clock jumps over it now */
        if (names_hours && span.before_s > span.offset_s &&
            local < to_minute(span.from_s + span.before_s))
            local = to_minute(span.from_s + span.before_s); /* the clock showed it before */
        found = next_local(c, local, until + span.offset_s);
        if (found != INT64_MAX)
            return found - span.offset_s;
        assert(until > at);
        at = until;
    }
    return INT64_MAX;
}
