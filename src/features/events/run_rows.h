/* run_rows.h - runs as rows, by position, for the stores of events and fleet. */
#pragma once
#include "base/arena.h"
#include "features/events/run_state.h"

struct db_row;
struct db_value;

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
