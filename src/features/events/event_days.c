/* event_days.c - bits for days, the rows that have them, and what of them is in memory. */
#include "features/events/event_days.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "db/db.h"
#include "db/servers.h"
#include "features/events/event_log.h"
#include "features/events/shapes.h"
#include "shape/rows.h"

enum {
    PLACES = 8192,  /* of tenants in memory */
    SAME_DAY = 32,  /* the bit of no distance */
    FORGET_S = 300, /* a row that a server of Citus has lost is then written again */
};

#define DAY_US ((int64_t)86400 * USEC_PER_SEC)

/* A direct-mapped cache of each tenant's last row; a row that another tenant's has replaced is read
 * again. */
struct event_days {
    struct days_row rows[PLACES];
    int64_t session;  /* db_session() of the rows: after a failover they may be missing from the
                         database */
    int64_t since_us; /* when the cache was last emptied; monotonic */
};

/* Of one call of event_days_note(). */
struct noting {
    struct event_days *days;
    struct db *db;
    bool timed;       /* numbers have the time in them */
    int64_t first_no; /* the least of the call */
    int64_t today;    /* of the last that was received: one for all, so that one row covers them */
    struct rows changes; /* struct days_row, not yet written, as they come */
};

/* clang-format off */
#define ROWS "SELECT tenant_id, first_no, day, lags FROM event_days"
/* The row that covers number $2. */
static const struct db_query select_row = {
    .keeps_plan = true,
    .sql = ROWS " WHERE tenant_id = $1 AND first_no <= $2 ORDER BY first_no DESC LIMIT 1",
};
static const struct db_query add_lags = {
    .keeps_plan = true,
    .sql = "INSERT INTO event_days (tenant_id, first_no, day, lags) VALUES ($1, $2, $3, $4)"
           " ON CONFLICT (tenant_id, first_no) DO UPDATE SET lags = event_days.lags | excluded.lags"
           " WHERE event_days.lags | excluded.lags <> event_days.lags",
};
DB_QUERY(select_rows, ROWS " WHERE tenant_id = $1 ORDER BY first_no");
DB_QUERY(select_all_rows, ROWS " ORDER BY tenant_id, first_no");
DB_QUERY(select_all_events, "SELECT tenant_id, event_no, timestamp FROM events");
/* clang-format on */

static int64_t day_of(int64_t us)
{
    return us / DAY_US - (us % DAY_US < 0);
}

/* The bit of a timestamp that is `lag` days before the row's day; a greater lag has a bit that is
 * no less. */
static unsigned bit_of(int64_t lag)
{
    const uint64_t size = (uint64_t)(lag < 0 ? -lag : lag);
    const unsigned doublings = size == 0 ? 0 : 64 - (unsigned)__builtin_clzll(size);

    assert(doublings < SAME_DAY - 1); /* 64 bits of microseconds are fewer days */
    return lag < 0 ? SAME_DAY - doublings : SAME_DAY + doublings;
}

static uint64_t bit_in(const struct days_row *row, int64_t timestamp)
{
    return UINT64_C(1) << bit_of(row->day - day_of(timestamp));
}

bool days_row_has(const struct days_row *row, int64_t timestamp)
{
    return (row->lags & bit_in(row, timestamp)) != 0;
}

/* Bits of all days from `first` to `last`, both included. */
static uint64_t bits_of(int64_t day, int64_t first, int64_t last)
{
    return (UINT64_MAX << bit_of(day - last)) & (UINT64_MAX >> (63 - bit_of(day - first)));
}

struct event_days *event_days_new(void)
{
    return NEW(struct event_days);
}

void event_days_free(struct event_days *days)
{
    free(days);
}

void event_days_forget(struct event_days *days)
{
    memset(days->rows, 0, sizeof(days->rows));
}

static struct days_row *place_of(struct event_days *days, int64_t tenant_id)
{
    return &days->rows[(uint64_t)tenant_id % PLACES];
}

static bool read_row(void *ctx, const struct db_row *row)
{
    *(struct days_row *)ctx = (struct days_row){ db_get_int(row, 0), db_get_int(row, 1),
                                                 db_get_int(row, 2), (uint64_t)db_get_int(row, 3) };
    return true;
}

/* True also if the row is one day ahead: a small step back of the clock must not begin a new
 * row. */
static bool is_of_today(const struct days_row *row, int64_t today)
{
    return row->first_no != 0 && row->day >= today && row->day <= today + 1;
}

/* The tenant's last row, as far as it is known; without one its first_no is 0. */
static int find_known(const struct noting *n, int64_t tenant_id, struct days_row **ret,
                      struct error *err)
{
    struct days_row *known = *ret = place_of(n->days, tenant_id);

