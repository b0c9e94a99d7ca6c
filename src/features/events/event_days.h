/* event_days.h - which days' events each range of numbers has.
 *
 * Events are numbered as they arrive, and an export of a time range reads them in that order. So
 * that it need not read all, a row of the table event_days covers the tenant's events from
 * `first_no` to the next row's, which arrived in about a day. Its `lags` has a bit for each
 * distance of a timestamp from `day`: none, one day, two or three, four to seven, and so on, before
 * and after. So a tenant has a row a day, with 60 bits at the most, whatever the timestamps are,
 * and hardly any transaction has one to add.
 *
 * 1. A row has the bits of all events that it covers: their transaction adds them.
 * 2. On PostgreSQL a number has the time in it (db_number()), and a row covers those of a day: all
 *    writers write the same row. On SQLite numbers follow each other, and its writer begins a row
 *    with the first event of a day.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "shape/timerange.h"

struct db;
struct event_days;
struct event_item;

/* As stored. */
struct days_row {
    int64_t tenant_id, first_no, day;
    uint64_t lags;
};

/* Does the row have the bit of this timestamp? */
bool days_row_has(const struct days_row *row, int64_t timestamp);

/* A writer thread's cache of the rows. */
struct event_days *event_days_new(void);

/* NULL is fine. */
void event_days_free(struct event_days *days);

/* Adds the missing bits of the stored items to their rows. Call it at the end of the transaction:
 * it locks rows for which other writers may wait. */
int event_days_note(struct event_days *days, struct db *db, const struct event_item *items,
                    size_t n, struct error *err) MUST_CHECK;

/* After a rollback. */
void event_days_forget(struct event_days *days);

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

/* The ranges of numbers that may contain events of the time range, ascending. */
int event_days_ranges(struct db *db, const struct days_question *q, struct arena *arena,
                      struct number_ranges *ret, struct error *err) MUST_CHECK;

/* Called for an event whose bit is missing from its row. Return false to stop. */
typedef bool days_lost_fn(void *ctx, int64_t tenant_id, int64_t event_no);

/* Scans all events for violations of invariant 1. Others may write meanwhile. */
int event_days_check(struct db *db, days_lost_fn *on_lost, void *ctx, struct error *err) MUST_CHECK;
