/* kpi_breakdown.c - one KPI split by some of the dimensions it was reported by.
 *
 * A run may report the same metric by several sets of dimensions. The sets
 * that contain all requested dimensions are the candidates, from small to
 * large; a run counts only with the first of them that it has. Two passes over
 * the range, whatever the number of sets: the first finds each run's set, the
 * second adds the cells. What they keep is bounded while they read.
 */
#include <assert.h>
#include <stdlib.h>

#include "api/call.h"
#include "base/buf.h"
#include "base/map.h"
#include "db/db.h"
#include "db/name_key.h"
#include "features/agents/agents.h"
#include "features/kpis/kpi_reads.h"
#include "features/kpis/kpis.h"
#include "features/kpis/report_sums.h"
#include "features/kpis/shapes.h"
#include "shape/json.h"

/* Memory limits of one query. */
enum { GROUPS_MAX = 50000, RUNS_MAX = 1000000, BYTES_MAX = 64 << 20 };

static const char too_much[] = "There are too many different values; request fewer dimensions or a "
                               "shorter range";

/* All cells with the same values of the requested dimensions. */
struct group {
    struct str id; /* these values as JSON, in order */
    struct named_value *values;
    struct kpi_state state;
    double total;
};

/* A set that contains the requested dimensions. */
struct candidate {
    struct str key;
    size_t n;        /* number of its dimensions */
    size_t *indexes; /* of the requested dimensions in it */
    size_t rank;     /* by the number of dimensions, then by key */
};

/* A run, and the set that it counts with. */
struct chosen {
    int64_t run_no;
    const struct candidate *set;
};

struct split {
    const struct kpi_reader *reader;
    struct breakdown_filter filter;
    struct str *by;
    size_t n_by;
    struct map dimensions; /* struct str: the union of the dimensions of all sets */
    struct candidate *candidates;
    size_t n_candidates;
    struct map by_key;           /* candidates by their set's key */
    struct map runs;             /* struct chosen by run_no; with several candidates only */
    const struct candidate *set; /* of the breakdown being read, with room for its values */
    struct named_value *room;
    struct kpi_stamp place;
    struct map groups;
    struct buf id;   /* scratch space */
    struct buf keys; /* of all candidates, a JSON object */
    size_t bytes_before;
    bool too_many, bad;
};

/* The requested names, without repeats. */
static void read_names(struct split *s, struct str text)
{
    struct str *names = ARENA_ARRAY(s->reader->arena, struct str, text.len + 1);

    while (!str_is_null(text)) {
        struct str name = str_split(&text, ',');
        size_t i = 0;

        while (i < s->n_by && !str_eq(names[i], name))
            i++;
        names[i] = name;
        if (i == s->n_by)
            s->n_by++;
    }
    s->by = names;
}

static int compare_names(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* False, and the query is refused, when it has used its memory. */
static bool has_room(struct split *s)
{
    s->too_many |= s->reader->arena->total - s->bytes_before > BYTES_MAX;
    return !s->too_many;
}

static void add_dimensions(struct split *s, const struct list *names)
{
    const struct str *each = names->items;

    for (size_t i = 0; i < names->n; i++) {
        struct str *copy;

        if (map_get(&s->dimensions, each[i]) != NULL)
            continue;
        copy = ARENA_NEW(s->reader->arena, struct str);
        *copy = arena_copy(s->reader->arena, each[i]);
        (void)map_put(&s->dimensions, *copy, copy);
    }
}

static struct list sorted_dimensions(const struct split *s)
{
    struct str *all = ARENA_ARRAY(s->reader->arena, struct str, s->dimensions.n + 1);
    const struct str *name;
    size_t n = 0, at = 0;

    while ((name = map_next(&s->dimensions, &at)) != NULL)
        all[n++] = *name;
    qsort(all, n, sizeof(*all), compare_names);
    return (struct list){ all, n };
}

static bool find_indexes(const struct split *s, const struct list *names, size_t *indexes)
{
    const struct str *each = names->items;

    for (size_t i = 0; i < s->n_by; i++) {
        size_t at = 0;

        while (at < names->n && !str_eq(each[at], s->by[i]))
            at++;
        if (at == names->n)
            return false;
        indexes[i] = at;
    }
    return s->n_by > 0;
}

static void add_candidate(struct split *s, struct str key, const struct list *names)
{
    struct candidate *candidate = &s->candidates[s->n_candidates];
    size_t indexes[BREAKDOWN_BY_MAX];

    ASSERT_ALWAYS(s->n_by <= COUNT_OF(indexes)); /* the query's rule */
    if (!find_indexes(s, names, indexes))
        return;
    *candidate = (struct candidate){ .key = key, .n = names->n };
    candidate->indexes = ARENA_ARRAY(s->reader->arena, size_t, s->n_by);
    memcpy(candidate->indexes, indexes, s->n_by * sizeof(indexes[0]));
    s->n_candidates++;
}

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return str_cmp(x->key, y->key);
}

