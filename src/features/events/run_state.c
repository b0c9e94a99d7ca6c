/* run_state.c - derives the state of a run from its events, and has it as columns. */
#include "features/events/run_state.h"

#include <assert.h>

#include "base/clock.h"
#include "features/events/shapes.h"
#include "shape/rows.h"

void run_state_init(struct run_state *s)
{
    *s = (struct run_state){ .first_at = INT64_MAX,
                             .last_at = INT64_MIN,
                             .started_at = TIME_NULL,
                             .closing.at = TIME_NULL,
                             .step.at = TIME_NULL,
                             .version.at = TIME_NULL,
                             .closing_message = STR_LIT(""),
                             .step_message = STR_LIT(""),
                             .agent_version = STR_LIT("") };
}

/* Moves `m` to the event if that is later. The event arrived later, so an equal one counts as
 * later. */
static bool advance(struct run_moment *m, const struct telemetry_event *e)
{
    bool later =
        m->at == TIME_NULL || e->timestamp > m->at || (e->timestamp == m->at && e->seq >= m->seq);

    if (later)
        *m = (struct run_moment){ e->timestamp, e->seq };
    return later;
}

static void add_closing(struct run_state *s, const struct telemetry_event *e)
{
    if (!advance(&s->closing, e))
        return;
    s->closing_event = e->event;
    s->duration_ms = e->duration_ms;
    s->records_processed = e->records_processed;
    s->error_type = e->event == EVENT_FAILED ? e->error_type : STR_NULL;
    s->error_message = e->event == EVENT_FAILED ? e->error_message : STR_NULL;
    s->closing_message = e->message;
}

static void add_title(struct run_state *s, const struct telemetry_event *e)
{
    if (s->step.at != TIME_NULL || e->message.len == 0 ||
        (s->step_message.len > 0 && e->timestamp >= s->step.seq))
        return;
    s->step.seq = e->timestamp;
    s->step_message = e->message;
}

bool run_state_is_of(const struct run_state *s, const struct telemetry_event *e)
{
    return s->event_count == 0 || (e->event == EVENT_STARTED && s->started_at == TIME_NULL);
}

void run_state_add(struct run_state *s, const struct telemetry_event *e)
{
    assert(e->event >= EVENT_STARTED && e->event <= EVENT_IN_PROGRESS);
    s->event_count++;
    if (e->timestamp < s->first_at)
        s->first_at = e->timestamp;
    if (e->timestamp > s->last_at)
        s->last_at = e->timestamp;
    if (str_is_null(s->workflow_run_id))
        s->workflow_run_id = e->workflow_run_id;
    if (e->agent_version.len > 0 && advance(&s->version, e))
        s->agent_version = e->agent_version;
    switch ((enum run_event)e->event) {
    case EVENT_STARTED:
        add_title(s, e);
        if (s->started_at == TIME_NULL || e->timestamp < s->started_at)
            s->started_at = e->timestamp;
        break;
    case EVENT_IN_PROGRESS:
        if (e->message.len > 0 && advance(&s->step, e))
            s->step_message = e->message;
        break;
    case EVENT_COMPLETED:
    case EVENT_FAILED:
        add_closing(s, e);
        break;
    }
}

int64_t run_state_start(const struct run_state *s)
{
    return s->started_at != TIME_NULL ? s->started_at : s->first_at;
}

int run_status_of(int64_t closing_event)
{
    if (closing_event < 0)
        return RUN_IN_PROGRESS;
    assert(closing_event == EVENT_COMPLETED || closing_event == EVENT_FAILED);
    return closing_event == EVENT_COMPLETED ? RUN_COMPLETED : RUN_FAILED;
}

int run_state_status(const struct run_state *s)
{
    return run_status_of(s->closing.at == TIME_NULL ? -1 : s->closing_event);
}

void run_state_summary(const struct run_state *s, struct run_summary *ret)
{
    bool closed = s->closing.at != TIME_NULL;

    ret->agent_version = s->agent_version;
    ret->workflow_run_id = s->workflow_run_id;
    ret->event_count = s->event_count;
    ret->started_at = run_state_start(s);
    ret->last_event_at = s->last_at;
    ret->status = closed ? str_of(run_event_names[s->closing_event]) : STR_LIT("in_progress");
    ret->ended_at = s->closing.at;
    ret->duration_ms = s->duration_ms;
    if (closed && !s->duration_ms.has)
        ret->duration_ms =
            (struct opt_int){ true, (s->closing.at - ret->started_at) / USEC_PER_MSEC };
    ret->records_processed = s->records_processed;
    ret->error_type = s->error_type;
    ret->error_message = s->error_message;
    ret->message = s->closing_message.len > 0 ? s->closing_message : s->step_message;
}

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
