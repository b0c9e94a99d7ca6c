/* kpis.c - the catalog of KPIs, their totals over a range and over time, how several agents are
 * totalled, and the runs that reported one. */
#include "features/kpis/kpis.h"

#include <stdlib.h>

#include "api/call.h"
#include "base/clock.h"
#include "base/map.h"
#include "db/db.h"
#include "db/name_key.h"
#include "features/agents/agents.h"
#include "features/kpis/shapes.h"
#include "shape/json.h"

const char kpi_too_many_agents[] =
    "Too many agents report or declare this key; choose one with agent_name";

void kpi_total_text(struct rows *texts, const struct kpi_state *state, enum kpi_total total,
                    struct str key, struct str *ret)
{
    struct kpi_value value;

    *ret = STR_NULL;
    if (!kpi_state_total(state, total, &value))
        return;
    if (value.kind == VALUE_STR)
        *(struct kpi_text *)rows_add(texts) = (struct kpi_text){ key, state->last_at, ret };
    else
        *ret = kpi_value_text(&value, STR_NULL, texts->arena);
}

static const struct kpi_declared *declared_by(const struct list *declared, int64_t agent_id)
{
    const struct kpi_declared *kpis = declared->items;

    for (size_t i = 0; i < declared->n; i++)
        if (kpis[i].agent_id == agent_id)
            return &kpis[i];
    return NULL;
}

/* Two STR_NULL are the same, too. */
static bool same(struct str a, struct str b)
{
    return str_is_null(a) == str_is_null(b) && str_eq(a, b);
}

static void join(struct kpi_together *t, size_t n_before, const struct kpi_declared *kpi,
                 enum kpi_total undeclared)
{
    static const char *const words[] = {
        [KPI_SUM] = "sum", [KPI_LAST] = "last", [KPI_AVG] = "avg", [KPI_MAX] = "max"
    };
    static const struct kpi_declared none = { 0 };
    enum kpi_total total = kpi == NULL ? undeclared : kpi_total_of(kpi->agg);

    if (kpi == NULL)
        kpi = &none;
    if (n_before == 0) {
        *t = (struct kpi_together){ .unit = kpi->unit, .agg = kpi->agg, .total = total };
        return;
    }
    t->differs |= t->total != total;
    if (!same(t->unit, kpi->unit))
        t->unit = STR_NULL;
    if (!same(t->agg, kpi->agg)) /* two words for the same total, or declared and undeclared */
        t->agg = str_of(words[total]);
}

int kpi_together_of(const struct kpi_reader *reader, const struct kpi_source *source,
                    const struct list *agents, enum kpi_total undeclared, struct kpi_together *ret,
                    struct error *err)
{
    struct kpi_rows series = { 0 }, declared;
    const struct kpi_series *reported;
    const struct kpi_declared *kpis;

    if (agents != NULL)
        series.list = *agents;
    else if (kpi_reads_series(reader->db, source, KPI_ROWS_MAX, reader->arena, &series, err) != 0)
        return -1;
    if (kpi_reads_declared(reader->db, source, KPI_ROWS_MAX, reader->arena, &declared, err) != 0)
        return -1;
    reported = series.list.items;
    kpis = declared.list.items;
    *ret = (struct kpi_together){ .total = undeclared };
    for (size_t i = 0; i < series.list.n; i++)
        join(ret, i, declared_by(&declared.list, reported[i].agent_id), undeclared);
    for (size_t i = 0; series.list.n == 0 && i < declared.list.n; i++)
        join(ret, i, &kpis[i], undeclared);
    ret->cut = series.cut || declared.cut;
    ret->n = series.list.n;
    return 0;
}

struct kpi_reader kpi_reader_of(struct api_call *call, struct db *db)
{
    return (struct kpi_reader){ db, call->tenant_id, clock_wall_us(), call->arena, call };
}

int kpi_refuse(const struct kpi_reader *reader, const char *name, struct str value,
               const char *sentence, struct error *err)
{
    return call_refuse_query(reader->call, err, name, value, sentence);
}

static void kpi_value_add_state(void *ctx, int64_t series_no, int64_t at,
                                const struct kpi_state *state)
{
    (void)series_no;
    (void)at;
    kpi_state_merge(ctx, state);
}

static int read_value(const struct kpi_reader *reader, const struct kpi_question *question,
                      struct kpi_value_of *ret, struct error *err)
{
    struct kpi_source source = { .tenant_id = reader->tenant_id,
                                 .key = store_name_key(question->key, reader->arena).key };
    struct kpi_state state = { 0 };
    struct kpi_reading reading = { question->range, BUCKET_DAY, kpi_value_add_state, &state };
    struct kpi_together together;
    struct kpi_value value;

    if (agents_filter_id(reader->db, reader->tenant_id, question->agent_name, &source.agent_id,
                         err) != 0)
        return -1;
    ret->agent_id = source.agent_id;
    if (source.agent_id < 0)
        return 0;
    if (kpi_together_of(reader, &source, NULL, KPI_LAST, &together, err) != 0)
        return -1;
    if (together.cut)
        return 0;
    ret->is_sum = !together.differs && together.total == KPI_SUM;
    if (together.differs || together.n == 0)
        return 0;
    if (kpi_reads_states(reader->db, &source, &reading, err) != 0)
        return -1;
    if (!kpi_state_total(&state, together.total, &value) || value.kind == VALUE_STR)
        return 0;
    ret->has = true;
    ret->value = value.kind == VALUE_INT ? (double)value.integer : value.real;
    return 0;
}

int kpis_value(const struct kpi_reader *reader, const struct kpi_question *question,
               struct kpi_value_of *ret, struct error *err)
{
    int r;

    *ret = (struct kpi_value_of){ 0 };
    if (db_begin(reader->db, err) != 0)
        return -1;
    r = read_value(reader, question, ret, err);
    db_rollback(reader->db);
    return r;
}

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
    r = agents_filter_id(db, call->tenant_id, query->agent_name, &span.agent_id, err);
    if (r == 0)
        r = kpi_reads_reports(db, &span, call->arena, call->answer, err);
    db_rollback(db);
    return r;
}

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

static int load_buckets(struct series_reader *t, struct error *err)
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

    if (agents_filter_id(t->reader->db, t->reader->tenant_id, query->agent_name,
                         &t->source.agent_id, err) != 0 ||
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
        load_buckets(t, err) != 0)
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
