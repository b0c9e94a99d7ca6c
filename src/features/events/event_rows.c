/* event_rows.c - writes and reads the rows of events. */
#include "features/events/event_rows.h"

#include <assert.h>

#include "base/uuid.h"
#include "db/row_sum.h"
#include "features/access/stored_bytes.h"
#include "features/events/event_log.h"
#include "features/events/kinds/event_kinds.h"
#include "features/events/kinds/kinds_postgres.h"
#include "features/events/shapes.h"
#include "shape/rows.h"

/* Of the columns that packed rows have other values in. */
enum {
    COLUMN_EVENT_ID = 3,
    COLUMN_RECEIVED = 6,
    COLUMN_VERSION = 8,
    COLUMN_LEVEL = 15,
    COLUMN_CATEGORY = 16,
    COLUMN_SOURCE = 17,
    COLUMN_METADATA = 18,
    COLUMN_METRICS = 19,
};

/* clang-format off */
const struct row_sum event_sum = {
    .table = "events",
    .types = "iiitiiiitiittttttttttt",
    .key = (const char *const[]){ "tenant_id", "run_no", "agent_id", "event_id", NULL },
    .all = {
        .sqlite = "SELECT " EVENT_SUMMED_SQLITE ", e.event_no > (SELECT number FROM change_numbers"
                  " WHERE topic = 'event_no_without_sum') FROM events e" EVENT_KIND_OF_SQLITE("e"),
        .postgres = "SELECT " EVENT_SUMMED_POSTGRES ", 0 FROM events e" EVENT_KIND_OF_POSTGRES("e"),
    },
};
static const struct db_query insert_event = {
    .sqlite = "INSERT INTO events (event_no, " EVENT_COLUMNS ", kind_no, packed_id)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,"
           " $18, $19, $20, $21, $22, $23, $24, $25, $26)",
};
/* CROSS JOIN, and the order of extents, which do not overlap: otherwise SQLite scans all events to
 * get them sorted. */
static const struct db_query select_events = {
    .sum = &event_sum,
    .sqlite = "SELECT " EVENT_READ_SQLITE " FROM run_extents x"
              " CROSS JOIN events e ON e.event_no >= x.first_event_no"
              " AND e.event_no < x.first_event_no + x.n"
              " JOIN agents a ON a.agent_id = e.agent_id" EVENT_KIND_OF_SQLITE("e")
              " WHERE x.run_no = $2 AND e.tenant_id = $1 ORDER BY x.first_event_no, e.event_no",
    .postgres = "SELECT " EVENT_READ_POSTGRES " FROM events e"
                " JOIN agents a ON a.tenant_id = e.tenant_id AND a.agent_id = e.agent_id"
                EVENT_KIND_OF_POSTGRES("e")
                " WHERE e.tenant_id = $1 AND e.run_no = $2 ORDER BY e.event_no",
};
/* CROSS JOIN: the events first, in order. */
#define STEP_OF(columns, join, kind)                                                               \
    "SELECT " columns ", e.event_no, r.run_id FROM events e"                                       \
    " " join " runs r ON r.tenant_id = e.tenant_id AND r.run_no = e.run_no"                        \
    " " join " agents a ON a.tenant_id = e.tenant_id AND a.agent_id = e.agent_id" kind             \
    " WHERE e.tenant_id = $1 AND e.event_no > $2 AND e.event_no <= $3"                             \
    " AND e.timestamp >= $4 AND e.timestamp < $5 ORDER BY e.event_no"
static const struct db_query select_step = {
    .sum = &event_sum,
    .sqlite = STEP_OF(EVENT_READ_SQLITE, "CROSS JOIN", EVENT_KIND_OF_SQLITE("e")),
    .postgres = STEP_OF(EVENT_READ_POSTGRES, "JOIN", EVENT_KIND_OF_POSTGRES("e")),
};
/* Extents do not overlap: the first is the one that has event $3, or begins after it. */
#define RUN_STEP(columns, source, kind)                                                            \
    "SELECT " columns ", e.event_no, r.run_id FROM " source                                        \
    " JOIN runs r ON r.tenant_id = e.tenant_id AND r.run_no = e.run_no"                            \
    " JOIN agents a ON a.tenant_id = e.tenant_id AND a.agent_id = e.agent_id" kind                 \
    " WHERE e.tenant_id = $1 AND e.event_no > $3 AND e.timestamp >= $4 AND e.timestamp < $5"
