/* run_routes.c - runs as front ends read them: one with its events, and pages of runs. */
#include "features/events/routes.h"

#include <stdlib.h>

#include "api/api.h"
#include "api/call.h"
#include "db/db.h"
#include "db/embedded.h"
#include "engine/engine.h"
#include "features/access/registry.h"
#include "features/access/shapes.h"
#include "features/agents/agents.h"
#include "features/events/event_log.h"
#include "features/events/event_pages.h"
#include "features/events/run_list.h"
#include "features/events/runs.h"
#include "features/events/shapes.h"

enum {
    SCAN_MAX = 10000,
    SEARCH_MAX = 2000, /* the same when texts are searched, which takes longer */
    PAGE_BYTES = 16 << 20,
    RUN_ROOM = 256 << 10,  /* room for the run itself */
    PAGE_EVENTS = 40000,   /* more do not fit in PAGE_BYTES */
    SHORT_NARRATIVE = 100, /* events; a read with a deadline does not start on a longer run */
    SHORT_PAGE = 100,      /* runs */
    REBUILD_STEP = 500,    /* runs per transaction at most */
};

/* --- a run --- */

static int read_run(struct api_call *call, struct db *db, int64_t run_no, run_read_fn *read,
                    struct error *err)
{
    const struct run_path *path = call->params;
    struct run_row run;

    if (runs_get(db, call->tenant_id, run_no, call->arena, &run, err) != 0)
        return -1;
    if (run.state.event_count == 0)
        return run_not_found(call->tenant, path->run_id, err);
    return read(call, db, run_no, &run, err);
}

int run_read_path(struct api_call *call, struct db *db, run_read_fn *read, struct error *err)
{
    const struct run_path *path = call->params;
    struct event_log *log = events_log(call->api->engine);
    int64_t run_no;

    if (log->methods->find_run(log, db, call->tenant_id, path->run_id, &run_no, err) != 0 ||
        db_begin(db, err) != 0)
        return -1;
    return db_end_read(db, read_run(call, db, run_no, read, err));
}

/* Fills in the members that are not stored. */
static void complete_events(const struct tenant_entry *tenant, struct str run_id,
                            const struct list *list)
{
    struct stored_event *events = list->items;

    for (size_t i = 0; i < list->n; i++) {
        events[i].event.client_id = tenant->slug;
        events[i].event.run_id = run_id;
        events[i].clock_skewed = run_event_is_skewed(&events[i]);
    }
}

static struct str cursor_of(const struct event_page_rows *rows, struct arena *arena)
{
    return rows->more ? event_cursor_format(&rows->end, arena_alloc(arena, EVENT_CURSOR_LEN))
                      : STR_NULL;
}

static int load_narrative(struct api_call *call, struct db *db, int64_t run_no,
                          const struct run_row *run, struct error *err)
{
    const struct narrative_query *query = call->query;
    const struct run_path *path = call->params;
    struct run_narrative *ret = call->answer;
    struct event_page page = { .tenant_id = call->tenant_id,
                               .run_no = run_no,
                               .after = query->after,
                               .limit = query->limit.has ? query->limit.value : PAGE_EVENTS,
                               .bytes = PAGE_BYTES - RUN_ROOM,
                               .from_end = query->from_end,
                               .part = query->q,
                               .level = { query->level >= 0, query->level },
                               .category = query->category };
    const bool in_pages = query->limit.has || !str_is_null(query->cursor) || page.from_end ||
                          event_page_is_filtered(&page);
    struct event_page_rows rows;

    if (run->state.event_count > SHORT_NARRATIVE && db_has_deadline(db))
        return err_set(err, ERR_BUSY, "the run has too many events to read before the deadline");
    page.is_short = run->state.event_count <= SHORT_NARRATIVE &&
                    run->state.event_count <= page.limit && str_is_null(query->cursor) &&
                    !page.from_end && !event_page_is_filtered(&page);
    if (event_page_read(db, &page, call->arena, &rows, err) != 0)
        return -1;
    complete_events(call->tenant, path->run_id, &rows.list);
    ret->events = rows.list;
    ret->damaged = (struct opt_int){ rows.damaged > 0, rows.damaged };
    ret->next = in_pages || rows.more ? cursor_of(&rows, call->arena) : STR_LIT("");
    ret->run = ARENA_NEW(call->arena, struct run_summary);
    ret->run->run_id = path->run_id;
    ret->run->agent_name = run->agent_name;
    run_state_summary(&run->state, ret->run);
    return 0;
}

