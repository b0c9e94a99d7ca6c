/* cron.h - cron expressions: minute, hour, day of the month, month, day of the week.
 *
 * A field is a list of numbers, ranges and *, each with an optional step; months
 * and weekdays may be named (jan, mon); Sunday is 0 or 7. If both days are
 * restricted, one of them suffices, as in every cron.
 *
 * Local times that a zone's clock skips or repeats: an expression that names
 * hours is due once, when the clock has jumped over its time, or the first time
 * that it shows it. One that leaves the hour open ("every 15 minutes") follows
 * the time that really passes: nothing is due in a gap, and an hour that comes
 * twice counts twice.
 *
 * Thread-safe: values only.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct zone;

/* A set bit for each value that the field allows. */
struct cron {
    uint64_t minutes;
    uint32_t hours, days; /* days: bits 1 to 31 */
    uint16_t months;      /* bits 1 to 12 */
    uint8_t weekdays;     /* bits 0 to 6 */
    bool either_day;      /* a day of the month or of the week suffices */
};

enum { CRON_NEVER_YEARS = 45 }; /* what is not due in these years never is */

/* NULL, or what is wrong: a constant sentence for people. */
const char *cron_parse(struct str text, struct cron *ret);

/* The first time after `after_s` at which it is due; INT64_MAX: never. Seconds since 1970. */
int64_t cron_next(const struct cron *cron, const struct zone *zone, int64_t after_s);
