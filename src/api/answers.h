/* answers.h - answers that belong to no feature: health, limits, errors.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

struct health_answer {
    struct str status;   /* ok, degraded, unavailable */
    struct str reason;   /* left out when ok */
    struct list tenants; /* of struct str: the slugs of those that cannot report; degraded only */
};

/* What the callers of a key and of its tenant hold of one kind, and may hold; null: any number. */
struct budget_answer {
    struct str kind;
    int64_t tenant_used, key_used;
    struct opt_int tenant_max, key_max;
};

struct limits_answer {
    int64_t batch_max_events, batch_max_bytes, body_max_bytes, business_max_bytes;
    int64_t rate_limit, rate_window_seconds;
    int64_t max_agents, max_bytes, stored_bytes;
    struct list budgets; /* of struct budget_answer, one per kind */
};

/* Every error except 422. */
struct error_answer {
    struct str detail;
    struct opt_int limit; /* null (left out) except in a 413 */
    struct str unit;      /* events, bytes; left out except in a 413 */
};

extern const struct shape health_answer_shape, limits_answer_shape, error_answer_shape;
