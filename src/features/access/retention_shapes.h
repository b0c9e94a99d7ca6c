/* retention_shapes.h - how long a tenant's data is kept, as set and shown.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

enum { RETENTION_DAYS_MAX = 36500, RETENTION_FAILED_MAX = 100 };

struct retention_limits {
    struct opt_int events_days, business_days, llm_days; /* null: forever */
    int64_t keep_failed_runs;                            /* per agent, whatever their age */
};

extern const struct shape retention_shape;
