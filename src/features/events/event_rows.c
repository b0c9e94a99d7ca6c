/* event_rows.c - writes and reads the rows of events. */
#include "features/events/event_rows.h"

#include <assert.h>
#include <stdlib.h>

#include "base/buf.h"
#include "db/db.h"
#include "db/row_sum.h"
#include "features/access/stored_bytes.h"
#include "features/events/event_log.h"
#include "features/events/shapes.h"
#include "shape/rows.h"

/* Those of event_sum and the checksum first. */
#define READ_COLUMNS                                                                               \
    "e.tenant_id, e.run_no, e.agent_id, e.event_id, e.event, e.timestamp, e.received_at, e.seq,"   \
    " e.agent_version, e.duration_ms, e.records_processed, e.error_type, e.error_message,"         \
    " e.workflow_run_id, e.message, e.level, e.category, e.source, e.metadata, e.metrics,"         \
    " e.links, e.output, e.checksum, a.agent_name"

enum { COLUMN_EVENT = 4, COLUMN_EVENT_NO = 24, COLUMN_RUN_ID = 25 };

/* clang-format off */
const struct row_sum event_sum = {
    .table = "events",
    .types = "iiitiiiitiittttttttttt",
    .key = (const char *const[]){ "tenant_id", "run_no", "agent_id", "event_id", NULL },
    .all = {
        .sqlite = "SELECT " EVENT_COLUMNS ", event_no > (SELECT number FROM change_numbers"
                  " WHERE topic = 'event_no_without_sum') FROM events",
        .postgres = "SELECT " EVENT_COLUMNS ", 0 FROM events",
    },
};
static const struct db_query insert_event = {
    .sqlite = "INSERT INTO events (event_no, " EVENT_COLUMNS ")"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,"
           " $18, $19, $20, $21, $22, $23, $24)",
};
/* CROSS JOIN, and the order of extents, which do not overlap: otherwise SQLite scans all events to
 * get them sorted. */
static const struct db_query select_events = {
    .sum = &event_sum,
    .sqlite = "SELECT " READ_COLUMNS " FROM run_extents x"
              " CROSS JOIN events e ON e.event_no >= x.first_event_no"
              " AND e.event_no < x.first_event_no + x.n"
              " JOIN agents a ON a.agent_id = e.agent_id"
              " WHERE x.run_no = $2 AND e.tenant_id = $1 ORDER BY x.first_event_no, e.event_no",
    .postgres = "SELECT " READ_COLUMNS " FROM events e"
                " JOIN agents a ON a.tenant_id = e.tenant_id AND a.agent_id = e.agent_id"
                " WHERE e.tenant_id = $1 AND e.run_no = $2 ORDER BY e.event_no",
};
/* The keys of the run's events are sorted, then the rows are read in that order. SQLite keeps the order
 * of the subquery, and the reader stops at the page's end. PostgreSQL would send the rest, so it sums
 * up their sizes first (without reading the texts). */
#define PAGE_KEYS(source)                                                                          \
    " FROM " source " WHERE k.tenant_id = $1 AND (k.seq, k.timestamp, k.event_no) > ($3, $4, $5)"  \
    " AND (CAST($7 AS BIGINT) = 0 OR k.event = 3)"
#define PAGE_ORDER " ORDER BY k.seq, k.timestamp, k.event_no LIMIT $6"
#define SIZE_OF(text) "COALESCE(octet_length(k." text "), 0)"
static const char page_postgres[] =
    "WITH page AS (SELECT k.event_no, k.seq, k.timestamp, 450 + octet_length(k.message) + "
    SIZE_OF("error_message") " + " SIZE_OF("metadata") " + " SIZE_OF("metrics") " + "
    SIZE_OF("links") " + " SIZE_OF("output") " AS bytes" PAGE_KEYS("events k")
    " AND k.run_no = $2" PAGE_ORDER "), sized AS (SELECT event_no, seq, timestamp,"
    " SUM(bytes) OVER (ORDER BY seq, timestamp, event_no) - bytes AS before FROM page)"
    " SELECT " READ_COLUMNS ", e.event_no FROM sized s"
    " JOIN events e ON e.tenant_id = $1 AND e.event_no = s.event_no"
    " JOIN agents a ON a.tenant_id = e.tenant_id AND a.agent_id = e.agent_id"
    " WHERE s.before <= $8 ORDER BY s.seq, s.timestamp, s.event_no";
