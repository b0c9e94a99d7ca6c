/* event_rows.c - writes and reads the rows of events. */
#include "features/events/event_rows.h"

#include <assert.h>

#include "base/uuid.h"
#include "db/row_sum.h"
#include "features/events/event_log.h"
#include "features/events/shapes.h"
#include "shape/rows.h"

enum { COLUMN_EVENT_ID = 3, COLUMN_UUID = 23 };

/* clang-format off */
#define SUMMED(event_id) "SELECT " EVENT_SUMMED(event_id) ", 1 FROM events e"
const struct row_sum event_sum = {
    .table = "events",
    .types = "iiitiiiitiittttttttttt",
    .key = (const char *const[]){ "tenant_id", "run_no", "agent_id", "event_id", NULL },
    .all = { .sqlite = SUMMED(EVENT_ID_SQLITE), .postgres = SUMMED(EVENT_ID_POSTGRES) },
};
static const struct db_query insert_event = {
    .sqlite = "INSERT INTO events (" EVENT_COLUMNS ")"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,"
           " $18, $19, $20, $21, $22, $23, $24, $25)",
};
/* CROSS JOIN, and the order of extents, which do not overlap: otherwise SQLite scans all events to
 * get them sorted. */
static const struct db_query select_events = {
    .sum = &event_sum,
    .sqlite = "SELECT " EVENT_READ_SQLITE " FROM run_extents x"
              " CROSS JOIN events e ON e.event_no >= x.first_event_no"
              " AND e.event_no < x.first_event_no + x.n"
              " JOIN agents a ON a.agent_id = e.agent_id"
              " WHERE x.run_no = $2 AND e.tenant_id = $1 ORDER BY x.first_event_no, e.event_no",
    .postgres = "SELECT " EVENT_READ_POSTGRES " FROM events e"
                " JOIN agents a ON a.tenant_id = e.tenant_id AND a.agent_id = e.agent_id"
                " WHERE e.tenant_id = $1 AND e.run_no = $2 ORDER BY e.event_no",
};
/* CROSS JOIN: the events first, in order. */
#define STEP_OF(columns, join)                                                                     \
    "SELECT " columns ", e.event_no, r.run_id FROM events e"                                       \
    " " join " runs r ON r.tenant_id = e.tenant_id AND r.run_no = e.run_no"                        \
    " " join " agents a ON a.tenant_id = e.tenant_id AND a.agent_id = e.agent_id"                  \
    " WHERE e.tenant_id = $1 AND e.event_no > $2 AND e.event_no <= $3"                             \
    " AND e.timestamp >= $4 AND e.timestamp < $5 ORDER BY e.event_no"
static const struct db_query select_step = {
    .sum = &event_sum,
    .sqlite = STEP_OF(EVENT_READ_SQLITE, "CROSS JOIN"),
    .postgres = STEP_OF(EVENT_READ_POSTGRES, "JOIN"),
};
/* Extents do not overlap: the first is the one that has event $3, or begins after it. */
#define RUN_STEP(columns, source)                                                                  \
    "SELECT " columns ", e.event_no, r.run_id FROM " source                                        \
    " JOIN runs r ON r.tenant_id = e.tenant_id AND r.run_no = e.run_no"                            \
    " JOIN agents a ON a.tenant_id = e.tenant_id AND a.agent_id = e.agent_id"                      \
    " WHERE e.tenant_id = $1 AND e.event_no > $3 AND e.timestamp >= $4 AND e.timestamp < $5"
static const struct db_query select_run_step = {
    .sum = &event_sum,
    .sqlite = RUN_STEP(EVENT_READ_SQLITE,
                       "run_extents x CROSS JOIN events e ON e.event_no >= x.first_event_no"
                       " AND e.event_no < x.first_event_no + x.n")
              " AND x.run_no = $2 AND x.first_event_no >= COALESCE((SELECT MAX(first_event_no)"
              " FROM run_extents WHERE run_no = $2 AND first_event_no <= $3), 0)"
              " ORDER BY x.first_event_no, e.event_no LIMIT $6",
    .postgres = RUN_STEP(EVENT_READ_POSTGRES, "events e")
                " AND e.run_no = $2 ORDER BY e.event_no LIMIT $6",
};
/* clang-format on */

