/* run_totals.c - runs and failures over time, and the most frequent errors. */
#include "features/fleet/run_totals.h"

#include "base/clock.h"
#include "db/db.h"
#include "features/events/shapes.h"
#include "features/fleet/run_totals_store.h"
#include "features/fleet/shapes.h"

static const int64_t hour_us = 3600LL * USEC_PER_SEC, day_us = 24 * 3600LL * USEC_PER_SEC;

enum {
    RUNS_MAX = 100000, /* counted */
    HOURS_UP_TO_DAYS = 2
};

/* Whole periods from the one that holds `since` on: the first would look like a fall otherwise. */
static struct run_totals_span span_of(int64_t tenant_id, const struct time_range *range,
                                      enum bucket bucket)
{
    return (struct run_totals_span){ .tenant_id = tenant_id,
                                     .first = timerange_bucket_start(bucket, range->since),
                                     .until = range->until,
                                     .limit = RUNS_MAX,
                                     .width_us = bucket == BUCKET_HOUR ? hour_us : day_us };
}

/* Adds the counts to their periods, and returns how many runs there are. */
static int64_t fill_periods(const struct list *totals, struct run_period *periods, size_t n)
{
    const struct run_total *rows = totals->items;
    int64_t runs = 0;

    for (size_t i = 0; i < totals->n; i++) {
        struct run_period *period;

        if (rows[i].period < 0 || (size_t)rows[i].period >= n)
            continue;
        period = &periods[rows[i].period];
        if (rows[i].event == EVENT_FAILED)
            period->failed += rows[i].runs;
        else if (rows[i].event == EVENT_COMPLETED)
            period->completed += rows[i].runs;
        else
            period->in_progress += rows[i].runs;
        runs += rows[i].runs;
    }
    return runs;
}

int run_totals_read(struct db *db, int64_t tenant_id, const struct run_totals_query *query,
                    struct arena *arena, struct run_totals *ret, struct error *err)
{
    const struct time_range *range = &query->range;
    enum bucket bucket =
        range->until - range->since <= HOURS_UP_TO_DAYS * day_us ? BUCKET_HOUR : BUCKET_DAY;
    const struct run_totals_span span = span_of(tenant_id, range, bucket);
    size_t n = (size_t)timerange_count_buckets(range, bucket);
    struct run_period *periods = ARENA_ARRAY(arena, struct run_period, n);
    struct list totals;

    if (store_run_totals(db, &span, arena, &totals, err) != 0 ||
        store_error_totals(db, &span, arena, &ret->errors, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        periods[i].t = span.first + (int64_t)i * span.width_us;
    ret->truncated = fill_periods(&totals, periods, n) == RUNS_MAX;
    ret->bucket = str_of(bucket_names[bucket]);
    ret->periods = (struct list){ periods, n };
    return 0;
}
