/* event_rows.h - events as rows. */
#pragma once
#include "base/err.h"
#include "features/events/kinds/json_form.h"
#include "shape/shape.h"
#include "shape/timerange.h"

struct db;
struct row_sum;
struct event_kinds;
struct kind_found;
struct event_item;
struct telemetry_event;
struct stored_event;

extern const struct row_sum event_sum; /* db/row_sum.h */

/* The columns of an event without event_no, in the order of event_row_values(): first those of
 * event_sum. */
#define EVENT_COLUMNS "tenant_id, " EVENT_COLUMNS_OF_TENANT
#define EVENT_COLUMNS_OF_TENANT                                                                    \
    "run_no, agent_id, event_id, event, timestamp, received_at, seq, agent_version,"               \
    " duration_ms, records_processed, error_type, error_message, workflow_run_id, message, level," \
    " category, source, metadata, metrics, links, output, checksum"

enum { EVENT_COLUMNS_N = 23 };

/* Those of PostgreSQL's rows: also the three of event_row_pack(), and the event's number. */
enum { EVENT_ROW_N = EVENT_COLUMNS_N + 4 };

/* What event_row_read() reads, of events e and their agents a: those of event_sum and the checksum
 * first. Statements add the number of the event, and the id of its run. Rows may be packed
 * (migrations/0049 and 0051): statements also join EVENT_KIND_OF_…("e"), and what they read is what
 * was stored, so that a checksum covers the packing too. */
#define EVENT_READ_POSTGRES EVENT_SUMMED_POSTGRES ", a.agent_name"
#define EVENT_READ_SQLITE   EVENT_SUMMED_SQLITE ", a.agent_name"
#define EVENT_SUMMED_SQLITE                                                                        \
    EVENT_SUMMED(EVENT_ID_SQLITE("e."), EVENT_EVENT_SQLITE,                                        \
                 "e.received_at + CASE WHEN e.kind_no IS NULL THEN 0 ELSE e.timestamp END",        \
                 EVENT_TEXT_SQLITE, EVENT_FORM_SQLITE)
#define EVENT_SUMMED_POSTGRES                                                                      \
    EVENT_SUMMED("COALESCE(e.event_id, CAST(e.event_key AS TEXT), '')", EVENT_EVENT_POSTGRES,      \
                 "COALESCE(e.received_at, e.timestamp + e.received_after)", EVENT_TEXT_POSTGRES,   \
                 EVENT_FORM_POSTGRES)
/* clang-format off */
#define EVENT_SUMMED(event_id, event, received_at, text, form)                                     \
    "e.tenant_id, e.run_no, e.agent_id, " event_id ", " event("e") ", e.timestamp, " received_at   \
    ", e.seq, " text("e", "agent_version") ", e.duration_ms, e.records_processed, e.error_type,"   \
    " e.error_message, e.workflow_run_id, e.message, " text("e", "level") ", "                     \
    text("e", "category") ", " text("e", "source") ", " form("e", "metadata") ", "                 \
    form("e", "metrics") ", e.links, e.output, e.checksum"
/* clang-format on */

/* Of a row of events: its id, the kind that it may have, and what may be its kind's: a text, which
 * run_event it is, and a text that may have its kind's form. SQLite's own column of a text is empty
 * then; it is read all the same, so that a checksum covers it. */
#define EVENT_ID_SQLITE(of)            "COALESCE(uuid_text(" of "packed_id), '') || " of "event_id"
#define EVENT_KIND_OF_SQLITE(row)      " LEFT JOIN event_kinds d ON d.kind_no = " row ".kind_no"
#define EVENT_TEXT_SQLITE(row, column) "COALESCE(d." column ", '') || " row "." column
#define EVENT_EVENT_SQLITE(row)        row ".event"
#define EVENT_FORM_SQLITE(row, column) row "." column

#define EVENT_KIND_OF_POSTGRES(row)                                                                \
    " LEFT JOIN event_kinds d ON d.tenant_id = " row ".tenant_id AND d.kind_no = " row ".kind_no"
