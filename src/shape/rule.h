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

/* A row's rule: what timerange_parse() accepts. Its meaning depends on "now", so it stays text
 * until a handler parses it. */
const char *rule_time_range(struct str *text, struct arena *arena);

/* Patterns say what a regular expression can: not that a span has at most 100 years, or how many
 * days a month has. */
#define SPAN_PATTERN "[0-9]+[mhdw]"
#define DATE_TIME_PATTERN                                                                          \
    "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt _]([01][0-9]|2[0-3]):[0-5][0-9]"         \
    "(:[0-5][0-9]([.,][0-9]+)?)?([Zz]|([+-]|\u2212)([01][0-9]|2[0-3]):?[0-5][0-9])?"
#define TIME_RANGE_PATTERN                                                                         \
    "^(" SPAN_PATTERN "|today|yesterday|this_month|last_month|all|" DATE_TIME_PATTERN              \
    "/" DATE_TIME_PATTERN ")$"
#define MOMENT_PATTERN "^(" SPAN_PATTERN "|" DATE_TIME_PATTERN ")$"
#define TIME_RANGE_DOC                                                                             \
    "A span such as 24h, 7d, 30d; today, yesterday, this_month, last_month, all; or "              \
    "<date-time>/<date-time>."

/* Resolves the members `since` and `until`, each of which may be null, or refuses them. */
void rule_check_since_until(struct problems *problems, struct arena *arena, struct str since,
                            struct str until, struct time_range *ret);
