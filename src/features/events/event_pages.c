/* event_pages.c - SQL of pages of a run's narrative. */
#include "features/events/event_pages.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "db/lists.h"
#include "db/row_sum.h"
#include "features/events/event_rows.h"
#include "features/events/run_list.h"
#include "features/events/shapes.h"
#include "shape/rows.h"

enum { SCAN_MAX = 10000 }; /* events whose texts a page with a filter looks at */

/* clang-format off */
/* The keys of the run's events are sorted, then the rows are read in that order. SQLite keeps the order
 * of the subquery, and the reader stops at the page's end. PostgreSQL would send the rest, so it sums
 * up their sizes first (without reading the texts). */
#define OF_EXTENTS                                                                                 \
    " FROM run_extents x CROSS JOIN events k ON k.event_no >= x.first_event_no"                    \
    " AND k.event_no < x.first_event_no + x.n"                                                      \
    " WHERE x.run_no = $2 AND k.tenant_id = $1"
#define OF_EVENTS OF_EVENTS_OF("$2")
#define OF_EVENTS_OF(run)                                                                          \
    " FROM events k WHERE k.tenant_id = $1 AND k.run_no = " run
#define BEYOND(than) " AND (k.seq, k.timestamp, k.event_no) " than " ($3, $4, $5)"
#define SORTED(of, way) " ORDER BY " of "seq" way ", " of "timestamp" way ", " of "event_no" way

/* The events of a page up to a place, $8 to $10: $11 is a pattern, $12 a level (null: any), $13 a
 * category. Only the beginning of a text is searched, as in the list of runs. */
#define HAS_PART(text) "LOWER(SUBSTR(" text ", 1, 1000)) LIKE LOWER(CAST($11 AS TEXT)) ESCAPE '!'"
#define MATCHING(until)                                                                            \
    " AND (k.seq, k.timestamp, k.event_no) " until " ($8, $9, $10)"                         \
    " AND (CAST($13 AS TEXT) IS NULL OR k.category = $13)"                                         \
    " AND (CAST($12 AS BIGINT) IS NULL OR " EVENT_IS_ERROR                                         \
    " OR (CAST($12 AS BIGINT) = 0 AND " EVENT_IS_WARNING "))"                                      \
    " AND (CAST($11 AS TEXT) IS NULL OR " HAS_PART("k.message") " OR " HAS_PART("k.error_type")    \
    " OR " HAS_PART("k.error_message") " OR " HAS_PART("k.category") " OR " HAS_PART("k.source") ")"

#define SIZE_OF(text) "COALESCE(octet_length(k." text "), 0)"
#define KEY_POSTGRES                                                                               \
    "k.event_no, k.seq, k.timestamp, 450 + octet_length(k.message) + " SIZE_OF("error_message")    \
    " + " SIZE_OF("metadata") " + " SIZE_OF("metrics") " + " SIZE_OF("links") " + "                \
    SIZE_OF("output") " + octet_length(k.agent_version) + octet_length(k.level)"                   \
    " + octet_length(k.category) + octet_length(k.source) AS bytes"
#define PAGE_SQLITE(than, which, way)                                                              \
    "SELECT " EVENT_READ_SQLITE ", e.event_no FROM (SELECT k.event_no AS no"                       \
    OF_EXTENTS BEYOND(than) which SORTED("k.", way) " LIMIT $6) s"                                 \
    " CROSS JOIN events e ON e.event_no = s.no"                                                    \
    " CROSS JOIN agents a ON a.agent_id = e.agent_id"                                                      \
    " WHERE CAST($7 AS BIGINT) > 0"
