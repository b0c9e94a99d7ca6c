/* kpi_reads.h - reads KPIs: the catalog, and totals over time.
 *
 * Whole days and hours are read from the rollups, the edges of a range from
 * the values. Make calls that must be consistent inside one transaction.
 */
#pragma once
#include "base/err.h"
#include "db/db.h"
#include "features/kpis/kpi_state.h"
#include "shape/shape.h"
#include "shape/timerange.h"

struct kpi_reports;
struct rows;

/* The tenant's KPIs to read. */
struct kpi_source {
    int64_t tenant_id;
    struct str key;     /* as stored (db/name_key.h); STR_NULL: any */
    int64_t agent_id;   /* with a key; 0: any agent */
    int64_t series_max; /* without a key: up to this series_no */
};

/* A key that an agent has reported. */
struct kpi_series {
    int64_t series_no, agent_id;
    struct str agent_name, key, name; /* key: as stored (db/name_key.h), name: in full */
};

/* A key that an agent has declared. */
struct kpi_declared {
    int64_t agent_id;
    struct str agent_name, key, name;
    struct str label, unit, agg;
};

/* A list of struct kpi_series or struct kpi_declared, in the arena. */
struct kpi_rows {
    struct list list;
    bool cut; /* incomplete: it ends at `max` rows, or at 16 MiB */
};

/* Series are ordered by number, declared KPIs by agent and key (bytes). */
int kpi_reads_series(struct db *db, const struct kpi_source *source, int64_t max,
                     struct arena *arena, struct kpi_rows *ret, struct error *err) MUST_CHECK;
int kpi_reads_declared(struct db *db, const struct kpi_source *source, int64_t max,
                       struct arena *arena, struct kpi_rows *ret, struct error *err) MUST_CHECK;

/* Values of a series starting at `at`: a day, an hour, or a single value. Must not use the db. */
typedef void kpi_state_fn(void *ctx, int64_t series_no, int64_t at, const struct kpi_state *state);

/* All values of the range, in no order; no state spans more than one `bucket`. */
struct kpi_reading {
    struct time_range range;
    enum bucket bucket;
    kpi_state_fn *on_state;
    void *ctx;
};

int kpi_reads_states(struct db *db, const struct kpi_source *source,
                     const struct kpi_reading *reading, struct error *err) MUST_CHECK;

/* The timestamp of the first value of the source, which has a key; or the first hour if that value
 * may be deleted; TIME_NULL without values. */
int kpi_reads_first(struct db *db, const struct kpi_source *source, int64_t *ret,
                    struct error *err) MUST_CHECK;

/* A text that a run reported: rollups do not have it. */
struct kpi_text {
    struct str key; /* as stored */
    struct kpi_stamp stamp;
    struct str *ret; /* where it goes, as JSON, unless it is deleted */
};

/* Reads `wanted`, of struct kpi_text, into its arena. */
int kpi_reads_texts(struct db *db, int64_t tenant_id, const struct rows *wanted,
                    struct error *err) MUST_CHECK;

enum { RUN_KPIS_MAX = 1000 };

/* At most RUN_KPIS_MAX, by agent and key: a list of struct run_kpi (shapes.h), in the arena. */
int kpi_reads_of_run(struct db *db, int64_t tenant_id, struct str run_id, struct arena *arena,
                     struct list *ret, struct error *err) MUST_CHECK;

struct kpi_reports_span {
    int64_t tenant_id, agent_id;
    struct str key; /* as stored: db/name_key.h */
    struct time_range range;
    int64_t limit;
};

/* The newest values of a key in the range, each with its run; in the arena. */
int kpi_reads_reports(struct db *db, const struct kpi_reports_span *span, struct arena *arena,
                      struct kpi_reports *ret, struct error *err) MUST_CHECK;

/* The breakdowns to read. */
struct breakdown_filter {
    int64_t tenant_id;
    struct str metric;
    int64_t agent_id; /* 0: any agent */
    struct time_range range;
};

/* A set of dimensions that an agent reported. */
struct breakdown_set {
    int64_t agent_id;
    struct str key;   /* as stored (db/name_key.h) */
    struct str names; /* JSON array, sorted by bytes */
};

enum { BREAKDOWN_SETS_MAX = 10000, BREAKDOWN_SETS_BYTES = 32 << 20 };

struct breakdown_sets {
    struct list list; /* of struct breakdown_set, in the arena and in no order */
    bool cut;         /* there are more than a query may have */
};

int breakdowns_sets(struct db *db, const struct breakdown_filter *filter, struct arena *arena,
                    struct breakdown_sets *ret, struct error *err) MUST_CHECK;

/* The runs that have breakdowns by one of `set_keys`, a JSON object with these keys: rows of run_no
 * and set. */
int breakdowns_runs(struct db *db, const struct breakdown_filter *filter, struct str set_keys,
                    db_row_fn *on_run, void *ctx, struct error *err) MUST_CHECK;

/* The breakdowns by `set_keys`: rows as BREAKDOWN_AT_… says (report_sums.h). */
int breakdowns_read(struct db *db, const struct breakdown_filter *filter, struct str set_keys,
                    db_row_fn *on_breakdown, void *ctx, struct error *err) MUST_CHECK;

/* For tests of the query plan. */
extern const struct db_query breakdown_runs_query, breakdowns_query;

/* A JSON array of names as a list of struct str in the arena. False: it is not such an array. */
bool cells_read_names(struct str text, struct arena *arena, struct list *ret);

/* `values` are those of the cell's dimensions; their strings are valid during the call only. */
typedef void cells_fn(void *ctx, const struct named_value *values, double number);

/* Calls on_cell for each [value of each of `n` dimensions…, number] of a JSON array. `room` is
 * space for n values; their names are not changed. False: it is not such an array. */
bool cells_each(struct str text, struct named_value *room, size_t n, cells_fn *on_cell, void *ctx);
