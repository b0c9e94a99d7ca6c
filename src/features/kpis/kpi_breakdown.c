/* kpi_breakdown.c - one KPI split by some of the dimensions it was reported by.
 *
 * A run may report the same metric by several sets of dimensions. The sets
 * that contain all requested dimensions are read from small to large; a run
 * counts only with the first set that has it.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "base/map.h"
#include "db/db.h"
#include "db/name_key.h"
#include "features/kpis/breakdowns_store.h"
#include "features/kpis/cells.h"
#include "features/kpis/kpi_totals.h"
#include "features/kpis/report_shapes.h"
#include "features/kpis/shapes.h"
#include "shape/json_write.h"

/* Memory limits of one query. */
enum { SETS_MAX = 10000, GROUPS_MAX = 50000, GROUPS_BYTES_MAX = 64 << 20 };

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
};

struct split {
    const struct kpi_reader *reader;
    struct breakdown_filter filter;
    struct str *by;
    size_t n_by;
    struct candidate *candidates;
    size_t n_candidates;
    const struct candidate *set; /* being read, with room for its values */
    struct named_value *room;
    struct kpi_stamp place; /* of the breakdown being read */
    struct map groups;
    struct buf id; /* scratch space */
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

/* The union of the dimensions of all sets. */
static struct list dimensions_of(struct split *s, const struct list *sets)
{
    const struct breakdown_set *each = sets->items;
    struct str *all;
    size_t n = 0, kept = 0;
    struct list *names = ARENA_ARRAY(s->reader->arena, struct list, sets->n + 1);

    for (size_t i = 0; i < sets->n; i++) {
        s->bad |= !cells_read_names(each[i].names, s->reader->arena, &names[i]);
        n += names[i].n;
    }
    all = ARENA_ARRAY(s->reader->arena, struct str, n + 1);
    n = 0;
    for (size_t i = 0; i < sets->n; i++)
        for (size_t j = 0; j < names[i].n; j++)
            all[n++] = ((const struct str *)names[i].items)[j];
    qsort(all, n, sizeof(*all), compare_names);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || !str_eq(all[kept - 1], all[i]))
            all[kept++] = all[i];
    return (struct list){ all, kept };
}

static bool is_candidate(const struct split *s, struct str key)
{
    for (size_t i = 0; i < s->n_candidates; i++)
        if (str_eq(s->candidates[i].key, key))
            return true;
    return false;
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
    return true;
}

static void add_candidate(struct split *s, const struct breakdown_set *set)
{
    size_t *indexes = ARENA_ARRAY(s->reader->arena, size_t, s->n_by);
    struct list names;

    if (is_candidate(s, set->key))
        return;
    s->bad |= !cells_read_names(set->names, s->reader->arena, &names);
    if (find_indexes(s, &names, indexes))
        s->candidates[s->n_candidates++] = (struct candidate){ set->key, names.n, indexes };
}

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return str_cmp(x->key, y->key);
}

