/* zone_rule.h - when summer time begins and ends in all years to come, as POSIX writes it in TZ:
 * "CET-1CEST,M3.5.0,M10.5.0/3". The last line of a time zone's file; see zone.h.
 *
 * Thread-safe: values only.
 */
#pragma once
#include <stdbool.h>

#include "base/str.h"
#include "base/zone.h"

/* A day of each year, and the local time of the change. */
struct zone_day {
    enum { DAY_OF_MONTH, DAY_WITHOUT_LEAP, DAY_FROM_ZERO } kind;
    int month, week, weekday; /* DAY_OF_MONTH: week 5 is the last one; Sunday is 0 */
    int day;                  /* else: 1 to 365, as if there were no 29 February; or 0 to 365 */
    int64_t time_s;           /* since midnight; may be negative, or beyond the day */
};

struct zone_rule {
    int64_t standard_s, summer_s; /* local time minus UTC */
    bool has_summer;
    struct zone_day begins, ends; /* of summer time */
};

bool zone_rule_parse(struct str text, struct zone_rule *ret);

/* The span around a time, as if the rule had always held. */
struct zone_span zone_rule_span(const struct zone_rule *rule, int64_t at_s);