static const struct db_query select_page = {
    .sqlite = "SELECT " READ_COLUMNS ", e.event_no FROM (SELECT k.event_no AS no"
              PAGE_KEYS("run_extents x CROSS JOIN events k ON k.event_no >= x.first_event_no"
                        " AND k.event_no < x.first_event_no + x.n")
              " AND x.run_no = $2" PAGE_ORDER ") s CROSS JOIN events e ON e.event_no = s.no"
              " CROSS JOIN agents a ON a.agent_id = e.agent_id WHERE CAST($8 AS BIGINT) > 0",
    .postgres = page_postgres,
};
/* In order of arrival, for a short run: without the detour by the keys. */
static const struct db_query select_short = {
    .sqlite = "SELECT " READ_COLUMNS ", e.event_no FROM run_extents x"
              " CROSS JOIN events e ON e.event_no >= x.first_event_no"
              " AND e.event_no < x.first_event_no + x.n"
              " JOIN agents a ON a.agent_id = e.agent_id"
              " WHERE x.run_no = $2 AND e.tenant_id = $1 ORDER BY x.first_event_no, e.event_no",
    .postgres = page_postgres,
};
/* CROSS JOIN: the events first, in order. */
#define STEP_OF(join)                                                                              \
    "SELECT " READ_COLUMNS ", e.event_no, r.run_id FROM events e"                                  \
    " " join " runs r ON r.tenant_id = e.tenant_id AND r.run_no = e.run_no"                        \
    " " join " agents a ON a.tenant_id = e.tenant_id AND a.agent_id = e.agent_id"                  \
    " WHERE e.tenant_id = $1 AND e.event_no > $2 AND e.event_no <= $3"                             \
    " AND e.timestamp >= $4 AND e.timestamp < $5 ORDER BY e.event_no"
static const struct db_query select_step = {
    .sum = &event_sum,
    .sqlite = STEP_OF("CROSS JOIN"),
    .postgres = STEP_OF("JOIN"),
};
/* Extents do not overlap: the first is the one that has event $3, or begins after it. */
#define RUN_STEP(source)                                                                           \
    "SELECT " READ_COLUMNS ", e.event_no, r.run_id FROM " source                                   \
    " JOIN runs r ON r.tenant_id = e.tenant_id AND r.run_no = e.run_no"                            \
    " JOIN agents a ON a.tenant_id = e.tenant_id AND a.agent_id = e.agent_id"                      \
    " WHERE e.tenant_id = $1 AND e.event_no > $3 AND e.timestamp >= $4 AND e.timestamp < $5"
static const struct db_query select_run_step = {
    .sum = &event_sum,
    .sqlite = RUN_STEP("run_extents x CROSS JOIN events e ON e.event_no >= x.first_event_no"
                       " AND e.event_no < x.first_event_no + x.n")
              " AND x.run_no = $2 AND x.first_event_no >= COALESCE((SELECT MAX(first_event_no)"
              " FROM run_extents WHERE run_no = $2 AND first_event_no <= $3), 0)"
              " ORDER BY x.first_event_no, e.event_no LIMIT $6",
    .postgres = RUN_STEP("events e") " AND e.run_no = $2 ORDER BY e.event_no LIMIT $6",
};
/* clang-format on */

/* An empty container is stored as NULL: it is the common case. */
static struct db_value json_value(struct str text)
{
    return text.len <= 2 ? db_null() : db_text(text);
}