static int read_narrative(struct api_call *call, struct db *db, struct error *err)
{
    return run_read_path(call, db, load_narrative, err);
}

/* --- pages of runs --- */

static struct run_listed *to_listed(const struct list *runs, bool with_cost, struct arena *arena)
{
    struct run_listed *listed = ARENA_ARRAY(arena, struct run_listed, runs->n);
    const struct run_found *found = runs->items;

    for (size_t i = 0; i < runs->n; i++) {
        listed[i].run.run_id = found[i].run_id;
        listed[i].run.agent_name = found[i].run.agent_name;
        run_state_summary(&found[i].run.state, &listed[i].run);
        if (!with_cost)
            continue;
        listed[i].tokens = found[i].spent.tokens;
        listed[i].cost = found[i].spent.cost_text;
    }
    return listed;
}

/* Ends the page before run `n`, which is not the first. */
static void end_before(struct run_page *page, const struct run_listed *listed, size_t n)
{
    const struct run_found *found = page->runs.items;

    page->more = true;
    page->end = (struct run_cursor){ listed[n - 1].run.started_at, found[n - 1].run_id };
    page->runs.n = n;
}

/* Adds the steps, and ends the page before the run that would exceed PAGE_BYTES. Of the first run
 * it keeps what fits: otherwise a large one could never be listed. */
static int add_steps(struct db *db, const struct tenant_entry *tenant, struct run_page *page,
                     struct run_listed *listed, struct arena *arena, struct error *err)
{
    const struct run_found *found = page->runs.items;
    struct run_steps of_page = { .tenant_id = tenant->id,
                                 .runs = found,
                                 .n_runs = page->runs.n,
                                 .limit = PAGE_EVENTS,
                                 .arena = arena };
    size_t used = 0;

    for (size_t n = 0; n < page->runs.n; n++) {
        struct event_page_rows steps;

        used += found[n].bytes;
        if (n > 0 && used >= PAGE_BYTES) {
            end_before(page, listed, n);
            return 0;
        }
        if (run_steps_read(db, &of_page, n, PAGE_BYTES > used ? PAGE_BYTES - used : 1, &steps,
                           err) != 0)
            return -1;
        complete_events(tenant, found[n].run_id, &steps.list);
        used += steps.bytes;
        if (n > 0 && (steps.more || used > PAGE_BYTES)) {
            end_before(page, listed, n);
            return 0;
        }
        listed[n].steps = steps.list;
        listed[n].steps_next = cursor_of(&steps, arena);
        listed[n].damaged = (struct opt_int){ steps.damaged > 0, steps.damaged };
    }
    return 0;
}

struct run_filter run_filter_of(int64_t tenant_id, const struct runs_query *query)
{
    return (struct run_filter){ .tenant_id = tenant_id,
                                .after = query->after,
                                .since = query->range.since,
                                .until = query->range.until,
                                .status = query->status,
                                .workflow_run_id = query->workflow_run_id,
                                .version = query->agent_version,
                                .error_type = query->untyped ? STR_LIT("") : query->error_type,
                                .part = query->q,
                                .order = query->order,
                                .ascending = query->ascending,
                                .limit = query->limit,
                                .bytes = PAGE_BYTES,
                                .scan_max = str_is_null(query->q) ? SCAN_MAX : SEARCH_MAX };
}

/* Runs in the order of what they spent on models. The database cannot sort by cost, which depends
 * on prices: the runs that match are read without their texts, sorted here, and the first ones
 * loaded. What bounds it: the newest scan_max runs are examined, and the reports of those that
 * match are read by their run ids. */

