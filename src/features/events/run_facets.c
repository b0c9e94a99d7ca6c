/* run_facets.c - counts runs by the values that they can be filtered by. */
#include "features/events/routes.h"

#include <stdlib.h>

#include "api/call.h"
#include "base/map.h"
#include "db/db.h"
#include "features/agents/agents.h"
#include "features/events/run_list.h"
#include "features/events/runs.h"
#include "features/events/shapes.h"

enum { STATUSES_MAX = 100000 }; /* counted by status: as many as the totals of a workspace */

enum facet { BY_STATUS, BY_AGENT, BY_VERSION, BY_ERROR, BY_WORKFLOW, N_FACETS };

struct counting {
    struct arena *arena;
    struct str wanted[N_FACETS]; /* null: any */
    struct map counts[N_FACETS]; /* value -> struct facet_value */
    unsigned facets;             /* bits of those that this pass counts */
    bool all;                    /* this pass counts the runs that match all filters, too */
    int64_t runs, untyped, oldest, newest;
};

static void count_value(struct counting *c, enum facet facet, struct str value)
{
    struct facet_value *found;

    if (facet == BY_ERROR && !str_is_null(value) && value.len == 0)
        c->untyped++;
    if (value.len == 0)
        return;
    found = map_get(&c->counts[facet], value);
    if (found == NULL) {
        found = ARENA_NEW(c->arena, struct facet_value);
        found->value = arena_copy(c->arena, value);
        (void)map_put(&c->counts[facet], found->value, found);
    }
    found->runs++;
}

static struct str text_of(const struct db_row *row, unsigned column)
{
    return db_is_null(row, column) ? STR_NULL : db_get_text(row, column);
}

/* Empty: it failed without a type. Null: it did not fail. */
static struct str error_of(const struct db_row *row, int status)
{
    const struct str type = text_of(row, 5);

    if (status != RUN_FAILED)
        return STR_NULL;
    return type.len == 0 ? STR_LIT("") : type;
}

/* A run that passes all filters counts for every facet. A run that fails exactly one filter counts
 * only for the facet of that filter. */
static bool count_run(void *ctx, const struct db_row *row)
{
    struct counting *c = ctx;
    const int64_t start_at = db_get_int(row, 0);
    const int status = run_status_of(db_get_int(row, 2));
    const struct str values[N_FACETS] = { str_of(run_status_names[status]), text_of(row, 3),
                                          text_of(row, 4), error_of(row, status), text_of(row, 6) };
    int left_out = 0, by = -1;

    if (start_at < c->oldest)
        c->oldest = start_at;
    if (start_at > c->newest)
        c->newest = start_at;
    if (db_get_int(row, 1) == 0)
        return true;
    for (int i = 0; i < N_FACETS; i++) {
        if (str_is_null(c->wanted[i]) ||
            (!str_is_null(values[i]) && str_eq(values[i], c->wanted[i])))
            continue;
        left_out++;
        by = i;
    }
    c->runs += c->all && left_out == 0;
    for (int i = 0; i < N_FACETS; i++)
        if ((c->facets & 1U << i) != 0 && (left_out == 0 || (left_out == 1 && by == i)))
            count_value(c, (enum facet)i, values[i]);
    return true;
}

static int compare_values(const void *a, const void *b)
{
    const struct facet_value *x = *(const struct facet_value *const *)a;
    const struct facet_value *y = *(const struct facet_value *const *)b;

    if (x->runs != y->runs)
        return x->runs > y->runs ? -1 : 1;
    return str_cmp(x->value, y->value);
}

/* The most frequent values, and the chosen one wherever it stands. */
static struct list list_values(const struct counting *c, enum facet facet)
{
    const struct map *counts = &c->counts[facet];
    const struct facet_value **all =
        ARENA_ARRAY(c->arena, const struct facet_value *, counts->n + 1);
    struct facet_value *listed = ARENA_ARRAY(c->arena, struct facet_value, FACET_VALUES_MAX + 1);
    const struct facet_value *one;
    size_t n = 0, at = 0, kept = 0;

    while ((one = map_next(counts, &at)) != NULL)
        all[n++] = one;
    qsort((void *)all, n, sizeof(*all), compare_values);
    for (size_t i = 0; i < n; i++)
        if (i < FACET_VALUES_MAX || str_eq(all[i]->value, c->wanted[facet]))
            listed[kept++] = *all[i];
    return (struct list){ listed, kept };
}

/* The newest runs of an agent, a workflow, or all, whatever their other values are. */
static int count_newest(struct db *db, struct run_filter filter, struct counting *c,
                        int64_t *ret_since, struct error *err)
{
    bool cut;

    filter.status = -1;
    filter.version = filter.error_type = STR_NULL;
    filter.limit = filter.scan_max;
    c->oldest = INT64_MAX;
    if (run_list_cut(db, &filter, &cut, err) != 0 ||
        run_list_scan(db, &filter, RUNS_VALUES, count_run, c, err) != 0)
        return -1;
    *ret_since = cut ? c->oldest : TIME_NULL;
    return 0;
}

