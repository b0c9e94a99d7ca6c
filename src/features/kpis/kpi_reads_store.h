/* kpi_reads_store.h - KPIs as they are read: which there are, and their totals over time.
 *
 * Whole days and hours come from their totals, the edges of a range from its
 * values. Call what belongs together inside one transaction.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/kpis/kpi_state.h"
#include "shape/shape.h"
#include "shape/timerange.h"

struct db;

/* Which KPIs of a tenant. */
struct kpi_source {
    int64_t tenant_id;
    struct str key;     /* as stored (db/name_key.h); STR_NULL: any */
    int64_t agent_id;   /* with a key; 0: of any agent */
    int64_t series_max; /* without a key: up to this series_no */
};

/* A key that an agent has reported. */
struct kpi_series {
    int64_t series_no, agent_id;
    struct str agent_name, key, name; /* the key as stored, and whole */
};

/* A key that an agent has declared. */
struct kpi_declared {
    int64_t agent_id;
    struct str agent_name, key, name;
    struct str label, unit, agg;
};

/* A list of one of the two, in the arena. */
struct kpi_rows {
    struct list list;
    bool cut; /* there are more: it ends when there are `max`, or their texts are over 16 MiB */
};

/* Series come by number, what was declared by agent and key (bytes). */
int store_kpi_series(struct db *db, const struct kpi_source *source, int64_t max,
                     struct arena *arena, struct kpi_rows *ret, struct error *err) MUST_CHECK;
int store_kpi_declared(struct db *db, const struct kpi_source *source, int64_t max,
                       struct arena *arena, struct kpi_rows *ret, struct error *err) MUST_CHECK;

/* Values of a series from `at` on: of a day, of an hour, or one alone. Must not use the db. */
typedef void kpi_state_fn(void *ctx, int64_t series_no, int64_t at, const struct kpi_state *state);

/* All values of the range, in no order, no piece of them longer than `bucket`. */
struct kpi_reading {
    struct time_range range;
    enum bucket bucket;
    kpi_state_fn *on_state;
    void *ctx;
};

int store_kpi_read(struct db *db, const struct kpi_source *source,
                   const struct kpi_reading *reading, struct error *err) MUST_CHECK;

/* The timestamp of the first value, or where that may be deleted the first hour; TIME_NULL: there
 * is none. */
int store_kpi_first(struct db *db, int64_t tenant_id, const struct kpi_series *series, int64_t *ret,
                    struct error *err) MUST_CHECK;

/* The text that a run reported for the source's key, in the arena; STR_NULL: it is deleted. */
int store_kpi_text(struct db *db, const struct kpi_source *source, const struct kpi_place *place,
                   struct arena *arena, struct str *ret, struct error *err) MUST_CHECK;
