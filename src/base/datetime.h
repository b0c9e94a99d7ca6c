/* datetime.h - ISO-8601 date-times to microseconds since 1970 (UTC), and back.
 *
 * The grammar is the contract's: date, 'T' 't' ' ' or '_', HH:MM, optional :SS,
 * optional fraction (six digits kept), optional offset; no offset means UTC.
 *
 * Thread-safe.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/str.h"

/* Holds any 64-bit number of microseconds, not only the years that parse. */
enum { DATETIME_TEXT_MAX = sizeof("-290308-12-21T19:59:05.224192Z") };

struct datetime_parts {
    int year, month, day, hour, minute, second, microsecond;
};

/* NULL and *ret_us when `s` is a date-time; else what is wrong with it, a constant phrase in the
 * words of the contract's 422 (such as "input is too short"). Year 0 parses: callers that refuse
 * it look at datetime_is_year_zero(). An offset that leads out of the years 1 to 9999 is refused:
 * what parses can be formatted and parsed again. */
const char *datetime_parse(struct str s, int64_t *ret_us);

/* The four digits of the year are 0000. */
bool datetime_is_year_zero(struct str s);

/* "2025-01-02T03:04:05Z", with ".000006" before the Z if there are microseconds. Returns `text`
 * as a str. */
struct str datetime_format(int64_t us, char text[DATETIME_TEXT_MAX]);

/* The same to the second, for sentences. */
struct str datetime_format_second(int64_t us, char text[DATETIME_TEXT_MAX]);

struct datetime_parts datetime_split(int64_t us);
int64_t datetime_join(const struct datetime_parts *parts);

/* Of days since 1970, which began on a Thursday; Sunday is 0. */
static inline int datetime_weekday(int64_t day)
{
    return (int)(((day + 4) % 7 + 7) % 7);
}

/* Rounds towards the past, where / rounds towards 1970. */
static inline int64_t datetime_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}