void event_row_values(int64_t run_no, const struct event_item *item, struct db_value *ret)
{
    const struct telemetry_event *e = item->event;
    const struct db_value values[EVENT_COLUMNS_N] = {
        db_int(item->tenant_id),
        db_int(run_no),
        db_int(item->agent_id),
        db_text(e->event_id),
        db_int(e->event),
        db_int(e->timestamp),
        db_int(item->received_at),
        db_int(e->seq),
        db_text(e->agent_version),
        rows_opt_int_value(e->duration_ms),
        rows_opt_int_value(e->records_processed),
        db_text(e->error_type),
        db_text(e->error_message),
        db_text(e->workflow_run_id),
        db_text(e->message),
        db_text(e->level),
        db_text(e->category),
        db_text(e->source),
        json_value(e->metadata),
        json_value(e->metrics),
        json_value(e->links),
        db_text(e->output), /* {} and null differ here */
    };

    assert(run_no > 0 && item->tenant_id > 0 && item->agent_id > 0);
    memcpy(ret, values, sizeof(values));
    ret[EVENT_COLUMNS_N - 1] = row_sum_of(&event_sum, ret);
}

int64_t event_stored_bytes(const struct telemetry_event *e)
{
    const struct str texts[] = { e->event_id,      e->agent_version,   e->error_type,
                                 e->error_message, e->workflow_run_id, e->message,
                                 e->level,         e->category,        e->source,
                                 e->output };
    const struct str json[] = { e->metadata, e->metrics, e->links };
    size_t bytes = STORED_ROW_BYTES;

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        bytes += texts[i].len;
    for (size_t i = 0; i < COUNT_OF(json); i++)
        bytes += json_value(json[i]).type == DB_NULL ? 0 : json[i].len;
    return (int64_t)bytes;
}

int event_row_insert(struct db *db, int64_t event_no, int64_t run_no, const struct event_item *item,
                     struct error *err)
{
    struct db_value args[1 + EVENT_COLUMNS_N] = { db_int(event_no) };

    event_row_values(run_no, item, args + 1);
    return db_run(db, &insert_event, DB_ARGS_OF(args), err);
}

/* Copied into the arena; borrowed if that is NULL. */
static struct str read_text(struct arena *arena, const struct db_row *row, unsigned column)
{
    return arena == NULL ? db_get_text(row, column) : rows_text(arena, row, column);
}

static struct str read_json(struct arena *arena, const struct db_row *row, unsigned column,
                            struct str empty)
{
    return db_is_null(row, column) ? empty : read_text(arena, row, column);
}

static void read_event(struct arena *arena, const struct db_row *row, struct stored_event *ret)
{
    ret->received_at = db_get_int(row, 6);
    ret->event = (struct telemetry_event){
        .agent_name = read_text(arena, row, 23),
        .event_id = read_text(arena, row, 3),
        .event = (int)db_get_int(row, COLUMN_EVENT),
        .timestamp = db_get_int(row, 5),
        .seq = db_get_int(row, 7),
        .agent_version = read_text(arena, row, 8),
        .duration_ms = rows_opt_int(row, 9),
        .records_processed = rows_opt_int(row, 10),
        .error_type = read_text(arena, row, 11),
        .error_message = read_text(arena, row, 12),
        .workflow_run_id = read_text(arena, row, 13),
        .message = read_text(arena, row, 14),
        .level = read_text(arena, row, 15),
        .category = read_text(arena, row, 16),
        .source = read_text(arena, row, 17),
        .metadata = read_json(arena, row, 18, STR_LIT("{}")),
        .metrics = read_json(arena, row, 19, STR_LIT("{}")),
        .links = read_json(arena, row, 20, STR_LIT("[]")),
        .output = read_text(arena, row, 21),
    };
}

static bool add_event_row(void *ctx, const struct db_row *row)
{
    struct rows *rows = ctx;

    read_event(rows->arena, row, rows_add(rows));
    return true;
}

int store_run_events(struct db *db, int64_t tenant_id, int64_t run_no, struct arena *arena,
                     struct list *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct stored_event) };
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_int(run_no));

    if (db_exec(db, &select_events, args, add_event_row, &rows, err) != 0)
        return -1;
    *ret = (struct list){ rows.items, rows.n };
    return 0;
}

