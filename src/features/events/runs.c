/* runs.c - reads a run with its events, and pages of runs. */
#include "features/events/runs.h"

#include <stdlib.h>

#include "base/clock.h"
#include "db/db.h"
#include "features/access/registry.h"
#include "features/agents/store.h"
#include "features/events/event_log.h"
#include "features/events/event_rows.h"
#include "features/events/run_list_store.h"
#include "features/events/runs_store.h"
#include "features/events/shapes.h"

enum {
    SCAN_MAX = 10000,
    STEPS_BYTES_MAX = 16 << 20,
    SHORT_NARRATIVE = 100, /* events; a read with a deadline does not start on a longer run */
};

static const int64_t skew_us = 3600LL * USEC_PER_SEC; /* further ahead counts as skewed */

/* An event and its index in the order of arrival, since qsort() is not stable. */
struct arrived_event {
    struct stored_event event;
    size_t arrival;
};

static int by_seq(const void *a, const void *b)
{
    const struct arrived_event *x = a, *y = b;

    if (x->event.event.seq != y->event.event.seq)
        return x->event.event.seq < y->event.event.seq ? -1 : 1;
    if (x->event.event.timestamp != y->event.event.timestamp)
        return x->event.event.timestamp < y->event.event.timestamp ? -1 : 1;
    return x->arrival < y->arrival ? -1 : 1;
}

static void sort_events(struct stored_event *events, size_t n, struct arena *arena)
{
    struct arrived_event *arrived = ARENA_ARRAY(arena, struct arrived_event, n);

    for (size_t i = 0; i < n; i++)
        arrived[i] = (struct arrived_event){ events[i], i };
    qsort(arrived, n, sizeof(*arrived), by_seq);
    for (size_t i = 0; i < n; i++)
        events[i] = arrived[i].event;
}

bool run_event_is_skewed(const struct stored_event *event)
{
    return event->event.timestamp > event->received_at + skew_us;
}

/* Fills in the members that are not stored, and sorts the events for the answer. */
static void complete_events(const struct run_key *key, const struct list *list, struct arena *arena)
{
    struct stored_event *events = list->items;

    for (size_t i = 0; i < list->n; i++) {
        events[i].event.client_id = key->tenant->slug;
        events[i].event.run_id = key->run_id;
        events[i].clock_skewed = run_event_is_skewed(&events[i]);
    }
    sort_events(events, list->n, arena);
}

/* The run and its events, from one snapshot of the database. */
static int load_run(struct db *db, const struct run_key *key, int64_t run_no, struct arena *arena,
                    struct run_narrative *ret, struct error *err)
{
    struct run_row run;

    if (store_run(db, key->tenant->id, run_no, arena, &run, err) != 0)
        return -1;
    if (run.state.event_count > SHORT_NARRATIVE && db_has_deadline(db))
        return err_set(err, ERR_BUSY, "the run has too many events to read before the deadline");
    if (store_run_events(db, key->tenant->id, run_no, arena, &ret->events, err) != 0)
        return -1;
    if (run.state.event_count == 0)
        return err_set(err, ERR_NOT_FOUND, "There is no run '%.*s' in tenant '%.*s'",
                       STR_ARG(key->run_id), STR_ARG(key->tenant->slug));
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
    int r;

    if (log->methods->find_run(log, db, key->tenant->id, key->run_id, &run_no, err) != 0 ||
        db_begin(db, err) != 0)
        return -1;
    r = load_run(db, key, run_no, arena, ret, err);
    db_rollback(db);
    if (r == 0)
        complete_events(key, &ret->events, arena);
    return r;
}

/* The run's in_progress events. A listed run has events, so ret->items is not NULL even if none of
 * them is a step. */
static int load_steps(struct db *db, const struct run_key *key, int64_t run_no, struct arena *arena,
                      struct list *ret, struct error *err)
{
    struct stored_event *events;
    struct list list;
    size_t n = 0;

    if (store_run_events(db, key->tenant->id, run_no, arena, &list, err) != 0)
        return -1;
    events = list.items;
    for (size_t i = 0; i < list.n; i++)
        if (events[i].event.event == EVENT_IN_PROGRESS)
            events[n++] = events[i];
    *ret = (struct list){ events, n };
    complete_events(key, ret, arena);
    return 0;
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

/* Adds the steps, and ends the page when they exceed STEPS_BYTES_MAX. */
static int add_steps(struct db *db, const struct tenant_entry *tenant, struct run_page *page,
                     struct run_listed *listed, struct arena *arena, struct error *err)
{
    const struct run_found *found = page->runs.items;
    size_t before = arena->total, n = 0;

    while (n < page->runs.n && arena->total - before <= STEPS_BYTES_MAX) {
        const struct run_key key = { tenant, found[n].run_id };

        if (load_steps(db, &key, found[n].run_no, arena, &listed[n].steps, err) != 0)
            return -1;
        n++;
    }
    if (n < page->runs.n) {
        page->more = true;
        page->end = (struct run_cursor){ listed[n - 1].run.started_at, found[n - 1].run_id };
        page->runs.n = n;
    }
    return 0;
}

/* The id of the requested agent; 0: any. *ret_there is false when there is no agent of that name.
 */
static int find_agent(struct db *db, int64_t tenant_id, struct str agent_name, int64_t *ret,
                      bool *ret_there, struct error *err)
{
    *ret = 0;
    if (!str_is_null(agent_name) && store_agent_id(db, tenant_id, agent_name, ret, err) != 0)
        return -1;
    *ret_there = str_is_null(agent_name) || *ret != 0;
    return 0;
}

/* A page, from one snapshot of the database. */
static int load_page(struct db *db, const struct tenant_entry *tenant,
                     const struct runs_query *query, struct arena *arena, struct run_list *ret,
                     struct error *err)
{
    struct run_filter filter = { .after = query->after,
                                 .since = query->range.since,
                                 .until = query->range.until,
                                 .status = query->status,
                                 .workflow_run_id = query->workflow_run_id,
                                 .limit = query->limit,
                                 .scan_max = SCAN_MAX };
    struct run_listed *listed;
    struct run_page page;
    bool there;

    *ret = (struct run_list){ 0 };
    if (find_agent(db, tenant->id, query->agent_name, &filter.agent_id, &there, err) != 0)
        return -1;
    if (!there)
        return 0;
    if (store_run_list(db, tenant->id, &filter, arena, &page, err) != 0)
        return -1;
    listed = to_listed(&page.runs, arena);
    if (query->include_steps && add_steps(db, tenant, &page, listed, arena, err) != 0)
        return -1;
    ret->runs = (struct list){ listed, page.runs.n };
    if (page.more)
        ret->next = run_cursor_format(&page.end, arena_alloc(arena, RUN_CURSOR_LEN));
    return 0;
}

int run_list_read(struct db *db, const struct tenant_entry *tenant, const struct runs_query *query,
                  struct arena *arena, struct run_list *ret, struct error *err)
{
    int r;

    if (db_begin(db, err) != 0)
        return -1;
    r = load_page(db, tenant, query, arena, ret, err);
    db_rollback(db);
    return r;
}
