/* kpis.c - the catalog of KPIs, their totals over a range, and the runs that reported one. */
#include "features/kpis/kpis.h"

#include <stdlib.h>

#include "api/call.h"
#include "base/map.h"
#include "db/db.h"
#include "db/name_key.h"
#include "features/kpis/kpi_reads.h"
#include "features/kpis/kpi_totals.h"
#include "features/kpis/shapes.h"

static int by_agent_and_key(struct str agent_a, struct str key_a, struct str agent_b,
                            struct str key_b)
{
    int order = str_cmp(agent_a, agent_b);

    return order != 0 ? order : str_cmp(key_a, key_b);
}

static int compare_entries(const void *a, const void *b)
{
    const struct kpi_entry *x = a, *y = b;

    return by_agent_and_key(x->agent_name, x->key, y->agent_name, y->key);
}

int kpis_catalog(struct api_call *call, struct db *db, struct error *err)
{
    const struct kpi_source source = { .tenant_id = call->tenant_id };
    struct kpi_catalog *ret = call->answer;
    const struct kpi_declared *declared;
    struct kpi_entry *entries;
    struct kpi_rows rows;

    if (kpi_reads_declared(db, &source, KPI_ROWS_MAX, call->arena, &rows, err) != 0)
        return -1;
    declared = rows.list.items;
    entries = ARENA_ARRAY(call->arena, struct kpi_entry, rows.list.n + 1);
    for (size_t i = 0; i < rows.list.n; i++)
        entries[i] = (struct kpi_entry){ declared[i].agent_name, declared[i].name,
                                         declared[i].label, declared[i].unit, declared[i].agg };
    qsort(entries, rows.list.n, sizeof(*entries), compare_entries);
    *ret = (struct kpi_catalog){ .kpis = { entries, rows.list.n },
                                 .truncated = { rows.cut, rows.cut } };
    return 0;
}

/* A series and its values in the range, and in the previous range. */
struct totals {
    const struct kpi_series *series;
    const struct kpi_declared *declared; /* NULL: not declared */
    struct kpi_state now, before;
};

struct summary {
    const struct kpi_reader *reader;
    struct kpi_source source;
    struct totals *totals; /* by series_no */
    size_t n, at;          /* at: the last one found */
    bool before;           /* which state is read */
    bool cut;              /* the list of series is incomplete */
    struct kpi_rows declared;
    struct map by_owner; /* agent and key to struct totals */
    struct rows texts;   /* of struct kpi_text */
};

static int compare_number(const void *key, const void *item)
{
    int64_t series_no = *(const int64_t *)key;
    const struct totals *totals = item;

    if (series_no == totals->series->series_no)
        return 0;
    return series_no < totals->series->series_no ? -1 : 1;
}

/* Most states follow another of the same series: try that one first. */
static void kpi_summary_add_state(void *ctx, int64_t series_no, int64_t at,
                                  const struct kpi_state *state)
{
    struct summary *s = ctx;
    struct totals *totals = &s->totals[s->at];

    (void)at;
    if (totals->series->series_no != series_no)
        totals = bsearch(&series_no, s->totals, s->n, sizeof(*totals), compare_number);
    if (totals == NULL)
        return; /* not in the list */
    s->at = (size_t)(totals - s->totals);
    kpi_state_merge(s->before ? &totals->before : &totals->now, state);
}

static struct str owner_id(int64_t agent_id, struct str key, struct arena *arena)
{
    char *id = arena_alloc(arena, sizeof(agent_id) + key.len);

    memcpy(id, &agent_id, sizeof(agent_id));
    memcpy(id + sizeof(agent_id), key.data, key.len);
    return str_from(id, sizeof(agent_id) + key.len);
}

static int load_series(struct summary *s, struct error *err)
{
    struct arena *arena = s->reader->arena;
    const struct kpi_series *series;
    struct kpi_rows rows;

    if (kpi_reads_series(s->reader->db, &s->source, KPI_ROWS_MAX, arena, &rows, err) != 0)
        return -1;
    s->cut = rows.cut;
    s->n = rows.list.n;
    series = rows.list.items;
    s->totals = ARENA_ARRAY(arena, struct totals, s->n);
    for (size_t i = 0; i < s->n; i++) {
        s->totals[i].series = &series[i];
        (void)map_put(&s->by_owner, owner_id(series[i].agent_id, series[i].key, arena),
                      &s->totals[i]);
    }
    s->source.series_max = s->n == 0 ? 0 : series[s->n - 1].series_no;
    return 0;
}

static int load_states(struct summary *s, const struct time_range *range, struct error *err)
{
    struct kpi_reading reading = { *range, BUCKET_DAY, kpi_summary_add_state, s };

    if (s->n == 0)
        return 0;
    if (kpi_reads_states(s->reader->db, &s->source, &reading, err) != 0)
        return -1;
    if (!timerange_previous(range, &reading.range))
        return 0;
    s->before = true;
    return kpi_reads_states(s->reader->db, &s->source, &reading, err);
}