#define EVENT_TEXT_POSTGRES(row, column) "COALESCE(" row "." column ", d." column ")"
#define EVENT_EVENT_POSTGRES(row)        "COALESCE(" row ".event, d.event)"
#define EVENT_FORM_POSTGRES(row, column)                                                           \
    "CASE WHEN d." column " IS NULL THEN " row "." column                                          \
    " ELSE " JSON_FORM_FILLED("d." column, row "." column) " END"

enum { EVENT_COLUMN_KIND = 4, EVENT_COLUMN_NO = 24, EVENT_COLUMN_RUN_ID = 25 };

struct db_row;
struct db_value;

/* Copied into the arena; borrowed if that is NULL. Leaves client_id and run_id empty. */
void event_row_read(struct arena *arena, const struct db_row *row, struct stored_event *ret);

/* EVENT_COLUMNS_N parameters; strings are borrowed. */
void event_row_values(int64_t run_no, const struct event_item *item, struct db_value *ret);

/* PostgreSQL: adds three parameters, its kind's number, the time from timestamp to receipt and the
 * id as a UUID. If the row is to be packed, those that they stand for become NULL. */
void event_row_pack(const struct event_item *item, bool packs, const struct kind_found *kind,
                    struct db_value *values);

/* What an event counts for its tenant (access/stored_bytes.h): here, and `text` for each text
 * column in SQL. */
int64_t event_stored_bytes(const struct telemetry_event *event);

#define EVENT_STORED_BYTES(text)                                                                   \
    STORED_ROW text("event_id") text("agent_version") text("error_type") text("error_message")     \
        text("workflow_run_id") text("message") text("level") text("category") text("source")      \
            text("metadata") text("metrics") text("links") text("output")

/* The same of the tables events, whose rows may be packed: in PostgreSQL what is in the row itself,
 * and with its kind; $1 is the tenant. */
#define EVENT_STORED_BYTES_SQLITE                                                                  \
    EVENT_STORED_BYTES(STORED_TEXT_SQLITE)                                                         \
    " + CASE WHEN packed_id IS NULL THEN 0 ELSE 36 END"                                            \
    " + COALESCE((SELECT d.bytes FROM event_kinds d WHERE d.kind_no = events.kind_no), 0)"
#define EVENT_OWN_BYTES_POSTGRES                                                                   \
    EVENT_STORED_BYTES(STORED_TEXT_POSTGRES)                                                       \
    " + CASE WHEN event_id IS NULL AND event_key IS NOT NULL THEN 36 ELSE 0 END"
#define EVENT_STORED_BYTES_POSTGRES                                                                \
    EVENT_OWN_BYTES_POSTGRES " + COALESCE((SELECT d.bytes FROM event_kinds d"                      \
                             " WHERE d.tenant_id = $1"                                             \
                             " AND d.kind_no = events.kind_no), 0)"

/* SQLite: inserts one row with this number, packed. */
int event_row_insert(struct db *db, struct event_kinds *kinds, int64_t event_no, int64_t run_no,
                     const struct event_item *item, struct error *err) MUST_CHECK;

/* All events of a run in order of arrival, as struct stored_event with client_id and run_id left
 * empty; in the arena. ERR_DAMAGED when one of them is. */
int store_run_events(struct db *db, int64_t tenant_id, int64_t run_no, struct arena *arena,
                     struct list *ret, struct error *err) MUST_CHECK;

/* Strings are valid during the call only; client_id is empty. False: stop reading. */
typedef bool event_row_fn(void *ctx, int64_t event_no, const struct stored_event *event);

/* The rows of a tenant in a range of numbers, which are assigned in order of arrival. */
struct store_step {
    int64_t tenant_id;
    int64_t after, until;    /* numbers: exclusive, inclusive */
    struct time_range range; /* of timestamps */
};

/* Some events of a run. */
struct store_run_step {
    int64_t tenant_id, run_no;
    int64_t after; /* number of an event: exclusive */
    int64_t limit;
    struct time_range range; /* of timestamps */
};

/* The events of a run after one of them, in order of arrival. ERR_DAMAGED before the first that
 * is, as below. */
int store_run_events_step(struct db *db, const struct store_run_step *step, event_row_fn *fn,
                          void *ctx, struct error *err) MUST_CHECK;

/* The events of a step, in order of arrival. */
int store_events_step(struct db *db, const struct store_step *step, event_row_fn *fn, void *ctx,
                      struct error *err) MUST_CHECK;