static void find_candidates(struct split *s, const struct list *sets)
{
    const struct breakdown_set *each = sets->items;

    s->candidates = ARENA_ARRAY(s->reader->arena, struct candidate, sets->n + 1);
    for (size_t i = 0; i < sets->n; i++)
        add_candidate(s, &each[i]);
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

    s->too_many |= s->groups.n >= GROUPS_MAX || arena->total - s->bytes_before > GROUPS_BYTES_MAX;
    if (s->too_many)
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

static bool kpi_breakdown_add(void *ctx, const struct kpi_stamp *place, struct str cells)
{
    struct split *s = ctx;

    s->place = *place;
    s->bad |= !cells_each(cells, s->room, s->set->n, kpi_breakdown_add_cell, s);
    return !s->bad && !s->too_many;
}

/* The keys of the first `n` candidates. */
static struct str keys_before(const struct split *s, size_t n)
{
    struct str text;
    struct buf out;

    buf_init(&out, SIZE_MAX); /* bounded by SETS_MAX */
    buf_add_char(&out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_add_char(&out, ',');
        buf_add_json(&out, s->candidates[i].key);
    }
    buf_add_char(&out, ']');
    text = arena_copy(s->reader->arena, buf_str(&out));
    buf_done(&out);
    return text;
}

static int read_groups(struct split *s, struct error *err)
{
    s->bytes_before = s->reader->arena->total;
    for (size_t i = 0; i < s->n_candidates && !s->too_many; i++) {
        const struct breakdown_choice choice = { s->candidates[i].key, keys_before(s, i) };

        s->set = &s->candidates[i];
        s->room = ARENA_ARRAY(s->reader->arena, struct named_value, s->set->n);
        if (store_breakdowns(s->reader->db, &s->filter, &choice, kpi_breakdown_add, s, err) != 0)
            return -1;
    }
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

/* How the reporting agents total the metric. */
static int total_of(struct split *s, const struct list *sets, struct kpi_together *ret,
                    bool *ret_cut, struct error *err)
{
    const struct kpi_source source = { .tenant_id = s->reader->tenant_id,
                                       .key =
                                           store_name_key(s->filter.metric, s->reader->arena).key,
                                       .agent_id = s->filter.agent_id };
    struct kpi_series *agents = ARENA_ARRAY(s->reader->arena, struct kpi_series, sets->n + 1);
    const struct breakdown_set *each = sets->items;
    struct kpi_rows declared;

    if (store_kpi_declared(s->reader->db, &source, KPI_ROWS_MAX, s->reader->arena, &declared,
                           err) != 0)
        return -1;
    *ret_cut = declared.cut;
    for (size_t i = 0; i < sets->n; i++)
        agents[i].agent_id = each[i].agent_id;
    *ret = kpi_total_together(&(struct list){ agents, sets->n }, &declared.list, KPI_SUM);
    return 0;
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
                      struct kpi_breakdown *ret, struct kpi_refusal *refusal, struct error *err)
{
    struct kpi_together together;
    struct list sets;
    bool cut;

    if (kpi_find_agent(s->reader, query->agent_name, &s->filter.agent_id, err) != 0 ||
        store_breakdown_sets(s->reader->db, &s->filter, SETS_MAX + 1, s->reader->arena, &sets,
                             err) != 0 ||
        total_of(s, &sets, &together, &cut, err) != 0)
        return -1;
    if (cut)
        return kpi_refuse(refusal, "agent_name", query->agent_name, kpi_too_many_agents, err);
    if (together.differs)
        return kpi_refuse(refusal, "agent_name", query->agent_name,
                          "Agents total this metric in different ways; choose one with agent_name",
                          err);
    if (s->n_by > 0)
        find_candidates(s, &sets);
    if (!keep_exact(s, together.total))
        return kpi_refuse(refusal, "by", query->by,
                          "Only sums and maxima can be combined; request all dimensions that the "
                          "metric was reported by",
                          err);
    if (sets.n <= SETS_MAX && read_groups(s, err) != 0)
        return -1;
    if (s->too_many || sets.n > SETS_MAX)
        return kpi_refuse(refusal, "by", query->by, too_much, err);
    *ret = (struct kpi_breakdown){ .metric = query->metric,
                                   .by = { s->by, s->n_by },
                                   .agg = together.agg,
                                   .dimensions = dimensions_of(s, &sets) };
    if (str_is_null(ret->agg))
        ret->agg = STR_LIT("sum");
    fill_rows(s, together.total, ret);
    return 0;
}

int kpis_breakdown(const struct kpi_reader *reader, const struct breakdown_query *query,
                   struct kpi_breakdown *ret, struct kpi_refusal *refusal, struct error *err)
{
    struct split s = { .reader = reader,
                       .filter = { .tenant_id = reader->tenant_id, .metric = query->metric } };
    const char *problem = timerange_parse(query->time_range, reader->now, &s.filter.range);
    int r;

    if (problem != NULL)
        return kpi_refuse(refusal, "time_range", query->time_range, problem, err);
    read_names(&s, query->by);
    if (db_begin(reader->db, err) != 0)
        return -1;
    map_init(&s.groups);
    buf_init(&s.id, SIZE_MAX); /* no longer than a stored row */
    r = read_split(&s, query, ret, refusal, err);
    buf_done(&s.id);
    map_done(&s.groups);
    db_rollback(reader->db);
    return r;
}
