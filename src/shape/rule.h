/* rule.h - checks that the rules of several shapes have in common.
 *
 * For .c files with shapes only. One thread at a time, as their problems.
 */
#pragma once
#include "shape/problems.h"
#include "shape/timerange.h"

/* A value_error at the string member `name`, whose text is `value`, or null. */
void rule_refuse_text(struct problems *problems, struct arena *arena, const char *name,
                      struct str value, const char *sentence);

/* Refuses a member `time_range` that timerange_parse() does not accept. Its meaning depends on
 * "now", so it stays text until a handler parses it. */
void rule_check_range(struct problems *problems, struct arena *arena, struct str text);

#define TIME_RANGE_PATTERN                                                                         \
    "^([0-9]+[mhdw]|today|yesterday|this_month|last_month|all|[0-9].*/[0-9].*)$"
#define TIME_RANGE_DOC                                                                             \
    "A span such as 24h, 7d, 30d; today, yesterday, this_month, last_month, all; or "              \
    "<date-time>/<date-time>."

/* Resolves the members `since` and `until`, each of which may be null, or refuses them. */
void rule_check_since_until(struct problems *problems, struct arena *arena, struct str since,
                            struct str until, struct time_range *ret);