static int sum_up(const struct api_call *call, struct db *db, const struct spending_run *runs,
                  size_t n, struct error *err)
{
    struct run_spending of = { call->tenant, runs, n, call->arena };

    return n == 0 ? 0 : events_spending(call->api->engine, db, &of, err);
}

/* What is sorted by; the sign turns the order round. */
static struct opt_int key_of(const struct run_candidate *run, const struct run_filter *filter)
{
    const struct run_spent *spent = &run->spent;
    const struct opt_int value = filter->order == ORDER_TOKENS ? spent->tokens : spent->cost;

    return (struct opt_int){ value.has, filter->ascending ? -value.value : value.value };
}

static int by_key(const void *a, const void *b)
{
    const struct run_candidate *x = a, *y = b;

    if (x->key.has != y->key.has)
        return x->key.has ? -1 : 1;
    if (x->key.value != y->key.value)
        return x->key.value > y->key.value ? -1 : 1;
    if (x->start_at != y->start_at)
        return x->start_at > y->start_at ? -1 : 1;
    return -str_cmp(x->run_id, y->run_id);
}

/* The page, with what each of its runs spent; in the arena. Runs without a value are last, and of
 * equal ones the newest first. */
static int read_ranking(const struct api_call *call, struct db *db, const struct run_filter *filter,
                        struct run_page *ret, struct error *err)
{
    struct run_candidates found;
    struct spending_run *runs;

    if (run_list_candidates(db, filter, call->arena, &found, err) != 0)
        return -1;
    runs = ARENA_ARRAY(call->arena, struct spending_run, found.n);
    for (size_t i = 0; i < found.n; i++)
        runs[i] = (struct spending_run){ found.runs[i].run_id, &found.runs[i].spent };
    if (sum_up(call, db, runs, found.n, err) != 0)
        return -1;
    for (size_t i = 0; i < found.n; i++)
        found.runs[i].key = key_of(&found.runs[i], filter);
    if (found.n > 0)
        qsort(found.runs, found.n, sizeof(*found.runs), by_key);
    return run_list_load(db, &found, filter->limit, call->arena, ret, err);
}

/* The runs of the page, with what they spent if that is wanted or decides the order. */
static int find_runs(const struct api_call *call, struct db *db, const struct run_filter *filter,
                     struct run_page *ret, struct error *err)
{
    const struct runs_query *query = call->query;
    struct spending_run *runs;
    struct run_found *found;

    if (filter->order == ORDER_TOKENS || filter->order == ORDER_COST)
        return read_ranking(call, db, filter, ret, err);
    if (run_list_find(db, filter, call->arena, ret, err) != 0)
        return -1;
    if (!query->include_cost)
        return 0;
    found = ret->runs.items;
    runs = ARENA_ARRAY(call->arena, struct spending_run, ret->runs.n);
    for (size_t i = 0; i < ret->runs.n; i++)
        runs[i] = (struct spending_run){ found[i].run_id, &found[i].spent };
    return sum_up(call, db, runs, ret->runs.n, err);
}

/* A page, from one snapshot of the database. */
static int load_page(struct api_call *call, struct db *db, struct error *err)
{
    const struct runs_query *query = call->query;
    struct run_filter filter = run_filter_of(call->tenant_id, query);
    struct run_list *ret = call->answer;
    struct run_listed *listed;
    struct run_page page;

    *ret = (struct run_list){ .examined_since = TIME_NULL };
    if (agents_filter_id(db, call->tenant_id, query->agent_name, &filter.agent_id, err) != 0)
        return -1;
    if (filter.agent_id < 0)
        return 0;
    if (find_runs(call, db, &filter, &page, err) != 0)
        return -1;
    listed = to_listed(&page.runs, query->include_cost, call->arena);
    if (query->include_steps && add_steps(db, call->tenant, &page, listed, call->arena, err) != 0)
        return -1;
    ret->runs = (struct list){ listed, page.runs.n };
    ret->examined_since = runs_query_is_sorted(query) && page.cut ? page.floor : TIME_NULL;
    if (page.more && !runs_query_is_sorted(query))
        ret->next = run_cursor_format(&page.end, arena_alloc(call->arena, RUN_CURSOR_LEN));
    return 0;
}

