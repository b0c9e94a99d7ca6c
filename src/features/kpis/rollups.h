/* rollups.h - the totals of KPIs by hour and day, kept in step with their values.
 *
 * What a transaction does to values is gathered in memory and settled at its
 * end, once for each hour and day that it touched. A value that was replaced
 * is taken out of its totals again; only where the greatest or the last one
 * went are they made anew of what is stored.
 *
 * One thread at a time.
 */
#pragma once
#include "base/err.h"
#include "db/name_key.h"
#include "features/kpis/kpi_state.h"

struct db;
struct rollups; /* one a writer */

enum rollup_level { ROLLUP_HOUR, ROLLUP_DAY, ROLLUP_LEVELS };

/* Whose values: a key of an agent of a tenant. */
struct rollup_owner {
    int64_t tenant_id, agent_id;
    struct name_key key; /* borrowed only for the call */
};

struct rollups *rollups_new(void);

/* NULL is fine. */
void rollups_free(struct rollups *r);

/* A value was stored, or one that was stored is no longer there. */
void rollups_add(struct rollups *r, const struct rollup_owner *owner, const struct kpi_value *value,
                 const struct kpi_place *place);
void rollups_remove(struct rollups *r, const struct rollup_owner *owner,
                    const struct kpi_value *value, const struct kpi_place *place);

/* Settles what has gathered and forgets it; in the transaction of the values, as its last step: in
 * PostgreSQL it holds the series that it touches until the transaction ends. */
int rollups_settle(struct rollups *r, struct db *db, struct error *err) MUST_CHECK;

/* Forgets what has gathered: the transaction was rolled back. */
void rollups_forget(struct rollups *r);

/* The hour or day that holds `us`, and the next one. */
int64_t rollup_start(enum rollup_level level, int64_t us);
int64_t rollup_next(enum rollup_level level, int64_t us);

/* Makes the totals of values that are older than the totals, once, whoever asks first. */
int store_rollups_build(struct db *db, struct error *err) MUST_CHECK;