#define PAGE_POSTGRES(than, which, way)                                                            \
    "WITH page AS (SELECT " KEY_POSTGRES                                                           \
    OF_EVENTS BEYOND(than) which SORTED("k.", way) " LIMIT $6), sized AS (SELECT event_no, seq,"   \
    " timestamp, SUM(bytes) OVER (" SORTED("", way) ") - bytes AS before FROM page)"               \
    " SELECT " EVENT_READ_POSTGRES ", e.event_no FROM sized s"                                     \
    " JOIN events e ON e.tenant_id = $1 AND e.event_no = s.event_no"                               \
    " JOIN agents a ON a.tenant_id = e.tenant_id AND a.agent_id = e.agent_id"                      \
    " WHERE s.before <= $7" SORTED("s.", way)

static const struct db_query select_page = {
    .sqlite = PAGE_SQLITE(">", "", ""),
    .postgres = PAGE_POSTGRES(">", "", ""),
};
static const struct db_query select_page_from_end = {
    .sqlite = PAGE_SQLITE("<", "", " DESC"),
    .postgres = PAGE_POSTGRES("<", "", " DESC"),
};
static const struct db_query select_matching = {
    .sqlite = PAGE_SQLITE(">", MATCHING("<="), ""),
    .postgres = PAGE_POSTGRES(">", MATCHING("<="), ""),
};
static const struct db_query select_matching_from_end = {
    .sqlite = PAGE_SQLITE("<", MATCHING(">="), " DESC"),
    .postgres = PAGE_POSTGRES("<", MATCHING(">="), " DESC"),
};
/* In order of arrival, for a short run: without the detour by the keys. */
static const struct db_query select_short = {
    .sqlite = "SELECT " EVENT_READ_SQLITE ", e.event_no FROM run_extents x"
              " CROSS JOIN events e ON e.event_no >= x.first_event_no"
              " AND e.event_no < x.first_event_no + x.n"
              " JOIN agents a ON a.agent_id = e.agent_id"
              " WHERE x.run_no = $2 AND e.tenant_id = $1 ORDER BY x.first_event_no, e.event_no",
    .postgres = PAGE_POSTGRES(">", "", ""),
};
/* Steps of several runs, $2 (db_id_list()), as a page has those of one: $3 is the most of a run, which the
 * other runs together do not exceed, $4 the bytes of all. LATERAL looks up one run, and one event, after the
 * other, whatever is known about the tables. */
static const struct db_query select_steps = {
    .sqlite = "SELECT " EVENT_READ_SQLITE ", e.event_no, s.place FROM (SELECT j.key AS place, k.event_no AS no"
              " FROM json_each($2) j CROSS JOIN run_extents x ON x.run_no = j.value"
              " CROSS JOIN events k ON k.event_no >= x.first_event_no AND k.event_no < x.first_event_no + x.n"
              " WHERE k.tenant_id = $1 AND k.event = 3"
              " ORDER BY j.key, k.seq, k.timestamp, k.event_no LIMIT $3) s"
              " CROSS JOIN events e ON e.event_no = s.no CROSS JOIN agents a ON a.agent_id = e.agent_id"
              " WHERE CAST($4 AS BIGINT) > 0",
    .postgres = "WITH page AS (SELECT k.*, x.place FROM unnest($2::bigint[]) WITH ORDINALITY AS x(no, place)"
                " CROSS JOIN LATERAL (SELECT " KEY_POSTGRES OF_EVENTS_OF("x.no")
                " AND k.event = 3" SORTED("k.", "") " LIMIT $3) k),"
                " sized AS (SELECT event_no, seq, timestamp, place, SUM(bytes) OVER"
                " (ORDER BY place, seq, timestamp, event_no) - bytes AS before FROM page)"
                " SELECT v.*, s.place - 1 FROM sized s CROSS JOIN LATERAL (SELECT "
                EVENT_READ_POSTGRES ", e.event_no FROM events e"
                " JOIN agents a ON a.tenant_id = e.tenant_id AND a.agent_id = e.agent_id"
                " WHERE e.tenant_id = $1 AND e.event_no = s.event_no OFFSET 0) v"
                " WHERE s.before <= $4 ORDER BY s.place, s.seq, s.timestamp, s.event_no",
};
enum { COLUMN_PLACE = EVENT_COLUMN_NO + 1 };
/* The last event that a page with a filter may look at. */
#define FLOOR(source, than, way)                                                                   \
    "SELECT k.seq, k.timestamp, k.event_no" source BEYOND(than) SORTED("k.", way)                  \
    " LIMIT 1 OFFSET $6"