static void fill_row(struct summary *s, const struct totals *totals, struct kpi_summary_row *row)
{
    enum kpi_total total = kpi_total_of(row->agg);

    row->reports = totals->now.n;
    kpi_total_text(&s->texts, &totals->now, total, totals->series->key, &row->value);
    kpi_total_text(&s->texts, &totals->before, total, totals->series->key, &row->previous);
}

static int compare_rows(const void *a, const void *b)
{
    const struct kpi_summary_row *x = a, *y = b;

    return by_agent_and_key(x->agent_name, x->key, y->agent_name, y->key);
}

/* The declared KPIs, with or without values. If the list of series is incomplete, those not found
 * in it are left out: they may have values. */
static void add_declared(struct summary *s, struct kpi_summary_row *rows, size_t *n)
{
    const struct kpi_declared *declared = s->declared.list.items;

    for (size_t i = 0; i < s->declared.list.n; i++) {
        const struct kpi_declared *k = &declared[i];
        struct totals *totals =
            map_get(&s->by_owner, owner_id(k->agent_id, k->key, s->reader->arena));

        if (totals == NULL && s->cut)
            continue;
        rows[*n] = (struct kpi_summary_row){ .agent_name = k->agent_name,
                                             .key = k->name,
                                             .label = k->label,
                                             .unit = k->unit,
                                             .agg = k->agg,
                                             .declared = true };
        if (totals != NULL) {
            fill_row(s, totals, &rows[*n]);
            totals->declared = k;
        }
        (*n)++;
    }
}

/* None if the list of declared KPIs is incomplete: any may be declared. */
static void add_undeclared(struct summary *s, struct kpi_summary_row *rows, size_t *n)
{
    for (size_t i = 0; i < s->n && !s->declared.cut; i++) {
        const struct totals *totals = &s->totals[i];

        if (totals->declared != NULL || totals->now.n == 0)
            continue;
        rows[*n] = (struct kpi_summary_row){ .agent_name = totals->series->agent_name,
                                             .key = totals->series->name };
        fill_row(s, totals, &rows[(*n)++]);
    }
}

static int fill_answer(struct summary *s, struct kpi_summary *ret, struct error *err)
{
    struct kpi_summary_row *rows =
        ARENA_ARRAY(s->reader->arena, struct kpi_summary_row, s->declared.list.n + s->n + 1);
    size_t n = 0;

    add_declared(s, rows, &n);
    add_undeclared(s, rows, &n);
    if (kpi_reads_texts(s->reader->db, s->reader->tenant_id, &s->texts, err) != 0)
        return -1;
    qsort(rows, n, sizeof(*rows), compare_rows);
    ret->truncated = n > KPI_ROWS_MAX || s->cut || s->declared.cut;
    ret->kpis = (struct list){ rows, n > KPI_ROWS_MAX ? KPI_ROWS_MAX : n };
    return 0;
}

static int read_summary(struct summary *s, const struct time_range *range, struct kpi_summary *ret,
                        struct error *err)
{
    if (kpi_reads_declared(s->reader->db, &s->source, KPI_ROWS_MAX, s->reader->arena, &s->declared,
                           err) != 0 ||
        load_series(s, err) != 0 || load_states(s, range, err) != 0)
        return -1;
    return fill_answer(s, ret, err);
}

int kpis_summary(const struct kpi_reader *reader, const struct summary_query *query,
                 struct kpi_summary *ret, struct error *err)
{
    struct summary s = { .reader = reader,
                         .source = { .tenant_id = reader->tenant_id },
                         .texts = { .arena = reader->arena, .size = sizeof(struct kpi_text) } };
    struct time_range range;
    const char *problem = timerange_parse(query->time_range, reader->now, &range);
    int r;

    if (problem != NULL)
        return err_set(err, ERR_INTERNAL, "time range accepted before, rejected now: %s", problem);
    *ret = (struct kpi_summary){ .since = range.since, .until = range.until };
    if (db_begin(reader->db, err) != 0)
        return -1;
    map_init(&s.by_owner);
    r = read_summary(&s, &range, ret, err);
    map_done(&s.by_owner);
    db_rollback(reader->db);
    return r;
}

int kpis_read_summary(struct api_call *call, struct db *db, struct error *err)
{
    const struct kpi_reader reader = kpi_reader_of(call, db);

    return kpis_summary(&reader, call->query, call->answer, err);
}

int kpis_reports(struct api_call *call, struct db *db, struct error *err)
{
    const struct kpi_reader reader = kpi_reader_of(call, db);
    const struct kpi_reports_query *query = call->query;
    struct kpi_reports_span span = { .tenant_id = call->tenant_id,
                                     .key = store_name_key(query->key, call->arena).key,
                                     .limit = query->limit };
    const char *problem = timerange_parse(query->time_range, reader.now, &span.range);
    int r;

    if (problem != NULL)
        return kpi_refuse(&reader, "time_range", query->time_range, problem, err);
    if (db_begin(db, err) != 0)
        return -1;
    r = kpi_find_agent(&reader, query->agent_name, &span.agent_id, err);
    if (r == 0)
        r = kpi_reads_reports(db, &span, call->arena, call->answer, err);
    db_rollback(db);
    return r;
}
