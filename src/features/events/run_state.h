/* run_state.h - the state of a run, derived from its events whatever their timestamps.
 *
 * Events are added as they arrive. Which event is the latest is decided by
 * timestamp, then seq, then arrival; a narrative is ordered by seq first, then
 * timestamp, then arrival (runs.c).
 *
 * It is stored as well, so that lists need not read the events, and can be
 * rebuilt from them at any time.
 *
 * Strings are borrowed.
 */
#pragma once
#include "base/arena.h"
#include "shape/shape.h"

struct db_row;
struct db_value;
struct run_summary;
struct telemetry_event;

/* Orders events: by timestamp, then seq, then arrival. */
struct run_moment {
    int64_t at; /* TIME_NULL: no such event */
    int64_t seq;
};

struct run_state {
    int64_t event_count;
    int64_t first_at, last_at;
    int64_t started_at; /* earliest `started`; TIME_NULL */
    struct str workflow_run_id;

    struct run_moment closing; /* the latest closing event, and its fields */
    int64_t closing_event;
    struct opt_int duration_ms, records_processed;
    struct str error_type, error_message;
    struct str closing_message;

    /* The latest in_progress with a message. Until there is one, the message is the title: that of
     * the earliest `started` with a message, whose timestamp is in step.seq. */
    struct run_moment step;
    struct str step_message;

    struct run_moment version; /* the latest event with an agent_version */
    struct str agent_version;
};

void run_state_init(struct run_state *s);

/* Does the run belong to the agent of this event, which is to be added? A run belongs to the agent
 * that started it, and to that of its first event until a `started` event comes. */
bool run_state_is_of(const struct run_state *s, const struct telemetry_event *e);

/* Call once per event, in the order of arrival, whatever the timestamps. */
void run_state_add(struct run_state *s, const struct telemetry_event *e);

/* enum run_status */
int run_state_status(const struct run_state *s);

/* The same of a closing event in SQL; -1: the run has none. */
int run_status_of(int64_t closing_event);

/* Fills all but run_id and agent_name. */
void run_state_summary(const struct run_state *s, struct run_summary *ret);

/* The time by which runs are listed: of the earliest `started` event, or else of the first event.
 */
int64_t run_state_start(const struct run_state *s);

/* The columns of a run's state, in the order of run_row_read() and run_row_values(). */
#define RUN_STATE_COLUMNS                                                                          \
    "event_count, start_at, first_at, last_at, started_at, workflow_run_id, closing_at,"           \
    " closing_seq, closing_event, duration_ms, records_processed, error_type, error_message,"      \
    " closing_message, step_at, step_seq, step_message, version_at, version_seq, agent_version"

enum { RUN_STATE_N = 20 };

/* Starts at column `first`; strings are copied into the arena. */
void run_row_read(const struct db_row *row, unsigned first, struct arena *arena,
                  struct run_state *ret);

/* RUN_STATE_N parameters. Strings are borrowed. */
void run_row_values(const struct run_state *s, struct db_value *ret);