static const struct db_query select_floor = {
    .sqlite = FLOOR(OF_EXTENTS, ">", ""),
    .postgres = FLOOR(OF_EVENTS, ">", ""),
};
static const struct db_query select_floor_from_end = {
    .sqlite = FLOOR(OF_EXTENTS, "<", " DESC"),
    .postgres = FLOOR(OF_EVENTS, "<", " DESC"),
};
/* clang-format on */

struct placed_event {
    struct stored_event event;
    int64_t event_no;
    size_t bytes; /* of its JSON, at least and about */
    size_t run;   /* place in a page of runs */
    bool damaged;
};

static int by_place(const void *a, const void *b)
{
    const struct placed_event *x = a, *y = b;
    const struct telemetry_event *e = &x->event.event, *f = &y->event.event;

    if (e->seq != f->seq)
        return e->seq < f->seq ? -1 : 1;
    if (e->timestamp != f->timestamp)
        return e->timestamp < f->timestamp ? -1 : 1;
    return x->event_no < y->event_no ? -1 : x->event_no > y->event_no;
}

static struct event_place place_of(const struct placed_event *placed)
{
    return (struct event_place){ placed->event.event.seq, placed->event.event.timestamp,
                                 placed->event_no };
}

/* Names, numbers and times are EVENT_BYTES. */
static size_t size_of(const struct telemetry_event *e)
{
    enum { EVENT_BYTES = 450, RUN_ID_BYTES = 36 };
    const struct str texts[] = { e->event_id,       e->agent_name,    e->agent_version,
                                 e->error_type,     e->error_message, e->message,
                                 e->level,          e->category,      e->source,
                                 e->workflow_run_id };
    size_t n = EVENT_BYTES + RUN_ID_BYTES + e->metadata.len + e->metrics.len + e->links.len +
               e->output.len;

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        n += buf_json_len(texts[i]);
    return n;
}

bool event_page_is_filtered(const struct event_page *page)
{
    return !str_is_null(page->part) || page->level.has || !str_is_null(page->category);
}

struct page_reader {
    const struct event_page *page;
    struct rows rows; /* struct placed_event */
    struct event_page_rows *ret;
    struct event_place floor; /* the last event to look at */
    bool cut;                 /* there may be events beyond the floor */
};

static inline bool is_in_order(const struct page_reader *r, const struct placed_event *placed)
{
    if (r->page->is_short || r->rows.n < 2)
        return true;
    return r->page->from_end ? by_place(placed, placed - 1) < 0 : by_place(placed - 1, placed) < 0;
}

static struct placed_event *read_event(const struct db_row *row, struct rows *rows)
{
    struct placed_event *placed = rows_add(rows);

    placed->damaged = !row_sum_check(&event_sum, row, 0);
    event_row_read(rows->arena, row, &placed->event);
    placed->event_no = db_get_int(row, EVENT_COLUMN_NO);
    placed->bytes = size_of(&placed->event.event);
    return placed;
}

/* Counts an event after the `n` of a page of `limit` and `bytes`. False: it is the first of the
 * next page. */
static bool count_event(int64_t limit, size_t bytes, const struct placed_event *placed, size_t n,
                        struct event_page_rows *ret)
{
    n += (size_t)ret->damaged;
    ret->more = n > 0 && (n >= (size_t)limit || ret->bytes + placed->bytes > bytes);
    if (ret->more)
        return false;
    /* A damaged event counts too, so that a page of nothing else has an end. */
    ret->end = place_of(placed);
    ret->damaged += placed->damaged;
    ret->bytes += placed->bytes;
    return true;
}

