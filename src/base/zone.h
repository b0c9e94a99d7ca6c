/* zone.h - time zones by their names in the IANA database, such as Europe/Berlin.
 *
 * A zone is read once from the system's files (TZif, RFC 9636) and stays in
 * memory: there are some 600 of them. After the last change that a file lists,
 * its rule for all years to come holds.
 *
 * Thread-safe; digest_init() first.
 */
#pragma once
#include <stdint.h>

#include "base/base.h"
#include "base/str.h"

struct zone;

/* A span of time in which local time differs from UTC by the same number of seconds. */
struct zone_span {
    int64_t from_s, until_s; /* seconds since 1970, UTC; INT64_MIN, INT64_MAX: no bound */
    int64_t offset_s;        /* local time minus UTC */
    int64_t before_s;        /* the same in the span before */
};

/* NULL when the system has no zone of this name. "UTC" is always there. */
const struct zone *zone_find(struct str name);

struct zone_span zone_span_at(const struct zone *zone, int64_t at_s);
