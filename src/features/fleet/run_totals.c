/* run_totals.c - runs and failures over time, and the most frequent errors. */
#include "features/fleet/reads.h"

#include <stdlib.h>

#include "api/call.h"
#include "base/clock.h"
#include "db/db.h"
#include "features/agents/agents.h"
#include "features/events/runs.h"
#include "features/events/shapes.h"
#include "features/fleet/shapes.h"
#include "features/fleet/store.h"

static const int64_t hour_us = 3600LL * USEC_PER_SEC, day_us = 24 * 3600LL * USEC_PER_SEC;

enum {
    RUNS_MAX = 100000,      /* counted */
    AGENT_RUNS_MAX = 20000, /* of one agent: their durations are sorted */
    HOURS_UP_TO_DAYS = 2
};

/* Periods are whole hours or days, but only runs of the range count: their sum is the number of
 * runs that the list has for the same range. */
static struct run_totals_span span_of(int64_t tenant_id, const struct time_range *range,
                                      enum bucket bucket)
{
    return (struct run_totals_span){ .tenant_id = tenant_id,
                                     .since = range->since,
                                     .until = range->until,
                                     .limit = RUNS_MAX,
                                     .first = timerange_bucket_start(bucket, range->since),
                                     .width_us = bucket == BUCKET_HOUR ? hour_us : day_us };
}

static void count_runs(struct run_period *period, int64_t event, int64_t runs)
{
    if (event == EVENT_FAILED)
        period->failed += runs;
    else if (event == EVENT_COMPLETED)
        period->completed += runs;
    else
        period->in_progress += runs;
}

static int read_all(struct db *db, const struct run_totals_span *span, struct list *periods,
                    struct arena *arena, struct error *err)
{
    struct run_period *all = periods->items;
    const struct run_total *rows;
    struct list totals;

    if (run_totals_all(db, span, arena, &totals, err) != 0)
        return -1;
    rows = totals.items;
    for (size_t i = 0; i < totals.n; i++)
        if (rows[i].period >= 0 && (size_t)rows[i].period < periods->n)
            count_runs(&all[rows[i].period], rows[i].event, rows[i].runs);
    return 0;
}

/* By period, then by duration; runs without one come first in their period. */
static int compare_runs(const void *a, const void *b)
{
    const struct agent_run_total *left = a, *right = b;

    if (left->period != right->period)
        return left->period < right->period ? -1 : 1;
    if (left->duration_ms.has != right->duration_ms.has)
        return left->duration_ms.has ? 1 : -1;
    if (left->duration_ms.value != right->duration_ms.value)
        return left->duration_ms.value < right->duration_ms.value ? -1 : 1;
    return 0;
}

/* By nearest rank, of `n` runs that are sorted and have a duration. */
static struct opt_int percentile_of(const struct agent_run_total *runs, size_t n, size_t percent)
{
    return n == 0 ? (struct opt_int){ 0 } : runs[(n * percent + 99) / 100 - 1].duration_ms;
}

/* One period's runs, sorted. */
static void fill_period(struct run_period *period, const struct agent_run_total *runs, size_t n)
{
    size_t open = 0; /* without a duration */

    for (size_t i = 0; i < n; i++) {
        count_runs(period, runs[i].event, 1);
        open += !runs[i].duration_ms.has;
    }
    period->p50_ms = percentile_of(runs + open, n - open, 50);
    period->p95_ms = percentile_of(runs + open, n - open, 95);
}

static int read_agent(struct db *db, const struct run_totals_span *span, struct list *periods,
                      struct arena *arena, struct error *err)
{
    struct run_period *all = periods->items;
    struct agent_run_total *runs;
    struct list list;

    if (run_totals_of_agent(db, span, arena, &list, err) != 0)
        return -1;
    runs = list.items;
    if (list.n > 0)
        qsort(runs, list.n, sizeof(*runs), compare_runs);
    for (size_t begin = 0, end; begin < list.n; begin = end) {
        for (end = begin + 1; end < list.n && runs[end].period == runs[begin].period;)
            end++;
        if (runs[begin].period >= 0 && (size_t)runs[begin].period < periods->n)
            fill_period(&all[runs[begin].period], runs + begin, end - begin);
    }
    return 0;
}

/* Cuts the span to its newest runs, as the facets of the list of runs do. */
static int bound_span(struct db *db, struct run_totals_span *span, bool *ret_cut, struct error *err)
{
    struct runs_span runs = { .tenant_id = span->tenant_id,
                              .since = span->since,
                              .until = span->until,
                              .limit = span->limit,
                              .agent_id = span->agent_id };

    if (runs_cut(db, &runs, ret_cut, err) != 0)
        return -1;
    span->since = runs.since;
    return 0;
}

/* Zeroes, one for each hour or day. */
static struct list make_periods(const struct time_range *range, enum bucket bucket,
                                const struct run_totals_span *span, struct arena *arena)
{
    const size_t n = (size_t)timerange_count_buckets(range, bucket);
    struct run_period *periods = ARENA_ARRAY(arena, struct run_period, n);

    for (size_t i = 0; i < n; i++)
        periods[i].t = span->first + (int64_t)i * span->width_us;
    return (struct list){ periods, n };
}

int run_totals_read(struct api_call *call, struct db *db, struct error *err)
{
    const struct run_totals_query *query = call->query;
    struct run_totals *ret = call->answer;
    struct arena *arena = call->arena;
    const struct time_range *range = &query->range;
    enum bucket bucket =
        range->until - range->since <= HOURS_UP_TO_DAYS * day_us ? BUCKET_HOUR : BUCKET_DAY;
    struct run_totals_span span = span_of(call->tenant_id, range, bucket);

    if (agents_filter_id(db, call->tenant_id, query->agent_name, &span.agent_id, err) != 0)
        return -1;
    if (span.agent_id != 0)
        span.limit = AGENT_RUNS_MAX;
    ret->periods = make_periods(range, bucket, &span, arena);
    if (bound_span(db, &span, &ret->truncated, err) != 0 ||
        (span.agent_id == 0 ? read_all : read_agent)(db, &span, &ret->periods, arena, err) != 0 ||
        run_totals_errors(db, &span, arena, &ret->errors, err) != 0)
        return -1;
    ret->counted_since = ret->truncated ? span.since : TIME_NULL;
    ret->bucket = str_of(bucket_names[bucket]);
    return 0;
}