static int list_runs(struct api_call *call, struct db *db, struct error *err)
{
    if (db_begin(db, err) != 0)
        return -1;
    return db_end_read(db, load_page(call, db, err));
}

/* May the page be read on the loop? Not when a filter skips runs that were read, when steps or cost
 * are wanted, or when the page is large. */
static bool is_short(const struct runs_query *query)
{
    const bool filters = query->status >= 0 || runs_query_is_sorted(query) ||
                         !str_is_null(query->agent_version) || !str_is_null(query->error_type) ||
                         !str_is_null(query->q) || query->untyped ||
                         (!str_is_null(query->agent_name) && !str_is_null(query->workflow_run_id));

    return !filters && !query->include_steps && !query->include_cost && query->limit <= SHORT_PAGE;
}

static int begin_list_runs(struct api_call *call, struct error *err)
{
    return is_short(call->query) ? call_read_inline(call, err) : call_proceed(call, err);
}

static int rebuild_runs(struct api_call *call, struct db *db, struct error *err)
{
    const struct rebuild_query *query = call->query;

    return runs_rebuild_page(db, call->tenant_id, query->after, REBUILD_STEP, call->answer, err);
}

/* clang-format off */
const struct route run_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/dashboard/runs", READ, 200), .handler = begin_list_runs, .read = list_runs, .params = &tenant_path_shape, .query = &runs_query_shape, .answer = &run_list_shape, .tagged = true,
      .id = "list_runs", .summary = "List runs, newest first",
      .description = "Sorted by start, then by `run_id`. Pass `next` as `cursor` to read on: a page may have fewer runs than `limit`, and only a null `next` is the end." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/dashboard/facets", READ, 200), .read = run_facets_read, .params = &tenant_path_shape, .query = &run_facets_query_shape, .answer = &run_facets_shape, .tagged = true,
      .id = "get_run_facets", .summary = "Count runs by the values they can be filtered by",
      .description = "Takes the filters of the list of runs. The values of each filter are counted as if only the others were set: choosing one leads to as many runs. At most the newest 10,000 runs of the range are examined, and 2,000 with `q`." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/runs/{run_id}/events", READ, 200), .handler = call_read_inline, .read = read_narrative, .params = &run_path_shape, .query = &narrative_query_shape, .answer = &run_narrative_shape, .tagged = true,
      .id = "get_run_events", .summary = "Get the events of a run",
      .description = "Ordered by `seq`, timestamp and arrival. Without `limit` and `cursor` all events are answered if they take at most 16 MiB, else the first page; pass `next` as `cursor` to read on, until it is null. `export/events?run_id=` streams a run of any size. With `q`, `level` or `category` a page examines at most 10,000 events, so it may be short or empty although more follow." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/runs/{run_id}/timeline", READ, 200), .read = run_timeline_read, .params = &run_path_shape, .answer = &run_timeline_shape, .tagged = true,
      .id = "get_run_timeline", .summary = "Sum up the events of a run by category and time",
      .description = "Each category has the numbers of its events, errors and warnings, and when they happened: at most 200 ticks, which cover the time of the run. At most 24 categories are told apart, and 200,000 events counted." },
    { ROUTE(POST, "/api/v1/tenants/{slug}/runs/rebuild", PLATFORM, 200), .change = rebuild_runs, .topic = CHANGE_RUNS, .params = &tenant_path_shape, .query = &rebuild_query_shape, .answer = &runs_rebuild_shape, .audit = "runs.rebuild",
      .id = "rebuild_runs", .summary = "Rebuild run states from events (one page)",
      .description = "Each call rebuilds one page of runs. Repeat it with `after` set to the answer's `next` until that is null." },
    { 0 },
};
/* clang-format on */