/* Several agents may have the same set: it is read once. */
static void read_sets(struct split *s, const struct list *sets)
{
    struct breakdown_set *each = sets->items;
    struct arena scratch;
    struct map seen;

    arena_init(&scratch);
    map_init(&seen);
    s->candidates = ARENA_ARRAY(s->reader->arena, struct candidate, sets->n + 1);
    for (size_t i = 0; i < sets->n && has_room(s); i++) {
        struct list names;

        if (map_put(&seen, each[i].key, &each[i]) != NULL)
            continue;
        s->bad |= !cells_read_names(each[i].names, &scratch, &names);
        add_dimensions(s, &names);
        add_candidate(s, each[i].key, &names);
        arena_reset(&scratch);
    }
    map_done(&seen);
    arena_done(&scratch);
    qsort(s->candidates, s->n_candidates, sizeof(*s->candidates), compare_candidates);
}

static void add_id(struct buf *out, const struct named_value *value)
{
    if (out->len > 0)
        buf_add_char(out, ',');
    if (value->kind == VALUE_INT)
        buf_add_int(out, value->integer);
    else if (value->kind == VALUE_REAL)
        json_add_real(out, value->real);
    else
        buf_add_json(out, value->string);
}

static struct group *add_group(struct split *s, const struct named_value *values)
{
    struct arena *arena = s->reader->arena;
    struct group *group;

    s->too_many |= s->groups.n >= GROUPS_MAX;
    if (!has_room(s))
        return NULL;
    group = ARENA_NEW(arena, struct group);
    group->id = arena_copy(arena, buf_str(&s->id));
    group->values = ARENA_ARRAY(arena, struct named_value, s->n_by);
    for (size_t i = 0; i < s->n_by; i++) {
        group->values[i] = values[s->set->indexes[i]];
        group->values[i].name = s->by[i];
        group->values[i].string = arena_copy(arena, group->values[i].string);
    }
    (void)map_put(&s->groups, group->id, group);
    return group;
}

static void kpi_breakdown_add_cell(void *ctx, const struct named_value *values, double number)
{
    struct split *s = ctx;
    const struct kpi_value value = { .kind = VALUE_REAL, .real = number };
    struct group *group;

    buf_clear(&s->id);
    for (size_t i = 0; i < s->n_by; i++)
        add_id(&s->id, &values[s->set->indexes[i]]);
    group = map_get(&s->groups, buf_str(&s->id));
    if (group == NULL)
        group = add_group(s, values);
    if (group != NULL)
        kpi_state_add(&group->state, &value, &s->place);
}

static struct str run_key(const int64_t *run_no)
{
    return str_from((const char *)run_no, sizeof(*run_no));
}

/* A run counts with the first of its sets. */
static bool kpi_breakdown_choose(void *ctx, const struct db_row *row)
{
    struct split *s = ctx;
    const int64_t run_no = db_get_int(row, 0);
    const struct candidate *set = map_get(&s->by_key, db_get_text(row, 1));
    struct chosen *chosen = map_get(&s->runs, run_key(&run_no));

    assert(set != NULL);
    if (chosen == NULL) {
        s->too_many |= s->runs.n >= RUNS_MAX;
        if (!has_room(s))
            return false;
        chosen = ARENA_NEW(s->reader->arena, struct chosen);
        *chosen = (struct chosen){ run_no, set };
        (void)map_put(&s->runs, run_key(&chosen->run_no), chosen);
    } else if (set->rank < chosen->set->rank) {
        chosen->set = set;
    }
    return true;
}