/* First the runs that the list examines: an agent's, a workflow's, or all. Then, for the values
 * that could be chosen instead of that agent or workflow, all runs. */
static int count_all(struct db *db, struct run_filter filter, struct counting *c,
                     struct run_facets *ret, struct error *err)
{
    const bool of_workflow = !str_is_null(filter.workflow_run_id);
    const unsigned others = of_workflow            ? 1U << BY_WORKFLOW
                            : filter.agent_id != 0 ? 1U << BY_AGENT
                                                   : 0;

    if (of_workflow)
        filter.agent_id = 0;
    c->facets = ~others;
    c->all = true;
    if (count_newest(db, filter, c, &ret->examined_since, err) != 0)
        return -1;
    ret->runs = c->runs;
    ret->counted_since = ret->examined_since;
    if (others == 0)
        return 0;
    c->facets = others;
    c->all = false;
    filter.agent_id = 0;
    filter.workflow_run_id = STR_NULL;
    return count_newest(db, filter, c, &ret->others_since, err);
}

static bool add_status(void *ctx, const struct db_row *row)
{
    ((int64_t *)ctx)[run_status_of(db_get_int(row, 0))] += db_get_int(row, 1);
    return true;
}

/* Counts more runs by status than were examined one by one. */
static int count_statuses(struct db *db, struct run_filter filter, const struct counting *c,
                          struct run_facets *ret, struct error *err)
{
    struct facet_value *values = ARENA_ARRAY(c->arena, struct facet_value, N_RUN_STATUSES);
    const int status = filter.status;
    int64_t runs[N_RUN_STATUSES] = { 0 };
    size_t n = 0;
    bool cut;

    filter.status = -1;
    filter.limit = STATUSES_MAX;
    if (run_list_cut(db, &filter, &cut, err) != 0 ||
        run_list_scan(db, &filter, RUNS_STATUSES, add_status, runs, err) != 0)
        return -1;
    ret->counted_since = cut ? filter.since : TIME_NULL;
    ret->runs = 0;
    for (int i = 0; i < N_RUN_STATUSES; i++) {
        if (runs[i] == 0)
            continue;
        values[n++] = (struct facet_value){ str_of(run_status_names[i]), runs[i] };
        if (status < 0 || status == i)
            ret->runs += runs[i];
    }
    ret->status = (struct list){ values, n };
    return 0;
}

static int load_facets(const struct api_call *call, struct db *db, struct counting *c,
                       struct error *err)
{
    const int64_t tenant_id = call->tenant_id;
    const struct runs_query *query = call->query;
    struct run_facets *ret = call->answer;
    struct run_filter filter = run_filter_of(tenant_id, query);

    if (!str_is_null(query->agent_name) &&
        agents_id_of(db, tenant_id, query->agent_name, &filter.agent_id, err) != 0)
        return -1;
    if (count_all(db, filter, c, ret, err) != 0)
        return -1;
    ret->newest_at = c->newest;
    ret->status = list_values(c, BY_STATUS);
    ret->agent_name = list_values(c, BY_AGENT);
    ret->agent_version = list_values(c, BY_VERSION);
    ret->error_type = list_values(c, BY_ERROR);
    ret->untyped = c->untyped;
    ret->workflow_run_id = list_values(c, BY_WORKFLOW);
    if (ret->examined_since == TIME_NULL || !str_is_null(query->q) ||
        (!str_is_null(query->agent_name) && filter.agent_id == 0)) /* it has no runs */
        return 0;
    return count_statuses(db, filter, c, ret, err);
}

int run_facets_read(struct api_call *call, struct db *db, struct error *err)
{
    const struct runs_query *query = call->query;
    struct run_facets *ret = call->answer;
    struct counting c = { .arena = call->arena, .newest = TIME_NULL };
    int r;

    c.wanted[BY_STATUS] = query->status < 0 ? STR_NULL : str_of(run_status_names[query->status]);
    c.wanted[BY_AGENT] = query->agent_name;
    c.wanted[BY_VERSION] = query->agent_version;
    c.wanted[BY_ERROR] = query->untyped ? STR_LIT("") : query->error_type;
    c.wanted[BY_WORKFLOW] = query->workflow_run_id;
    if (db_begin(db, err) != 0)
        return -1;
    for (int i = 0; i < N_FACETS; i++)
        map_init(&c.counts[i]);
    *ret = (struct run_facets){ .counted_since = TIME_NULL,
                                .examined_since = TIME_NULL,
                                .others_since = TIME_NULL,
                                .newest_at = TIME_NULL };
    r = load_facets(call, db, &c, err);
    for (int i = 0; i < N_FACETS; i++)
        map_done(&c.counts[i]);
    return db_end_read(db, r);
}
