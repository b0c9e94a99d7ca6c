/* runs.c - a run and its events as one story. */
#include "service/runs.h"

#include <stdlib.h>

#include "base/clock.h"
#include "contract/event.h"
#include "db/db.h"
#include "service/registry.h"
#include "store/event_log.h"
#include "store/event_rows.h"
#include "store/runs.h"

static const int64_t skew_us = 3600LL * USEC_PER_SEC; /* further ahead of us than this is marked */

/* An event with its place in the order of arrival, which qsort() does not keep by itself. */
struct placed {
    struct stored_event event;
    size_t arrival;
};

static int by_seq(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

    if (x->event.event.seq != y->event.event.seq)
        return x->event.event.seq < y->event.event.seq ? -1 : 1;
    if (x->event.event.timestamp != y->event.event.timestamp)
        return x->event.event.timestamp < y->event.event.timestamp ? -1 : 1;
    return x->arrival < y->arrival ? -1 : 1;
}

static void sort_events(struct stored_event *events, size_t n, struct arena *arena)
{
    struct placed *placed = ARENA_ARRAY(arena, struct placed, n);

    for (size_t i = 0; i < n; i++)
        placed[i] = (struct placed){ events[i], i };
    qsort(placed, n, sizeof(*placed), by_seq);
    for (size_t i = 0; i < n; i++)
        events[i] = placed[i].event;
}

/* The run and its events, from one view of the database. */
static int load(struct db *db, const struct run_key *key, int64_t run_no, struct arena *arena,
                struct run_narrative *ret, struct error *err)
{
    struct run_row run;

    if (store_run(db, key->tenant->id, run_no, arena, &run, err) != 0 ||
        store_run_events(db, key->tenant->id, run_no, arena, &ret->events, err) != 0)
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
    struct stored_event *events;
    int64_t run_no;
    int r;

    if (log->methods->find_run(log, db, key->tenant->id, key->run_id, &run_no, err) != 0 ||
        db_begin(db, err) != 0)
        return -1;
    r = load(db, key, run_no, arena, ret, err);
    db_rollback(db);
    if (r != 0)
        return -1;
    events = ret->events.items;
    for (size_t i = 0; i < ret->events.n; i++) {
        events[i].event.client_id = key->tenant->slug;
        events[i].event.run_id = key->run_id;
        events[i].clock_skewed = events[i].event.timestamp > events[i].received_at + skew_us;
    }
    sort_events(events, ret->events.n, arena);
    return 0;
}