    if (known->tenant_id == tenant_id)
        return 0;
    *known = (struct days_row){ .tenant_id = tenant_id };
    return db_exec(n->db, &select_row, DB_ARGS(db_int(tenant_id), db_int(INT64_MAX)), read_row,
                   known, err);
}

static bool is_same_row(const struct days_row *a, const struct days_row *b)
{
    const bool same = a->tenant_id == b->tenant_id && a->first_no == b->first_no;

    assert(!same || a->first_no == 0 ||
           a->day == b->day); /* or the bits of one would mean other days in the other */
    return same;
}

/* The row that covers the item, with the bits that it is known to have. */
static int find_row(const struct noting *n, const struct event_item *item, struct days_row *ret,
                    struct error *err)
{
    struct days_row *known;

    if (find_known(n, item->tenant_id, &known, err) != 0)
        return -1;
    if (n->timed) {
        const int64_t day = day_of(db_number_time(item->event_no));

        *ret = (struct days_row){ item->tenant_id, db_number_at(day * DAY_US), day, 0 };
        if (is_same_row(known, ret))
            ret->lags = known->lags;
    } else if (is_of_today(known, n->today)) {
        *ret = *known;
    } else {
        *ret = (struct days_row){ item->tenant_id, n->first_no, n->today, 0 };
    }
    return 0;
}

static int note_item(struct noting *n, const struct event_item *item, struct error *err)
{
    const int64_t timestamp = item->event->timestamp;
    struct days_row *changes = n->changes.items, *last, row;

    if (find_row(n, item, &row, err) != 0)
        return -1;
    if (days_row_has(&row, timestamp))
        return 0;
    if (n->changes.n > 0 && is_same_row(&changes[n->changes.n - 1], &row)) {
        last = &changes[n->changes.n - 1];
    } else {
        last = rows_add(&n->changes);
        *last = row;
    }
    last->lags |= bit_in(last, timestamp);
    return 0;
}

static int compare_rows(const void *a, const void *b)
{
    const struct days_row *x = a, *y = b;

    if (x->tenant_id != y->tenant_id)
        return x->tenant_id < y->tenant_id ? -1 : 1;
    return (x->first_no > y->first_no) - (x->first_no < y->first_no);
}

static int write_row(const struct noting *n, const struct days_row *row, struct error *err)
{
    struct days_row *known = place_of(n->days, row->tenant_id);

    assert(row->first_no >= 0 && row->lags != 0);
    if (db_run_later(n->db, &add_lags,
                     DB_ARGS(db_int(row->tenant_id), db_int(row->first_no), db_int(row->day),
                             db_int((int64_t)row->lags)),
                     err) != 0)
        return -1;
    *known = *row;
    return 0;
}

/* In the order of tenants, so that writers do not wait for each other in a circle. */
static int write_changes(struct noting *n, struct error *err)
{
    struct days_row *changes = n->changes.items;
    const size_t count = n->changes.n;

    if (count > 0)
        qsort(changes, count, sizeof(*changes), compare_rows);
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && is_same_row(&changes[i], &changes[i + 1]))
            changes[i + 1].lags |= changes[i].lags;
        else if (write_row(n, &changes[i], err) != 0)
            return -1;
    }
    return 0;
}

/* After the connection was lost the database may be another one. */
static void forget_in_time(struct event_days *days, const struct db *db)
{
    const int64_t now_us = clock_mono_us();

    if (days->session == db_session(db) &&
        (!db_is_distributed(db) || now_us - days->since_us < (int64_t)FORGET_S * USEC_PER_SEC))
        return;
    event_days_forget(days);
    days->session = db_session(db);
    days->since_us = now_us;
}

int event_days_note(struct event_days *days, struct db *db, const struct event_item *items,
                    size_t n, struct error *err)
{
    ARENA_SCOPED(arena);
    struct noting noting = { .days = days,
                             .db = db,
                             .timed = strcmp(db_dialect(db), "postgres") == 0,
                             .first_no = INT64_MAX,
                             .changes = { .arena = &arena, .size = sizeof(struct days_row) } };

    forget_in_time(days, db);
    for (size_t i = 0; i < n; i++) {
        const int64_t day = day_of(items[i].received_at);

        if (event_item_is_stored(&items[i]) && items[i].event_no < noting.first_no)
            noting.first_no = items[i].event_no;
        noting.today = day > noting.today ? day : noting.today;
    }
    for (size_t i = 0; i < n; i++)
        if (event_item_is_stored(&items[i]) && note_item(&noting, &items[i], err) != 0)
            return -1;
    return write_changes(&noting, err);
}