/* An event and its number. */
struct placed_event {
    struct stored_event event;
    int64_t event_no;
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

/* Bytes of an event's JSON, at least and about: names, numbers and times are EVENT_BYTES. */
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

struct page_reader {
    const struct event_page *page;
    struct rows rows; /* struct placed_event */
    struct event_page_rows *ret;
};

static bool add_page_row(void *ctx, const struct db_row *row)
{
    struct page_reader *r = ctx;
    const bool damaged = !row_sum_check(&event_sum, row, 0);
    struct placed_event *placed;
    size_t bytes, n;

    if (!damaged && r->page->steps_only && db_get_int(row, COLUMN_EVENT) != EVENT_IN_PROGRESS)
        return true;
    placed = rows_add(&r->rows);
    read_event(r->rows.arena, row, &placed->event);
    placed->event_no = db_get_int(row, COLUMN_EVENT_NO);
    bytes = size_of(&placed->event.event);
    assert(r->page->is_short || r->rows.n < 2 || by_place(placed - 1, placed) < 0);
    n = r->rows.n + (size_t)r->ret->damaged;
    r->ret->more = n > 1 && (n > (size_t)r->page->limit || r->ret->bytes + bytes > r->page->bytes);
    if (damaged || r->ret->more)
        r->rows.n--;
    if (r->ret->more)
        return false;
    /* A damaged event has its place too, so that a page of nothing else has an end. */
    r->ret->end = place_of(placed);
    r->ret->damaged += damaged;
    r->ret->bytes += bytes;
    return true;
}

static int read_page(struct db *db, const struct event_page *page, struct page_reader *reader,
                     struct error *err)
{
    const struct event_place *after = &page->after;
    const struct db_args args =
        DB_ARGS(db_int(page->tenant_id), db_int(page->run_no), db_int(after->seq),
                db_int(after->timestamp), db_int(after->event_no), db_int(page->limit + 1),
                db_int(page->steps_only), db_int((int64_t)page->bytes));

    *reader->ret = (struct event_page_rows){ 0 };
    reader->page = page;
    reader->rows.n = 0;
    return db_exec(db, page->is_short ? &select_short : &select_page, args, add_page_row, reader,
                   err);
}

int store_run_events_page(struct db *db, const struct event_page *page, struct arena *arena,
                          struct event_page_rows *ret, struct error *err)
{
    struct page_reader reader = { .rows = { .arena = arena, .size = sizeof(struct placed_event) },
                                  .ret = ret };
    struct event_page again = *page;
    struct placed_event *placed;
    struct stored_event *events;

    again.is_short = false;
    if (read_page(db, page, &reader, err) != 0)
        return -1;
    /* Few events, but large ones: which are first is not known from the order of arrival. */
    if (page->is_short && ret->more && read_page(db, &again, &reader, err) != 0)
        return -1;
    placed = reader.rows.items;
    if (page->is_short && reader.rows.n > 0)
        qsort(placed, reader.rows.n, sizeof(*placed), by_place);
    events = ARENA_ARRAY(arena, struct stored_event, reader.rows.n + 1);
    for (size_t i = 0; i < reader.rows.n; i++)
        events[i] = placed[i].event;
    ret->list = (struct list){ events, reader.rows.n };
    return 0;
}

struct step_reader {
    event_row_fn *fn;
    void *ctx;
};

static bool pass_event(void *ctx, const struct db_row *row)
{
    const struct step_reader *reader = ctx;
    struct stored_event event = { 0 };

    read_event(NULL, row, &event);
    event.event.run_id = db_get_text(row, COLUMN_RUN_ID);
    return reader->fn(reader->ctx, db_get_int(row, COLUMN_EVENT_NO), &event);
}

int store_events_step(struct db *db, const struct store_step *step, event_row_fn *fn, void *ctx,
                      struct error *err)
{
    struct step_reader reader = { fn, ctx };
    const struct db_args args =
        DB_ARGS(db_int(step->tenant_id), db_int(step->after), db_int(step->until),
                db_int(step->range.since), db_int(step->range.until));

    return db_exec(db, &select_step, args, pass_event, &reader, err);
}

int store_run_events_step(struct db *db, const struct store_run_step *step, event_row_fn *fn,
                          void *ctx, struct error *err)
{
    struct step_reader reader = { fn, ctx };
    const struct db_args args =
        DB_ARGS(db_int(step->tenant_id), db_int(step->run_no), db_int(step->after),
                db_int(step->range.since), db_int(step->range.until), db_int(step->limit));

    return db_exec(db, &select_run_step, args, pass_event, &reader, err);
}