static bool kpi_breakdown_add(void *ctx, const struct db_row *row)
{
    struct split *s = ctx;
    const struct kpi_stamp place = { db_get_int(row, BREAKDOWN_AT_TIMESTAMP),
                                     db_get_int(row, BREAKDOWN_AT_RECEIVED),
                                     db_get_int(row, BREAKDOWN_AT_RUN_NO) };
    const struct chosen *chosen = map_get(&s->runs, run_key(&place.run_no));

    s->set = map_get(&s->by_key, db_get_text(row, BREAKDOWN_AT_DIMENSIONS));
    if (s->n_candidates > 1 && (chosen == NULL || chosen->set != s->set))
        return true;
    s->place = place;
    s->bad |= !cells_each(db_get_text(row, BREAKDOWN_AT_CELLS), s->room, s->set->n,
                          kpi_breakdown_add_cell, s);
    return !s->bad && has_room(s);
}

/* Finds candidates by their keys, and makes room for the values of the largest. */
static void index_candidates(struct split *s)
{
    buf_add_char(&s->keys, '{');
    for (size_t i = 0; i < s->n_candidates; i++) {
        struct candidate *candidate = &s->candidates[i];

        candidate->rank = i;
        (void)map_put(&s->by_key, candidate->key, candidate);
        if (i > 0)
            buf_add_char(&s->keys, ',');
        buf_add_json(&s->keys, candidate->key);
        buf_add_c(&s->keys, ":0");
    }
    buf_add_char(&s->keys, '}');
    s->room =
        ARENA_ARRAY(s->reader->arena, struct named_value, s->candidates[s->n_candidates - 1].n);
}

static int read_groups(struct split *s, struct error *err)
{
    struct db *db = s->reader->db;

    if (s->n_candidates == 0)
        return 0;
    index_candidates(s);
    if (s->n_candidates > 1 &&
        breakdowns_runs(db, &s->filter, buf_str(&s->keys), kpi_breakdown_choose, s, err) != 0)
        return -1;
    if (!s->too_many &&
        breakdowns_read(db, &s->filter, buf_str(&s->keys), kpi_breakdown_add, s, err) != 0)
        return -1;
    return s->bad ? err_set(err, ERR_SCHEMA, "stored breakdown is not valid JSON of cells") : 0;
}

/* Largest first. */
static int compare_groups(const void *a, const void *b)
{
    const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return str_cmp(x->id, y->id);
}

static void fill_rows(const struct split *s, enum kpi_total total, struct kpi_breakdown *ret)
{
    struct group **groups = ARENA_ARRAY(s->reader->arena, struct group *, s->groups.n + 1);
    struct breakdown_row *rows;
    struct group *group;
    size_t n = 0, at = 0;

    while ((group = map_next(&s->groups, &at)) != NULL) {
        struct kpi_value value = { 0 };

        (void)kpi_state_total(&group->state, total, &value); /* every group has a number */
        group->total = value.real;
        groups[n++] = group;
    }
    qsort((void *)groups, n, sizeof(struct group *), compare_groups);
    ret->truncated = n > BREAKDOWN_ROWS_MAX;
    n = ret->truncated ? BREAKDOWN_ROWS_MAX : n;
    rows = ARENA_ARRAY(s->reader->arena, struct breakdown_row, n + 1);
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct breakdown_row){ .dimensions = { groups[i]->values, s->n_by },
                                          .value = groups[i]->total };
    ret->rows = (struct list){ rows, n };
}

static int compare_agents(const void *a, const void *b)
{
    const int64_t x = ((const struct kpi_series *)a)->agent_id;
    const int64_t y = ((const struct kpi_series *)b)->agent_id;

    return x == y ? 0 : x < y ? -1 : 1;
}

/* The agents that reported the sets, each once: as struct kpi_series with nothing but its agent. */
static struct list agents_of(const struct list *sets, struct arena *arena)
{
    struct kpi_series *agents = ARENA_ARRAY(arena, struct kpi_series, sets->n + 1);
    const struct breakdown_set *each = sets->items;
    size_t kept = 0;