/* Rows as they are read, and the ranges of those that have a day of the time range. */
struct reading {
    struct rows ranges; /* struct number_range */
    int64_t first_day, last_day;
    bool open; /* the last range goes on */
};

static void open_range(struct reading *r, int64_t after)
{
    *(struct number_range *)rows_add(&r->ranges) = (struct number_range){ after, INT64_MAX };
    r->open = true;
}

static void close_range(struct reading *r, int64_t until)
{
    struct number_range *ranges = r->ranges.items;

    assert(r->open && r->ranges.n > 0);
    ranges[r->ranges.n - 1].until = until;
    r->open = false;
}

static bool take_row(void *ctx, const struct db_row *db_row)
{
    struct reading *r = ctx;
    struct days_row row;
    bool wanted;

    (void)read_row(&row, db_row);
    wanted = (row.lags & bits_of(row.day, r->first_day, r->last_day)) != 0;
    if (wanted && !r->open)
        open_range(r, row.first_no - 1);
    if (!wanted && r->open)
        close_range(r, row.first_no - 1);
    return true;
}

int event_days_ranges(struct db *db, const struct days_question *q, struct arena *arena,
                      struct number_ranges *ret, struct error *err)
{
    struct reading r = { .ranges = { .arena = arena, .size = sizeof(struct number_range) },
                         .first_day = day_of(q->range.since),
                         .last_day = day_of(q->range.until - 1) };

    open_range(&r, 0);
    if (db_exec(db, &select_rows, DB_ARGS(db_int(q->tenant_id)), take_row, &r, err) != 0)
        return -1;
    *ret = (struct number_ranges){ r.ranges.items, r.ranges.n };
    for (size_t i = 0; i < ret->n; i++)
        if (ret->items[i].until > q->last)
            ret->items[i].until = q->last;
    return 0;
}

/* --- check --- */

enum { SUSPECTS_MAX = 10000 };

struct suspect {
    int64_t tenant_id, event_no, timestamp;
};

struct checking {
    struct rows rows;     /* struct days_row of all tenants, in order */
    struct rows suspects; /* struct suspect */
};

static bool keep_row(void *ctx, const struct db_row *row)
{
    return read_row(rows_add(ctx), row);
}

/* The last row of the tenant that begins with the number or before; or NULL. */
static const struct days_row *covering(const struct checking *c, int64_t tenant_id,
                                       int64_t event_no)
{
    const struct days_row *rows = c->rows.items;
    size_t low = 0, high = c->rows.n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct days_row *row = &rows[middle];

        if (row->tenant_id < tenant_id ||
            (row->tenant_id == tenant_id && row->first_no <= event_no))
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 || rows[low - 1].tenant_id != tenant_id ? NULL : &rows[low - 1];
}

/* Before a tenant's first row an export reads all. */
static bool look_at_event(void *ctx, const struct db_row *row)
{
    struct checking *c = ctx;
    const struct suspect one = { db_get_int(row, 0), db_get_int(row, 1), db_get_int(row, 2) };
    const struct days_row *found = covering(c, one.tenant_id, one.event_no);

    if (found == NULL || days_row_has(found, one.timestamp))
        return true;
    *(struct suspect *)rows_add(&c->suspects) = one;
    return c->suspects.n < SUSPECTS_MAX;
}

/* The event is committed, and its row with it; the row as it was read before may be older. */
static int look_again(const struct checking *c, struct db *db, days_lost_fn *on_lost, void *ctx,
                      struct error *err)
{
    for (size_t i = 0; i < c->suspects.n; i++) {
        const struct suspect *one = &((const struct suspect *)c->suspects.items)[i];
        struct days_row row = { 0 };

        if (db_exec(db, &select_row, DB_ARGS(db_int(one->tenant_id), db_int(one->event_no)),
                    read_row, &row, err) != 0)
            return -1;
        if (row.tenant_id != 0 && !days_row_has(&row, one->timestamp) &&
            !on_lost(ctx, one->tenant_id, one->event_no))
            return 0;
    }
    return 0;
}

int event_days_check(struct db *db, days_lost_fn *on_lost, void *ctx, struct error *err)
{
    ARENA_SCOPED(arena);
    struct checking c = { .rows = { .arena = &arena, .size = sizeof(struct days_row) },
                          .suspects = { .arena = &arena, .size = sizeof(struct suspect) } };

    if (db_exec(db, &select_all_rows, DB_NO_ARGS, keep_row, &c.rows, err) != 0 ||
        db_exec(db, &select_all_events, DB_NO_ARGS, look_at_event, &c, err) != 0)
        return -1;
    return look_again(&c, db, on_lost, ctx, err);
}
