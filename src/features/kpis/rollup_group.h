/* rollup_group.h - the rollup changes collected in one transaction; private to this folder. */
#pragma once
#include "base/map.h"
#include "features/kpis/rollups.h"

struct rollup_series {
    int64_t tenant_id, agent_id, series_no; /* series_no 0: not known yet */
    struct name_key key;
    struct str id; /* key in series_by_id */
};

/* One hour or day of a series. */
struct rollup_bucket {
    struct rollup_series *series;
    enum rollup_level level;
    int64_t start;
    struct str id;
    struct kpi_state added, stored;
    struct kpi_state *removed; /* or NULL */
    struct kpi_state *found;   /* only its maximum and last value are of use; NULL: not searched */
};

struct rollup_list {
    struct rollup_bucket **items;
    size_t n, capacity;
};

struct rollups {
    struct arena arena;
    struct map series_by_id, buckets_by_id;
    struct rollup_series **series;
    size_t n_series, series_capacity;
    struct rollup_list levels[ROLLUP_LEVELS];
    struct rollup_list unknown; /* of the level being settled: without a maximum or last value */
    struct rollup_list kept, empty; /* the same: those with values, and the others */
};

/* Finds the number of each series and inserts new ones; in PostgreSQL also locks them, always in
 * the same order. The series are sorted. */
int rollup_rows_resolve(struct db *db, struct rollups *r, struct error *err) MUST_CHECK;

/* Reads each bucket's stored state into `stored`. */
int rollup_rows_load(struct db *db, struct rollups *r, const struct rollup_list *list,
                     struct error *err) MUST_CHECK;

/* Writes `stored` of each bucket. */
int rollup_rows_save(struct db *db, struct rollups *r, const struct rollup_list *list,
                     struct error *err) MUST_CHECK;

/* Deletes what is stored of each bucket. */
int rollup_rows_delete(struct db *db, struct rollups *r, const struct rollup_list *list,
                       struct error *err) MUST_CHECK;

/* Searches the maximum and the last value of each bucket into `found`: of an hour by indexes of its
 * values, of a day among its hours. */
int rollup_rows_find(struct db *db, struct rollups *r, enum rollup_level level,
                     const struct rollup_list *list, struct error *err) MUST_CHECK;
