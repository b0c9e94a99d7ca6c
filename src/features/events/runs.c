/* runs.c - reads a run with its events, and pages of runs. */
#include "features/events/runs.h"

#include <stdlib.h>

#include "base/clock.h"
#include "db/db.h"
#include "db/embedded.h"
#include "features/access/registry.h"
#include "features/agents/agents.h"
#include "features/events/event_log.h"
#include "features/events/event_pages.h"
#include "features/events/run_list.h"
#include "features/events/shapes.h"

enum {
    SCAN_MAX = 10000,
    SEARCH_MAX = 2000, /* the same when texts are searched, which takes longer */
    PAGE_BYTES = 16 << 20,
    RUN_BYTES = 256 << 10, /* room for the run itself */
    PAGE_EVENTS = 40000,   /* more do not fit in PAGE_BYTES */
    SHORT_NARRATIVE = 100, /* events; a read with a deadline does not start on a longer run */
};

static const int64_t skew_us = 3600LL * USEC_PER_SEC; /* further ahead counts as skewed */

bool run_event_is_skewed(const struct stored_event *event)
{
    return event->event.timestamp > event->received_at + skew_us;
}

/* Fills in the members that are not stored. */
static void complete_events(const struct run_key *key, const struct list *list)
{
    struct stored_event *events = list->items;

    for (size_t i = 0; i < list->n; i++) {
        events[i].event.client_id = key->tenant->slug;
        events[i].event.run_id = key->run_id;
        events[i].clock_skewed = run_event_is_skewed(&events[i]);
    }
}

static struct str cursor_of(const struct event_page_rows *rows, struct arena *arena)
{
    return rows->more ? event_cursor_format(&rows->end, arena_alloc(arena, EVENT_CURSOR_LEN))
                      : STR_NULL;
}

static int load_events(struct db *db, const struct run_key *key, const struct event_page *page,
                       struct arena *arena, struct run_narrative *ret, struct error *err)
{
    const bool in_pages = key->query->limit.has || !str_is_null(key->query->cursor) ||
                          page->from_end || event_page_is_filtered(page);
    struct event_page_rows rows;

    if (store_run_events_page(db, page, arena, &rows, err) != 0)
        return -1;
    complete_events(key, &rows.list);
    ret->events = rows.list;
    ret->damaged = (struct opt_int){ rows.damaged > 0, rows.damaged };
    ret->next = in_pages || rows.more ? cursor_of(&rows, arena) : STR_LIT("");
    return 0;
}

int run_not_found(const struct run_key *key, struct error *err)
{
    return err_set(err, ERR_NOT_FOUND, "There is no run '%.*s' in tenant '%.*s'",
                   STR_ARG(key->run_id), STR_ARG(key->tenant->slug));
}

/* The run and its events, from one snapshot of the database. */
static int load_run(struct db *db, const struct run_key *key, int64_t run_no, struct arena *arena,
                    struct run_narrative *ret, struct error *err)
{
    const struct narrative_query *query = key->query;
    struct event_page page = { .tenant_id = key->tenant->id,
                               .run_no = run_no,
                               .after = query->after,
                               .limit = query->limit.has ? query->limit.value : PAGE_EVENTS,
                               .bytes = PAGE_BYTES - RUN_BYTES,
                               .from_end = query->from_end,
                               .part = query->q,
                               .level = { query->level >= 0, query->level },
                               .category = query->category };
    struct run_row run;

    if (store_run(db, key->tenant->id, run_no, arena, &run, err) != 0)
        return -1;
    if (run.state.event_count > SHORT_NARRATIVE && db_has_deadline(db))
        return err_set(err, ERR_BUSY, "the run has too many events to read before the deadline");
    if (run.state.event_count == 0)
        return run_not_found(key, err);
    page.is_short = run.state.event_count <= SHORT_NARRATIVE &&
                    run.state.event_count <= page.limit && str_is_null(query->cursor) &&
                    !page.from_end && !event_page_is_filtered(&page);
    if (load_events(db, key, &page, arena, ret, err) != 0)
        return -1;
    ret->run = ARENA_NEW(arena, struct run_summary);
    ret->run->run_id = key->run_id;
    ret->run->agent_name = run.agent_name;
    run_state_summary(&run.state, ret->run);
    return 0;
}

int run_read(struct event_log *log, struct db *db, const struct run_key *key, struct arena *arena,
             struct run_narrative *ret, struct error *err)
{
    int64_t run_no;

    if (log->methods->find_run(log, db, key->tenant->id, key->run_id, &run_no, err) != 0 ||
        db_begin(db, err) != 0)
        return -1;
    return db_end_read(db, load_run(db, key, run_no, arena, ret, err));
}

static struct run_listed *to_listed(const struct list *runs, struct arena *arena)
{
    struct run_listed *listed = ARENA_ARRAY(arena, struct run_listed, runs->n);
    const struct run_found *found = runs->items;

    for (size_t i = 0; i < runs->n; i++) {
        listed[i].run.run_id = found[i].run_id;
        listed[i].run.agent_name = found[i].run.agent_name;
        run_state_summary(&found[i].run.state, &listed[i].run);
    }
    return listed;
}

/* The run's in_progress events, possibly none; as many as fit. */
static struct event_page steps_of(int64_t tenant_id, const struct run_found *found, size_t bytes)
{
    return (struct event_page){ .tenant_id = tenant_id,
                                .run_no = found->run_no,
                                .after = EVENT_PLACE_FIRST,
                                .limit = PAGE_EVENTS,
                                .bytes = bytes,
                                .steps_only = true,
                                .is_short = found->run.state.event_count <= SHORT_NARRATIVE };
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
    struct run_steps of_page = { .runs = found, .n_runs = page->runs.n, .arena = arena };
    size_t used = 0;

