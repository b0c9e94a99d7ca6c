/* event_days.h - of which days the events are that arrived together.
 *
 * Events are numbered as they arrive, and an export of a time range reads them in that order. So
 * that it need not read all, a row of the table event_days covers the tenant's events from
 * `first_no` to the next row's, which arrived in about a day. Its `lags` has a bit for each
 * distance of a timestamp from `day`: none, one day, two or three, four to seven, and so on, before
 * and after. So a tenant has a row a day, which is written once, and again for each bit that is
 * new: 60 times at the most, whatever the timestamps are.
 *
 *  1. A row has the bits of all events that it covers: their transaction writes it.
 *  2. Programs from before migration 53 write no rows. The change number "event_days" is that of an
 *     event from which on there are rows, and is set when no such program can write any more; 0:
 * not yet.
 *  3. On PostgreSQL a number has the time in it (db_number()), and a row covers the numbers of a
 * day: all writers write the same row. On SQLite numbers follow each other, and its writer begins a
 *     row with the first event of a day.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "shape/timerange.h"

struct db;
struct event_days;
struct event_item;

/* What a writer has written: the thread's own. */
struct event_days *event_days_new(void);

/* NULL is fine. */
void event_days_free(struct event_days *days);

/* Writes what the rows lack of the items that are stored, in their transaction. */
int event_days_note(struct event_days *days, struct db *db, const struct event_item *items,
                    size_t n, struct error *err) MUST_CHECK;

/* After a rollback. */
void event_days_forget(struct event_days *days);

/* All events from now on have rows, and programs from before cannot write. */
int event_days_begin(struct db *db, struct error *err) MUST_CHECK;

/* Numbers of events: exclusive, inclusive. */
struct number_range {
    int64_t after, until;
};

struct number_ranges {
    struct number_range *items;
    size_t n;
};

struct days_question {
    int64_t tenant_id;
    struct time_range range; /* of timestamps: not empty */
    int64_t last;            /* no number after it */
};

/* Where such events may be, and nowhere else, in order. */
int event_days_ranges(struct db *db, const struct days_question *q, struct arena *arena,
                      struct number_ranges *ret, struct error *err) MUST_CHECK;