/* An empty container is stored as NULL: it is the common case. */
static struct db_value json_value(struct str text)
{
    return text.len <= 2 ? db_null() : db_text(text);
}

void event_row_values(int64_t run_no, int64_t event_no, const struct event_item *item,
                      struct db_value *ret)
{
    const struct telemetry_event *e = item->event;
    uint8_t uuid[UUID_BYTES];
    const bool is_uuid = uuid_pack(e->event_id, uuid);
    struct db_value values[EVENT_COLUMNS_N] = {
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
        db_null(),          /* the checksum, of the values before it */
        is_uuid ? db_text(e->event_id) : db_null(),
        db_int(event_no),
    };

    assert(run_no > 0 && event_no > 0 && item->tenant_id > 0 && item->agent_id > 0);
    values[COLUMN_UUID - 1] = row_sum_of(&event_sum, values);
    if (is_uuid || e->event_id.len == 0)
        values[COLUMN_EVENT_ID] = db_null();
    memcpy(ret, values, sizeof(values));
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
    struct db_value args[EVENT_COLUMNS_N];
    uint8_t uuid[UUID_BYTES];

    event_row_values(run_no, event_no, item, args);
    if (args[COLUMN_UUID].type != DB_NULL && uuid_pack(args[COLUMN_UUID].bytes, uuid))
        args[COLUMN_UUID] = db_blob(str_from((const char *)uuid, sizeof(uuid)));
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

void event_row_read(struct arena *arena, const struct db_row *row, struct stored_event *ret)
{
    ret->received_at = db_get_int(row, 6);
    ret->event = (struct telemetry_event){
        .agent_name = read_text(arena, row, 23),
        .event_id = read_text(arena, row, COLUMN_EVENT_ID),
        .event = (int)db_get_int(row, EVENT_COLUMN_KIND),
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

    event_row_read(rows->arena, row, rows_add(rows));
    return true;
}

int run_events(struct db *db, int64_t tenant_id, int64_t run_no, struct arena *arena,
               struct list *ret, struct error *err)
{
    struct rows rows = { .arena = arena, .size = sizeof(struct stored_event) };
    const struct db_args args = DB_ARGS(db_int(tenant_id), db_int(run_no));

    if (db_exec(db, &select_events, args, add_event_row, &rows, err) != 0)
        return -1;
    *ret = (struct list){ rows.items, rows.n };
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

    event_row_read(NULL, row, &event);
    event.event.run_id = db_get_text(row, EVENT_COLUMN_RUN_ID);
    return reader->fn(reader->ctx, db_get_int(row, EVENT_COLUMN_NO), &event);
}

int events_step(struct db *db, const struct event_step *step, event_row_fn *fn, void *ctx,
                struct error *err)
{
    struct step_reader reader = { fn, ctx };
    const struct db_args args =
        DB_ARGS(db_int(step->tenant_id), db_int(step->after), db_int(step->until),
                db_int(step->range.since), db_int(step->range.until));

    return db_exec(db, &select_step, args, pass_event, &reader, err);
}

int run_events_step(struct db *db, const struct run_events_step *step, event_row_fn *fn, void *ctx,
                    struct error *err)
{
    struct step_reader reader = { fn, ctx };
    const struct db_args args =
        DB_ARGS(db_int(step->tenant_id), db_int(step->run_no), db_int(step->after),
                db_int(step->range.since), db_int(step->range.until), db_int(step->limit));

    return db_exec(db, &select_run_step, args, pass_event, &reader, err);
}