    for (size_t n = 0; n < page->runs.n; n++) {
        const struct run_key key = { .tenant = tenant, .run_id = found[n].run_id };
        struct event_page_rows steps;
        struct event_page some;

        used += found[n].bytes;
        if (n > 0 && used >= PAGE_BYTES) {
            end_before(page, listed, n);
            return 0;
        }
        some = steps_of(tenant->id, &found[n], PAGE_BYTES > used ? PAGE_BYTES - used : 1);
        if (store_run_steps(db, &of_page, n, &some, &steps, err) != 0)
            return -1;
        complete_events(&key, &steps.list);
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

static struct run_filter filter_of(const struct runs_query *query)
{
    return (struct run_filter){ .after = query->after,
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
struct run_ranking {
    const struct engine *engine;
    const struct tenant_entry *tenant;
    const struct run_filter *filter;
};

/* Is this one of the orders that are sorted here? */
static bool run_order_is_spending(int order)
{
    return order == ORDER_TOKENS || order == ORDER_COST;
}

static int sum_up(struct db *db, const struct run_ranking *ranking, const struct spending_run *runs,
                  size_t n, struct arena *arena, struct error *err)
{
    struct run_spending of = { ranking->tenant, runs, n, arena };

    return n == 0 ? 0 : events_spending(ranking->engine, db, &of, err);
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
static int run_ranking_read(struct db *db, const struct run_ranking *ranking, struct arena *arena,
                            struct run_page *ret, struct error *err)
{
    const struct run_filter *filter = ranking->filter;
    struct run_candidates found;
    struct spending_run *runs;

    if (store_run_candidates(db, ranking->tenant->id, filter, arena, &found, err) != 0)
        return -1;
    runs = ARENA_ARRAY(arena, struct spending_run, found.n);
    for (size_t i = 0; i < found.n; i++)
        runs[i] = (struct spending_run){ found.runs[i].run_id, &found.runs[i].spent };
    if (sum_up(db, ranking, runs, found.n, arena, err) != 0)
        return -1;
    for (size_t i = 0; i < found.n; i++)
        found.runs[i].key = key_of(&found.runs[i], filter);
    if (found.n > 0)
        qsort(found.runs, found.n, sizeof(*found.runs), by_key);
    return store_run_load(db, &found, filter->limit, arena, ret, err);
}

/* What the runs of any page spent: reads the reports of these runs and no others. */
static int run_ranking_fill(struct db *db, const struct run_ranking *ranking, struct arena *arena,
                            struct run_page *page, struct error *err)
{
    struct run_found *found = page->runs.items;
    struct spending_run *runs = ARENA_ARRAY(arena, struct spending_run, page->runs.n);

    for (size_t i = 0; i < page->runs.n; i++)
        runs[i] = (struct spending_run){ found[i].run_id, &found[i].spent };
    return sum_up(db, ranking, runs, page->runs.n, arena, err);
}

/* The runs of the page, with what they spent if that is wanted or decides the order. */
static int find_runs(struct db *db, const struct run_ranking *ranking, bool with_cost,
                     struct arena *arena, struct run_page *ret, struct error *err)
{
    if (run_order_is_spending(ranking->filter->order))
        return run_ranking_read(db, ranking, arena, ret, err);
    if (store_run_list(db, ranking->tenant->id, ranking->filter, arena, ret, err) != 0)
        return -1;
    return with_cost ? run_ranking_fill(db, ranking, arena, ret, err) : 0;
}

static void add_spending(const struct run_page *page, struct run_listed *listed)
{
    const struct run_found *found = page->runs.items;

    for (size_t i = 0; i < page->runs.n; i++) {
        listed[i].tokens = found[i].spent.tokens;
        listed[i].cost = found[i].spent.cost_text;
    }
}

/* A page, from one snapshot of the database. */
static int load_page(struct db *db, const struct run_list_request *request, struct arena *arena,
                     struct run_list *ret, struct error *err)
{
    const struct runs_query *query = request->query;
    const struct tenant_entry *tenant = request->tenant;
    struct run_filter filter = filter_of(query);
    const struct run_ranking ranking = { request->engine, tenant, &filter };
    struct run_listed *listed;
    struct run_page page;

    *ret = (struct run_list){ .examined_since = TIME_NULL };
    if (agents_filter_id(db, tenant->id, query->agent_name, &filter.agent_id, err) != 0)
        return -1;
    if (filter.agent_id < 0)
        return 0;
    if (find_runs(db, &ranking, query->include_cost, arena, &page, err) != 0)
        return -1;
    listed = to_listed(&page.runs, arena);
    if (query->include_cost)
        add_spending(&page, listed);
    if (query->include_steps && add_steps(db, tenant, &page, listed, arena, err) != 0)
        return -1;
    ret->runs = (struct list){ listed, page.runs.n };
    ret->examined_since = runs_query_is_sorted(query) && page.cut ? page.floor : TIME_NULL;
    if (page.more && !runs_query_is_sorted(query))
        ret->next = run_cursor_format(&page.end, arena_alloc(arena, RUN_CURSOR_LEN));
    return 0;
}

int run_list_read(struct db *db, const struct run_list_request *request, struct arena *arena,
                  struct run_list *ret, struct error *err)
{
    if (db_begin(db, err) != 0)
        return -1;
    return db_end_read(db, load_page(db, request, arena, ret, err));
}