static bool add_page_row(void *ctx, const struct db_row *row)
{
    struct page_reader *r = ctx;
    const struct placed_event *placed = read_event(row, &r->rows);

    assert(is_in_order(r, placed));
    if (!count_event(r->page->limit, r->page->bytes, placed, r->rows.n - 1, r->ret) ||
        placed->damaged)
        r->rows.n--;
    return !r->ret->more;
}

static bool read_floor(void *ctx, const struct db_row *row)
{
    struct page_reader *r = ctx;

    r->floor = (struct event_place){ db_get_int(row, 0), db_get_int(row, 1), db_get_int(row, 2) };
    r->cut = true;
    return false;
}

static int find_floor(struct db *db, const struct event_page *page, struct page_reader *reader,
                      struct error *err)
{
    const struct event_place *after = &page->after;
    const struct db_args args =
        DB_ARGS(db_int(page->tenant_id), db_int(page->run_no), db_int(after->seq),
                db_int(after->timestamp), db_int(after->event_no), db_int(SCAN_MAX - 1));

    reader->cut = false;
    reader->floor = page->from_end ? EVENT_PLACE_FIRST : EVENT_PLACE_LAST;
    return db_exec(db, page->from_end ? &select_floor_from_end : &select_floor, args, read_floor,
                   reader, err);
}

static int read_matching(struct db *db, const struct event_page *page, struct page_reader *reader,
                         struct error *err)
{
    const struct event_place *after = &page->after, *floor = &reader->floor;

    if (find_floor(db, page, reader, err) != 0)
        return -1;
    if (db_exec(db, page->from_end ? &select_matching_from_end : &select_matching,
                DB_ARGS(db_int(page->tenant_id), db_int(page->run_no), db_int(after->seq),
                        db_int(after->timestamp), db_int(after->event_no), db_int(page->limit + 1),
                        db_int((int64_t)page->bytes), db_int(floor->seq), db_int(floor->timestamp),
                        db_int(floor->event_no),
                        db_text(run_list_pattern(page->part, reader->rows.arena)),
                        rows_opt_int_value(page->level), db_text(page->category)),
                add_page_row, reader, err) != 0)
        return -1;
    if (!reader->ret->more && reader->cut) {
        reader->ret->more = true;
        reader->ret->end = reader->floor;
    }
    return 0;
}

static int read_page(struct db *db, const struct event_page *page, struct page_reader *reader,
                     struct error *err)
{
    const struct event_place *after = &page->after;
    const struct db_query *query = page->is_short   ? &select_short
                                   : page->from_end ? &select_page_from_end
                                                    : &select_page;
    const struct db_args args = DB_ARGS(
        db_int(page->tenant_id), db_int(page->run_no), db_int(after->seq), db_int(after->timestamp),
        db_int(after->event_no), db_int(page->limit + 1), db_int((int64_t)page->bytes));

    *reader->ret = (struct event_page_rows){ 0 };
    reader->page = page;
    reader->rows.n = 0;
    if (event_page_is_filtered(page))
        return read_matching(db, page, reader, err);
    return db_exec(db, query, args, add_page_row, reader, err);
}

/* The events alone, in narrative order. */
static struct list events_of(const struct page_reader *reader, struct arena *arena)
{
    const size_t n = reader->rows.n;
    const struct placed_event *placed = reader->rows.items;
    struct stored_event *events = ARENA_ARRAY(arena, struct stored_event, n + 1);

    for (size_t i = 0; i < n; i++)
        events[i] = placed[reader->page->from_end ? n - 1 - i : i].event;
    return (struct list){ events, n };
}

