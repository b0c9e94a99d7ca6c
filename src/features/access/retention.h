/* retention.h - how long each tenant's data is kept, and how far it has been deleted.
 *
 * KPI totals and sums of LLM usage stay when their reports are deleted. A mark
 * is the time before which reports may be missing: before it totals are never
 * rebuilt, and ranges have a resolution of one hour.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "shape/shape.h"

struct db;

enum { RETENTION_DAYS_MAX = 36500, RETENTION_FAILED_MAX = 100 };

struct retention_limits {
    struct opt_int events_days, business_days, llm_days; /* null: forever */
    int64_t keep_failed_runs;                            /* per agent, whatever their age */
};

extern const struct shape retention_shape;

/* TIME_NULL: nothing was deleted. */
struct retention_marks {
    int64_t business_until, llm_until;
};

/* The limits in effect; all null for a tenant that has not set any. */
int retention_load(struct db *db, int64_t tenant_id, struct retention_limits *ret,
                   struct error *err) MUST_CHECK;

/* Replaces the limits, within a transaction. After the commit nothing is deleted by the old limits
 * any longer. */
int retention_set(struct db *db, int64_t tenant_id, const struct retention_limits *limits,
                  int64_t now_us, struct error *err) MUST_CHECK;

int retention_load_marks(struct db *db, int64_t tenant_id, struct retention_marks *ret,
                         struct error *err) MUST_CHECK;

/* The next tenant after this one that has something to delete; 0: no other. */
int retention_next(struct db *db, int64_t after, int64_t *ret, struct error *err) MUST_CHECK;

/* The limits in effect, locked until the transaction ends: in PostgreSQL no other process deletes
 * for the tenant meanwhile. *ret_there is false when another process holds the lock. */
int retention_take(struct db *db, int64_t tenant_id, struct retention_limits *ret, bool *ret_there,
                   struct error *err) MUST_CHECK;

/* Notes, in the transaction that deletes them, that reports before `until` may be missing; a mark
 * never moves back. */
int retention_mark_business(struct db *db, int64_t tenant_id, int64_t until,
                            struct error *err) MUST_CHECK;
int retention_mark_llm(struct db *db, int64_t tenant_id, int64_t until,
                       struct error *err) MUST_CHECK;
