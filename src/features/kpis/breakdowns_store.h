/* breakdowns_store.h - reads the breakdowns of KPIs, and parses their cells. */
#pragma once
#include "base/err.h"
#include "db/db.h"
#include "features/kpis/kpi_state.h"
#include "shape/shape.h"
#include "shape/timerange.h"

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
