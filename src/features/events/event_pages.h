/* event_pages.h - pages of a run's narrative: its events by seq, timestamp and arrival. */
#pragma once
#include "base/err.h"
#include "shape/shape.h"

struct db;
struct placed_event;
struct run_found; /* run_list.h */

/* Where an event is in its run's narrative. */
struct event_place {
    int64_t seq, timestamp, event_no;
};

#define EVENT_PLACE_FIRST ((struct event_place){ INT64_MIN, INT64_MIN, 0 })
#define EVENT_PLACE_LAST  ((struct event_place){ INT64_MAX, INT64_MAX, INT64_MAX })

/* The position in a narrative where a page ended, as text. */
enum { EVENT_CURSOR_LEN = 3 * 11 + 6 }; /* seq, timestamp and number of the event, and a checksum */

struct str event_cursor_format(const struct event_place *place, char text[EVENT_CURSOR_LEN]);

/* False for any text that event_cursor_format() did not write. */
bool event_cursor_parse(struct str text, struct event_place *ret) MUST_CHECK;

/* As in event_level_names. */
enum event_level { LEVEL_WARNING, LEVEL_ERROR };

/* Which events k count as which, in SQL. */
#define EVENT_IS_ERROR   "(k.event = 2 OR LOWER(k.level) IN ('error', 'critical'))"
#define EVENT_IS_WARNING "(k.event <> 2 AND LOWER(k.level) IN ('warning', 'warn'))"

/* A page of a run's narrative to read. */
struct event_page {
    int64_t tenant_id, run_no;
    struct event_place after; /* exclusive; of a page from the end, the events before it */
    int64_t limit;
    size_t bytes;    /* of JSON; the first event is read whatever its size */
    bool steps_only; /* in_progress events */
    bool is_short;   /* the run has few events, `after` is before the first, and `limit` not less */
    bool from_end;   /* the last events before `after` */

    struct str part;      /* of a text of the event; null: any */
    struct opt_int level; /* enum event_level; none: any */
    struct str category;  /* null: any */
};

struct event_page_rows {
    struct list list; /* of struct stored_event as of store_run_events(), but in narrative order */
    size_t bytes;     /* of JSON, about */
    int64_t damaged;  /* events of the page that do not match their checksums: not in the list */
    bool more;        /* there are events after `end`, or before it */
    struct event_place end;
};

/* Does the page leave out events by what they say? */
bool event_page_is_filtered(const struct event_page *page);

/* Costs a look at the key of each event of the run, but reads only the page's. With a filter it
 * examines the texts of 10,000 events at the most, so that the page may have fewer events than its
 * limit, even none, and still not be the last. */
int store_run_events_page(struct db *db, const struct event_page *page, struct arena *arena,
                          struct event_page_rows *ret, struct error *err) MUST_CHECK;

/* The steps of a page's runs, which are asked for one run after the other. */
struct run_steps {
    const struct run_found *runs;
    size_t n_runs;
    struct arena *arena;

    struct placed_event *ahead; /* of the runs before `end`; from `at` on they are still to give */
    size_t n_ahead, at, end;
};

/* The same as store_run_events_page() for the steps of `run`, a place in the page, from the first
 * one on. PostgreSQL, where each statement is a round trip, is asked for as many runs at once as
 * the page has room for; `bytes` is what it has left, and `limit` that of each of its runs. */
int store_run_steps(struct db *db, struct run_steps *steps, size_t run,
                    const struct event_page *page, struct event_page_rows *ret,
                    struct error *err) MUST_CHECK;
