/* kpi_series.c - one KPI over time, bucket by bucket. */
#include <stdlib.h>

#include "api/call.h"
#include "db/db.h"
#include "db/name_key.h"
#include "features/kpis/kpi_totals.h"
#include "features/kpis/shapes.h"

struct series_reader {
    const struct kpi_reader *reader;
    struct kpi_source source;
    struct time_range range;
    enum bucket bucket;
    enum kpi_total total;
    struct kpi_state *states; /* one per bucket */
    int64_t *starts;
    size_t n;
};

/* The last bucket that starts at or before `at`. */
static size_t find_bucket(const struct series_reader *t, int64_t at)
{
    size_t low = 0, high = t->n;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (t->starts[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void kpi_series_add_state(void *ctx, int64_t series_no, int64_t at,
                                 const struct kpi_state *state)
{
    struct series_reader *t = ctx;

    (void)series_no;
    kpi_state_merge(&t->states[find_bucket(t, at)], state);
}

/* A range without a start starts at the first value. */
static int complete_range(struct series_reader *t, struct error *err)
{
    int64_t first;

    if (t->range.since != TIME_NULL)
        return 0;
    if (kpi_reads_first(t->reader->db, &t->source, &first, err) != 0)
        return -1;
    t->range.since = first != TIME_NULL && first < t->range.until ? first : t->range.until;
    return 0;
}

static int choose_bucket(struct series_reader *t, const struct series_query *query,
                         struct error *err)
{
    const char *problem = NULL;

    if (str_is_null(query->bucket))
        t->bucket = timerange_choose_bucket(&t->range);
    else
        problem = timerange_parse_bucket(query->bucket, &t->bucket);
    if (problem == NULL)
        problem = timerange_check_buckets(&t->range, t->bucket);
    return problem == NULL ? 0 : kpi_refuse(t->reader, "bucket", query->bucket, problem, err);
}

static int load_states(struct series_reader *t, struct error *err)
{
    int64_t at;

    t->n = (size_t)timerange_count_buckets(&t->range, t->bucket);
    if (t->n == 0)
        return 0;
    t->states = ARENA_ARRAY(t->reader->arena, struct kpi_state, t->n);
    t->starts = ARENA_ARRAY(t->reader->arena, int64_t, t->n);
    at = timerange_bucket_start(t->bucket, t->range.since);
    for (size_t i = 0; i < t->n; i++) {
        t->starts[i] = at;
        at = timerange_bucket_next(t->bucket, at);
    }
    return kpi_reads_states(t->reader->db, &t->source,
                            &(struct kpi_reading){ t->range, t->bucket, kpi_series_add_state, t },
                            err);
}

static int fill_points(const struct series_reader *t, struct list *ret, struct error *err)
{
    struct kpi_point *points = ARENA_ARRAY(t->reader->arena, struct kpi_point, t->n + 1);
    struct rows texts = { .arena = t->reader->arena, .size = sizeof(struct kpi_text) };

    ret->items = points;
    ret->n = 0;
    for (size_t i = 0; i < t->n; i++) {
        points[i].t = t->starts[i];
        kpi_total_text(&texts, &t->states[i], t->total, t->source.key, &points[i].value);
    }
    if (kpi_reads_texts(t->reader->db, t->reader->tenant_id, &texts, err) != 0)
        return -1;
    for (size_t i = 0; i < t->n; i++)
        if (!str_is_null(points[i].value))
            points[ret->n++] = points[i];
    return 0;
}

static int read_series(struct series_reader *t, const struct series_query *query,
                       struct kpi_series_answer *ret, struct error *err)
{
    struct kpi_together together;

    if (kpi_find_agent(t->reader, query->agent_name, &t->source.agent_id, err) != 0 ||
        kpi_together_of(t->reader, &t->source, NULL, KPI_LAST, &together, err) != 0)
        return -1;
    if (together.cut)
        return kpi_refuse(t->reader, "agent_name", query->agent_name, kpi_too_many_agents, err);
    if (together.differs)
        return kpi_refuse(t->reader, "agent_name", query->agent_name,
                          "Agents total this key in different ways; choose one with agent_name",
                          err);
    t->total = together.total;
    if (complete_range(t, err) != 0 || choose_bucket(t, query, err) != 0 ||
        load_states(t, err) != 0)
        return -1;
    *ret = (struct kpi_series_answer){ .agent_name = query->agent_name,
                                       .key = query->key,
                                       .unit = together.unit,
                                       .agg = together.agg,
                                       .bucket = str_of(bucket_names[t->bucket]) };
    return fill_points(t, &ret->points, err);
}

int kpis_series(struct api_call *call, struct db *db, struct error *err)
{
    const struct kpi_reader reader = kpi_reader_of(call, db);
    const struct series_query *query = call->query;
    struct series_reader t = { .reader = &reader,
                               .source = { .tenant_id = call->tenant_id,
                                           .key = store_name_key(query->key, call->arena).key } };
    const char *problem = timerange_parse(query->time_range, reader.now, &t.range);
    int r;

    if (problem != NULL)
        return kpi_refuse(&reader, "time_range", query->time_range, problem, err);
    if (db_begin(db, err) != 0)
        return -1;
    r = read_series(&t, query, call->answer, err);
    db_rollback(db);
    return r;
}