    for (size_t i = 0; i < sets->n; i++)
        agents[i].agent_id = each[i].agent_id;
    qsort(agents, sets->n, sizeof(*agents), compare_agents);
    for (size_t i = 0; i < sets->n; i++)
        if (kept == 0 || agents[kept - 1].agent_id != agents[i].agent_id)
            agents[kept++] = agents[i];
    return (struct list){ agents, kept };
}

/* How the reporting agents total the metric. */
static int total_of(struct split *s, const struct list *sets, struct kpi_together *ret,
                    struct error *err)
{
    const struct kpi_source source = { .tenant_id = s->reader->tenant_id,
                                       .key =
                                           store_name_key(s->filter.metric, s->reader->arena).key,
                                       .agent_id = s->filter.agent_id };
    const struct list agents = agents_of(sets, s->reader->arena);

    return kpi_together_of(s->reader, &source, &agents, KPI_SUM, ret, err);
}

/* Averages and last values cannot be combined: they are returned only as reported. */
static bool keep_exact(struct split *s, enum kpi_total total)
{
    if (s->n_candidates == 0 || total == KPI_SUM || total == KPI_MAX)
        return true;
    s->n_candidates = 1;
    return s->candidates[0].n == s->n_by;
}

static int read_split(struct split *s, const struct breakdown_query *query,
                      struct kpi_breakdown *ret, struct error *err)
{
    struct kpi_together together;
    struct breakdown_sets sets;

    if (agents_filter_id(s->reader->db, s->reader->tenant_id, query->agent_name,
                         &s->filter.agent_id, err) != 0 ||
        breakdowns_sets(s->reader->db, &s->filter, s->reader->arena, &sets, err) != 0 ||
        total_of(s, &sets.list, &together, err) != 0)
        return -1;
    if (together.cut)
        return kpi_refuse(s->reader, "agent_name", query->agent_name, kpi_too_many_agents, err);
    if (together.differs)
        return kpi_refuse(s->reader, "agent_name", query->agent_name,
                          "Agents total this metric in different ways; choose one with agent_name",
                          err);
    read_sets(s, &sets.list);
    if (!keep_exact(s, together.total))
        return kpi_refuse(s->reader, "by", query->by,
                          "Only sums and maxima can be combined; request all dimensions that the "
                          "metric was reported by",
                          err);
    s->too_many |= sets.cut;
    if (!s->too_many && read_groups(s, err) != 0)
        return -1;
    if (s->too_many)
        return kpi_refuse(s->reader, "by", query->by, too_much, err);
    *ret = (struct kpi_breakdown){ .metric = query->metric,
                                   .by = { s->by, s->n_by },
                                   .agg = together.agg,
                                   .dimensions = sorted_dimensions(s) };
    if (str_is_null(ret->agg))
        ret->agg = STR_LIT("sum");
    fill_rows(s, together.total, ret);
    return 0;
}

static int read_in_snapshot(struct split *s, const struct breakdown_query *query,
                            struct kpi_breakdown *ret, struct error *err)
{
    struct map *const maps[] = { &s->dimensions, &s->by_key, &s->runs, &s->groups };
    int r;

    if (db_begin(s->reader->db, err) != 0)
        return -1;
    for (size_t i = 0; i < COUNT_OF(maps); i++)
        map_init(maps[i]);
    buf_init(&s->id, SIZE_MAX);   /* no longer than a stored row */
    buf_init(&s->keys, SIZE_MAX); /* bounded by BREAKDOWN_SETS_BYTES */
    r = read_split(s, query, ret, err);
    buf_done(&s->keys);
    buf_done(&s->id);
    for (size_t i = 0; i < COUNT_OF(maps); i++)
        map_done(maps[i]);
    db_rollback(s->reader->db);
    return r;
}

int kpis_breakdown(struct api_call *call, struct db *db, struct error *err)
{
    const struct kpi_reader reader = kpi_reader_of(call, db);
    const struct breakdown_query *query = call->query;
    struct split s = { .reader = &reader,
                       .filter = { .tenant_id = call->tenant_id, .metric = query->metric },
                       .bytes_before = call->arena->total };
    const char *problem = timerange_parse(query->time_range, reader.now, &s.filter.range);

    if (problem != NULL)
        return kpi_refuse(&reader, "time_range", query->time_range, problem, err);
    read_names(&s, query->by);
    return read_in_snapshot(&s, query, call->answer, err);
}
