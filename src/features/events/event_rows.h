/* event_rows.h - events as rows. */
#pragma once
#include "base/err.h"
#include "features/access/stored_bytes.h"
#include "shape/shape.h"
#include "shape/timerange.h"

struct db;
struct row_sum;
struct event_item;
struct telemetry_event;
struct stored_event;

extern const struct row_sum event_sum; /* db/row_sum.h */

/* The columns of an event, in the order of event_row_values(): those of event_sum and the checksum,
 * then its id if that is a UUID, and its number. */
#define EVENT_COLUMNS "tenant_id, " EVENT_COLUMNS_OF_TENANT
#define EVENT_COLUMNS_OF_TENANT                                                                    \
    "run_no, agent_id, event_id, event, timestamp, received_at, seq, agent_version,"               \
    " duration_ms, records_processed, error_type, error_message, workflow_run_id, message, level," \
    " category, source, metadata, metrics, links, output, checksum, event_uuid, event_no"

enum { EVENT_COLUMNS_N = 25 };

/* What event_row_read() reads, of events e and their agents a: the columns of event_sum and the
 * checksum first. Statements add the number of the event, and the id of its run. */
#define EVENT_READ_SQLITE   EVENT_SUMMED(EVENT_ID_SQLITE) ", a.agent_name"
#define EVENT_READ_POSTGRES EVENT_SUMMED(EVENT_ID_POSTGRES) ", a.agent_name"
#define EVENT_SUMMED(event_id)                                                                     \
    "e.tenant_id, e.run_no, e.agent_id, " event_id ", e.event, e.timestamp, e.received_at, e.seq," \
    " e.agent_version, e.duration_ms, e.records_processed, e.error_type, e.error_message,"         \
    " e.workflow_run_id, e.message, e.level, e.category, e.source, e.metadata, e.metrics,"         \
    " e.links, e.output, e.checksum"

/* An id that is a UUID is stored as one, another as text. */
#define EVENT_ID_SQLITE   "COALESCE(e.event_id, uuid_text(e.event_uuid), '')"
#define EVENT_ID_POSTGRES "COALESCE(e.event_id, CAST(e.event_uuid AS TEXT), '')"

enum { EVENT_COLUMN_KIND = 4, EVENT_COLUMN_NO = 24, EVENT_COLUMN_RUN_ID = 25 };

struct db_row;
struct db_value;

/* Copied into the arena; borrowed if that is NULL. Leaves client_id and run_id empty. */
void event_row_read(struct arena *arena, const struct db_row *row, struct stored_event *ret);

/* EVENT_COLUMNS_N values; strings are borrowed. */
void event_row_values(int64_t run_no, int64_t event_no, const struct event_item *item,
                      struct db_value *ret);

/* The stored bytes that an event counts for its tenant (access/stored_bytes.h): in C, and in SQL
 * with `text` applied to each text column. */
int64_t event_stored_bytes(const struct telemetry_event *event);

#define EVENT_STORED_BYTES(text)                                                                   \
    STORED_ROW text("event_id") text("agent_version") text("error_type") text("error_message")     \
        text("workflow_run_id") text("message") text("level") text("category") text("source")      \
            text("metadata") text("metrics") text("links")                                         \
                text("output") " + CASE WHEN event_uuid IS NULL THEN 0 ELSE 36 END"

/* SQLite: inserts one row with this number. */
int event_row_insert(struct db *db, int64_t event_no, int64_t run_no, const struct event_item *item,
                     struct error *err) MUST_CHECK;

/* All events of a run in order of arrival, as struct stored_event with client_id and run_id left
 * empty; in the arena. ERR_DAMAGED when one of them is. */
int run_events(struct db *db, int64_t tenant_id, int64_t run_no, struct arena *arena,
               struct list *ret, struct error *err) MUST_CHECK;

/* Strings are valid during the call only; client_id is empty. False: stop reading. */
typedef bool event_row_fn(void *ctx, int64_t event_no, const struct stored_event *event);

/* The rows of a tenant in a range of numbers, which are assigned in order of arrival. */
struct event_step {
    int64_t tenant_id;
    int64_t after, until;    /* numbers: exclusive, inclusive */
    struct time_range range; /* of timestamps */
};

/* Some events of a run. */
struct run_events_step {
    int64_t tenant_id, run_no;
    int64_t after; /* number of an event: exclusive */
    int64_t limit;
    struct time_range range; /* of timestamps */
};

/* The events of a run after one of them, in order of arrival. ERR_DAMAGED before the first that
 * is, as below. */
int run_events_step(struct db *db, const struct run_events_step *step, event_row_fn *fn, void *ctx,
                    struct error *err) MUST_CHECK;

/* The events of a step, in order of arrival. */
int events_step(struct db *db, const struct event_step *step, event_row_fn *fn, void *ctx,
                struct error *err) MUST_CHECK;
