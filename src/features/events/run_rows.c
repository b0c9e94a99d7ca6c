/* run_rows.c - converts a run's state from and to the columns of its row. */
#include "features/events/run_rows.h"

#include "features/events/shapes.h"
#include "shape/rows.h"

void run_row_read(const struct db_row *row, unsigned first, struct arena *arena,
                  struct run_state *ret)
{
    *ret = (struct run_state){
        /* first + 1 is start_at, which run_state_start() computes */
        .event_count = db_get_int(row, first),
        .first_at = db_get_int(row, first + 2),
        .last_at = db_get_int(row, first + 3),
        .started_at = rows_time(row, first + 4),
        .workflow_run_id = rows_text(arena, row, first + 5),
        .closing = { rows_time(row, first + 6), db_get_int(row, first + 7) },
        .closing_event = db_get_int(row, first + 8),
        .duration_ms = rows_opt_int(row, first + 9),
        .records_processed = rows_opt_int(row, first + 10),
        .error_type = rows_text(arena, row, first + 11),
        .error_message = rows_text(arena, row, first + 12),
        .closing_message = rows_text(arena, row, first + 13),
        .step = { rows_time(row, first + 14), db_get_int(row, first + 15) },
        .step_message = rows_text(arena, row, first + 16),
        .version = { rows_time(row, first + 17), db_get_int(row, first + 18) },
        .agent_version = rows_text(arena, row, first + 19),
    };
}

/* Most runs complete. An open run has that in its row from the start, so that the event that closes
 * it changes no column that has an index (PostgreSQL then leaves all indexes of the row alone). */
static int64_t closing_event(const struct run_state *s)
{
    return s->closing.at == TIME_NULL ? EVENT_COMPLETED : s->closing_event;
}

void run_row_values(const struct run_state *s, struct db_value *ret)
{
    const struct db_value values[RUN_STATE_N] = {
        db_int(s->event_count),
        db_int(run_state_start(s)),
        db_int(s->first_at),
        db_int(s->last_at),
        rows_time_value(s->started_at),
        db_text(s->workflow_run_id),
        rows_time_value(s->closing.at),
        db_int(s->closing.seq),
        db_int(closing_event(s)),
        rows_opt_int_value(s->duration_ms),
        rows_opt_int_value(s->records_processed),
        db_text(s->error_type),
        db_text(s->error_message),
        db_text(s->closing_message),
        rows_time_value(s->step.at),
        db_int(s->step.seq),
        db_text(s->step_message),
        rows_time_value(s->version.at),
        db_int(s->version.seq),
        db_text(s->agent_version),
    };

    memcpy(ret, values, sizeof(values));
}
