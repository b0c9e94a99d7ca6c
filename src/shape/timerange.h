/* timerange.h - the syntax of spans, ranges, buckets and groups in queries.
 *
 * Parsers return NULL and fill `ret`, or a constant sentence that says what is
 * accepted, for the value_error of a 422. All times are microseconds since
 * 1970, UTC; the caller passes "now", so that a text has the same meaning
 * throughout a request.
 *
 * Thread-safe: pure functions.
 */
#pragma once
#include <stdbool.h>

#include "base/base.h"
#include "base/str.h"
#include "shape/problems.h"

enum { BUCKETS_DEFAULT_MAX = 200, BUCKETS_MAX = 1500 };

struct time_range {
    int64_t since; /* inclusive; TIME_NULL (shape.h): from the beginning */
    int64_t until; /* exclusive */
};

/* `since` and `until`: a date-time, or a span back from now such as 90m, 24h, 7d, 4w. */
const char *timerange_parse_moment(struct str s, int64_t now, int64_t *ret);

/* Both together: a null `since` is the beginning, a null `until` is the end of time. Refuses since
 * after until. */
const char *timerange_between(struct str since, struct str until, int64_t now,
                              struct time_range *ret);

/* `time_range`: a span, today, yesterday, this_month, last_month, all, or A/B. A range without
 * an end of its own ends now. */
const char *timerange_parse(struct str s, int64_t now, struct time_range *ret);

/* The range of the same length before `range`; false when `range` has no beginning. */
bool timerange_previous(const struct time_range *range, struct time_range *ret);

enum bucket { BUCKET_MINUTE, BUCKET_HOUR, BUCKET_DAY, BUCKET_WEEK, BUCKET_MONTH };

extern const char *const bucket_names[]; /* in that order, ends in NULL */

const char *timerange_parse_bucket(struct str s, enum bucket *ret);

/* The beginning of the bucket that holds `us`, and of the one after that. Weeks begin on Monday. */
int64_t timerange_bucket_start(enum bucket bucket, int64_t us);
int64_t timerange_bucket_next(enum bucket bucket, int64_t us);

/* How many buckets a range touches; it has a beginning. */
int64_t timerange_count_buckets(const struct time_range *range, enum bucket bucket);

/* The finest bucket that gives at most BUCKETS_DEFAULT_MAX, else months. */
enum bucket timerange_choose_bucket(const struct time_range *range);

/* NULL, or the sentence for a range of more than BUCKETS_MAX buckets. */
const char *timerange_check_buckets(const struct time_range *range, enum bucket bucket);

/* `group_by`: a comma list, as a set of bits. */
enum usage_group {
    GROUP_MODEL = 1,
    GROUP_AGENT = 2,
    GROUP_RUN = 4,
    GROUP_DAY = 8,
    GROUP_VERSION = 16 /* of the agent, as reports name it */
};

const char *timerange_parse_groups(struct str s, unsigned *ret);

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