static const struct db_query select_run_step = {
    .sum = &event_sum,
    .sqlite = RUN_STEP(EVENT_READ_SQLITE,
                       "run_extents x CROSS JOIN events e ON e.event_no >= x.first_event_no"
                       " AND e.event_no < x.first_event_no + x.n", EVENT_KIND_OF_SQLITE("e"))
              " AND x.run_no = $2 AND x.first_event_no >= COALESCE((SELECT MAX(first_event_no)"
              " FROM run_extents WHERE run_no = $2 AND first_event_no <= $3), 0)"
              " ORDER BY x.first_event_no, e.event_no LIMIT $6",
    .postgres = RUN_STEP(EVENT_READ_POSTGRES, "events e", EVENT_KIND_OF_POSTGRES("e"))
                " AND e.run_no = $2 ORDER BY e.event_no LIMIT $6",
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

/* Replaces values of event_row_values(), whose sum stays that of what is read again. */
static void pack(const struct event_item *item, int64_t kind_no, struct db_value *values)
{
    static const unsigned of_kind[] = { COLUMN_VERSION, COLUMN_LEVEL, COLUMN_CATEGORY,
                                        COLUMN_SOURCE };

    values[COLUMN_RECEIVED] = db_int(item->received_at - item->event->timestamp);
    for (size_t i = 0; kind_no != 0 && i < COUNT_OF(of_kind); i++)
        values[of_kind[i]] = db_text(STR_LIT(""));
}

int event_row_insert(struct db *db, struct event_kinds *kinds, int64_t event_no, int64_t run_no,
                     const struct event_item *item, struct error *err)
{
    struct db_value args[1 + EVENT_COLUMNS_N + 2] = { db_int(event_no) };
    struct db_value *values = args + 1;
    uint8_t id[UUID_BYTES];
    int64_t kind_no;

    if (event_kinds_find(kinds, db, item, &kind_no, err) != 0)
        return -1;
    event_row_values(run_no, item, values);
    pack(item, kind_no, values);
    values[EVENT_COLUMNS_N] = db_int(kind_no);
    if (uuid_pack(item->event->event_id, id)) {
        values[COLUMN_EVENT_ID] = db_text(STR_LIT(""));
        values[EVENT_COLUMNS_N + 1] = db_blob(str_from((const char *)id, sizeof(id)));
    } else {
        values[EVENT_COLUMNS_N + 1] = db_null();
    }
    return db_run(db, &insert_event, DB_ARGS_OF(args), err);
}

static void pack_kind(const struct kind_found *kind, struct db_value *values)
{
    static const unsigned of_kind[] = { EVENT_COLUMN_KIND, COLUMN_VERSION, COLUMN_LEVEL,
                                        COLUMN_CATEGORY, COLUMN_SOURCE };
    static const unsigned with_form[KIND_FORMS] = { COLUMN_METADATA, COLUMN_METRICS };

    for (size_t i = 0; i < COUNT_OF(of_kind); i++)
        values[of_kind[i]] = db_null();
    for (size_t i = 0; i < KIND_FORMS; i++)
        if (!str_is_null(kind->values[i]))
            values[with_form[i]] = db_text(kind->values[i]);
}

void event_row_pack(const struct event_item *item, bool packs, const struct kind_found *kind,
                    struct db_value *values)
{
    const struct str id = item->event->event_id;
    const int64_t after = item->received_at - item->event->timestamp;
    const bool fits = packs && after >= INT32_MIN && after <= INT32_MAX;
    uint8_t bytes[UUID_BYTES];
    const bool is_key = uuid_pack(id, bytes);

    values[EVENT_COLUMNS_N] = packs && kind->has ? db_int(kind->kind_no) : db_null();
    values[EVENT_COLUMNS_N + 1] = fits ? db_int(after) : db_null();
    values[EVENT_COLUMNS_N + 2] = is_key ? db_text(id) : db_null();
    if (packs && kind->has)
        pack_kind(kind, values);
    if (fits)
        values[COLUMN_RECEIVED] = db_null();
    if (packs && (is_key || id.len == 0))
        values[COLUMN_EVENT_ID] = db_null();
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
    ret->received_at = db_get_int(row, COLUMN_RECEIVED);
    ret->event = (struct telemetry_event){
        .agent_name = read_text(arena, row, 23),
        .event_id = read_text(arena, row, COLUMN_EVENT_ID),
        .event = (int)db_get_int(row, EVENT_COLUMN_KIND),
        .timestamp = db_get_int(row, 5),
        .seq = db_get_int(row, 7),
        .agent_version = read_text(arena, row, COLUMN_VERSION),
        .duration_ms = rows_opt_int(row, 9),
        .records_processed = rows_opt_int(row, 10),
        .error_type = read_text(arena, row, 11),
        .error_message = read_text(arena, row, 12),
        .workflow_run_id = read_text(arena, row, 13),
        .message = read_text(arena, row, 14),
        .level = read_text(arena, row, COLUMN_LEVEL),
        .category = read_text(arena, row, COLUMN_CATEGORY),
        .source = read_text(arena, row, COLUMN_SOURCE),
        .metadata = read_json(arena, row, COLUMN_METADATA, STR_LIT("{}")),
        .metrics = read_json(arena, row, COLUMN_METRICS, STR_LIT("{}")),
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