int event_page_read(struct db *db, const struct event_page *page, struct arena *arena,
                    struct event_page_rows *ret, struct error *err)
{
    struct page_reader reader = { .rows = { .arena = arena, .size = sizeof(struct placed_event) },
                                  .ret = ret };
    struct event_page again = *page;

    assert(!page->is_short || (!page->from_end && !event_page_is_filtered(page)));
    again.is_short = false;
    if (read_page(db, page, &reader, err) != 0)
        return -1;
    /* Few events, but large ones: which are first is not known from the order of arrival. */
    if (page->is_short && ret->more && read_page(db, &again, &reader, err) != 0)
        return -1;
    if (page->is_short && reader.rows.n > 0)
        qsort(reader.rows.items, reader.rows.n, sizeof(struct placed_event), by_place);
    ret->list = events_of(&reader, arena);
    return 0;
}

struct steps_reader {
    struct rows rows; /* struct placed_event */
    size_t first;     /* place of the first run that is read */
    size_t bytes, bytes_max;
    bool cut; /* the last row is the first that exceeds bytes_max */
};

static bool add_step(void *ctx, const struct db_row *row)
{
    struct steps_reader *r = ctx;
    struct placed_event *placed = read_event(row, &r->rows);

    placed->run = r->first + (size_t)db_get_int(row, COLUMN_PLACE);
    assert(r->rows.n == 1 || placed[-1].run < placed->run ||
           (placed[-1].run == placed->run && by_place(placed - 1, placed) < 0));
    r->bytes += placed->bytes;
    r->cut = r->rows.n > 1 && r->bytes > r->bytes_max;
    return !r->cut;
}

/* Reads the steps of the run, and of those after it that are likely to fit too. Reads as many
 * events as the pages of these runs may hold, plus one if not all of them fit. */
static int read_ahead(struct db *db, struct run_steps *steps, size_t run, size_t bytes,
                      struct error *err)
{
    struct steps_reader reader = { .rows = { .arena = steps->arena,
                                             .size = sizeof(struct placed_event) },
                                   .first = run,
                                   .bytes_max = bytes };
    int64_t *run_nos = ARENA_ARRAY(steps->arena, int64_t, steps->n_runs - run);
    int64_t events = 0;
    size_t n = 0;

    do {
        run_nos[n] = steps->runs[run + n].run_no;
        events += steps->runs[run + n].run.state.event_count;
        n++;
    } while (run + n < steps->n_runs &&
             events + steps->runs[run + n].run.state.event_count <= steps->limit);
    if (db_exec(db, &select_steps,
                DB_ARGS(db_int(steps->tenant_id), db_id_list(db, run_nos, n, steps->arena),
                        db_int(steps->limit + 1), db_int((int64_t)bytes)),
                add_step, &reader, err) != 0)
        return -1;
    steps->ahead = reader.rows.items;
    steps->n_ahead = reader.rows.n;
    steps->at = 0;
    steps->end = reader.cut ? steps->ahead[steps->n_ahead - 1].run + 1 : run + n;
    return 0;
}

int run_steps_read(struct db *db, struct run_steps *steps, size_t run, size_t bytes,
                   struct event_page_rows *ret, struct error *err)
{
    struct stored_event *events;
    size_t begin, n = 0;

    assert(run < steps->n_runs);
    if (run >= steps->end && read_ahead(db, steps, run, bytes, err) != 0)
        return -1;
    begin = steps->at;
    while (steps->at < steps->n_ahead && steps->ahead[steps->at].run == run)
        steps->at++;
    events = ARENA_ARRAY(steps->arena, struct stored_event, steps->at - begin + 1);
    *ret = (struct event_page_rows){ 0 };
    for (size_t i = begin; i < steps->at; i++) {
        const struct placed_event *placed = &steps->ahead[i];

        if (!count_event(steps->limit, bytes, placed, n, ret))
            break;
        if (!placed->damaged)
            events[n++] = placed->event;
    }
    ret->list = (struct list){ events, n };
    return 0;
}
