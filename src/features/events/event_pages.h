/* event_pages.h - pages of a run's narrative: its events by seq, timestamp and arrival. */
#pragma once
#include "base/err.h"
#include "features/events/cursors.h"
#include "shape/shape.h"

struct db;
struct placed_event;
struct run_found; /* run_list.h */

/* SQL conditions: the event k counts as an error, or as a warning. */
#define EVENT_IS_ERROR   "(k.event = 2 OR LOWER(k.level) IN ('error', 'critical'))"
#define EVENT_IS_WARNING "(k.event <> 2 AND LOWER(k.level) IN ('warning', 'warn'))"

/* A page of a run's narrative to read. */
struct event_page {
    int64_t tenant_id, run_no;
    struct event_place after; /* exclusive; of a page from the end, the events before it */
    int64_t limit;
    size_t bytes;  /* of JSON; the first event is read whatever its size */
    bool is_short; /* the run has few events, `after` is before the first, and `limit` not less */
    bool from_end; /* the last events before `after` */

    struct str part;      /* of a text of the event; null: any */
    struct opt_int level; /* enum event_level; none: any */
    struct str category;  /* null: any */
};

struct event_page_rows {
    struct list list; /* of struct stored_event as of run_events(), but in narrative order */
    size_t bytes;     /* of JSON, about */
    int64_t damaged;  /* events of the page that do not match their checksums: not in the list */
    bool more;        /* there are events after `end`, or before it */
    struct event_place end;
};

/* Does the page leave out events by what they say? */
bool event_page_is_filtered(const struct event_page *page);

/* Scans the keys of all events of the run, but reads only the events of the page. With a filter it
 * examines the texts of 10,000 events at the most, so that the page may have fewer events than its
 * limit, even none, and still not be the last. */
int event_page_read(struct db *db, const struct event_page *page, struct arena *arena,
                    struct event_page_rows *ret, struct error *err) MUST_CHECK;

/* The in_progress events of a page's runs, which are asked for one run after the other. */
struct run_steps {
    int64_t tenant_id;
    const struct run_found *runs;
    size_t n_runs;
    int64_t limit; /* of each run */
    struct arena *arena;

    struct placed_event
        *ahead; /* steps of the runs before `end`; those from `at` on were not returned yet */
    size_t n_ahead, at, end;
};

/* A page of `bytes` of the steps of `run`, a place in the list, from the first one on. As many runs
 * as the page has room for are read at once: a statement of PostgreSQL is a round trip. */
int run_steps_read(struct db *db, struct run_steps *steps, size_t run, size_t bytes,
                   struct event_page_rows *ret, struct error *err) MUST_CHECK;
