/* rollups.h - the totals of KPIs by hour and day, updated together with their values.
 *
 * The changes of a transaction are collected in memory and settled at its end,
 * once per hour and day that they touch. A replaced value is subtracted from
 * its totals; if it was the maximum or the last value, the next one is searched
 * by an index, however many values the hour has.
 *
 * One thread at a time.
 */
#pragma once
#include "base/err.h"
#include "db/name_key.h"
#include "engine/txn.h"
#include "features/kpis/kpi_state.h"

struct db;
struct rollups; /* one per writer */

enum rollup_level { ROLLUP_HOUR, ROLLUP_DAY, ROLLUP_LEVELS };

/* The owner of values: a key of a tenant's agent. */
struct rollup_owner {
    int64_t tenant_id, agent_id;
    struct name_key key; /* borrowed during the call only */
};

struct rollups *rollups_new(void);

/* NULL is fine. */
void rollups_free(struct rollups *r);

/* A value was stored, or a stored value was removed. */
void rollups_add(struct rollups *r, const struct rollup_owner *owner, const struct kpi_value *value,
                 const struct kpi_stamp *place);
void rollups_remove(struct rollups *r, const struct rollup_owner *owner,
                    const struct kpi_value *value, const struct kpi_stamp *place);

/* Writes the collected changes and clears them. Call it in the transaction of the values, as its
 * last step: in PostgreSQL it locks the series until the transaction ends. */
int rollups_settle(struct rollups *r, struct db *db, struct error *err) MUST_CHECK;

/* Drops the collected changes, after a rollback. */
void rollups_forget(struct rollups *r);

/* The start of the hour or day that contains `us`, and of the next one. */
int64_t rollup_start(enum rollup_level level, int64_t us);
int64_t rollup_next(enum rollup_level level, int64_t us);

/* The part of a transaction that is this; NULL: it has none. */
extern const char rollups_part[];

static inline struct rollups *rollups_of(const struct txn *txn)
{
    return txn_part(txn, rollups_part);
}
