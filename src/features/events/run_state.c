/* run_state.c - derives the state of a run from its events. */
#include "features/events/run_state.h"

#include <assert.h>

#include "base/clock.h"
#include "features/events/shapes.h"

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

int run_state_status(const struct run_state *s)
{
    if (s->closing.at == TIME_NULL)
        return RUN_IN_PROGRESS;
    assert(s->closing_event == EVENT_COMPLETED || s->closing_event == EVENT_FAILED);
    return s->closing_event == EVENT_COMPLETED ? RUN_COMPLETED : RUN_FAILED;
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
