/* test_run_state.c - a run's state is what its events say, in whatever order they came. */
#include <stdlib.h>

#include "base/base.h"
#include "features/events/run_state.h"
#include "features/events/shapes.h"
#include "test.h"
#include "unit/random.h"

enum { EVENTS_MAX = 12 };

/* --- the rules once more, told slowly: look at all events for each question --- */

/* Is `b`, which arrived later, also later by timestamp and seq? */
static bool is_later(const struct telemetry_event *a, const struct telemetry_event *b)
{
    if (a->timestamp != b->timestamp)
        return b->timestamp > a->timestamp;
    return b->seq >= a->seq;
}

typedef bool pick_fn(const struct telemetry_event *e);

static bool is_closing(const struct telemetry_event *e)
{
    return e->event == EVENT_COMPLETED || e->event == EVENT_FAILED;
}

static bool is_step(const struct telemetry_event *e)
{
    return e->event == EVENT_IN_PROGRESS && e->message.len > 0;
}

/* What the run was called when it was first started; of two at the same time, by the first to
 * arrive. */
static struct str title_of(const struct telemetry_event *events, size_t n)
{
    const struct telemetry_event *first = NULL;

    for (size_t i = 0; i < n; i++)
        if (events[i].event == EVENT_STARTED && events[i].message.len > 0 &&
            (first == NULL || events[i].timestamp < first->timestamp))
            first = &events[i];
    return first != NULL ? first->message : STR_LIT("");
}

static bool has_version(const struct telemetry_event *e)
{
    return e->agent_version.len > 0;
}

static const struct telemetry_event *latest(const struct telemetry_event *events, size_t n,
                                            pick_fn *pick)
{
    const struct telemetry_event *best = NULL;

    for (size_t i = 0; i < n; i++)
        if (pick(&events[i]) && (best == NULL || is_later(best, &events[i])))
            best = &events[i];
    return best;
}

static int64_t earliest(const struct telemetry_event *events, size_t n, bool started_only)
{
    int64_t at = TIME_NULL;

    for (size_t i = 0; i < n; i++)
        if ((!started_only || events[i].event == EVENT_STARTED) &&
            (at == TIME_NULL || events[i].timestamp < at))
            at = events[i].timestamp;
    return at;
}

static void expect(const struct telemetry_event *events, size_t n, struct run_summary *ret)
{
    const struct telemetry_event *closing = latest(events, n, is_closing);
    const struct telemetry_event *step = latest(events, n, is_step);
    const struct telemetry_event *version = latest(events, n, has_version);
    int64_t started = earliest(events, n, true);

    *ret = (struct run_summary){
        .status = STR_LIT("in_progress"),
        .started_at = started != TIME_NULL ? started : earliest(events, n, false),
        .ended_at = TIME_NULL,
        .agent_version = version != NULL ? version->agent_version : STR_LIT(""),
        .message = step != NULL ? step->message : title_of(events, n),
        .event_count = (int64_t)n,
    };
    for (size_t i = 0; i < n; i++) {
        if (str_is_null(ret->workflow_run_id))
            ret->workflow_run_id = events[i].workflow_run_id;
        if (i == 0 || events[i].timestamp > ret->last_event_at)
            ret->last_event_at = events[i].timestamp;
    }
    if (closing == NULL)
        return;
    ret->status = closing->event == EVENT_FAILED ? STR_LIT("failed") : STR_LIT("completed");
    ret->ended_at = closing->timestamp;
    ret->duration_ms = closing->duration_ms;
    if (!closing->duration_ms.has)
        ret->duration_ms = (struct opt_int){ true, (ret->ended_at - ret->started_at) / 1000 };
    ret->records_processed = closing->records_processed;
    if (closing->event == EVENT_FAILED) {
        ret->error_type = closing->error_type;
        ret->error_message = closing->error_message;
    }
    if (closing->message.len > 0)
        ret->message = closing->message;
}

/* --- --- */

static struct str any_text(struct random *r, bool null)
{
    static const struct str texts[] = { STR_INIT(""), STR_INIT("x"), STR_INIT("y"), STR_INIT("z") };

    return null && random_percent(r, 50) ? STR_NULL : texts[random_below(r, COUNT_OF(texts))];
}

static struct opt_int any_number(struct random *r)
{
    return random_percent(r, 50) ? (struct opt_int){ 0 }
                                 : (struct opt_int){ true, (int64_t)random_below(r, 9) };
}

static struct telemetry_event any_event(struct random *r)
{
    return (struct telemetry_event){
        .event = (int)random_below(r, 4),
        .timestamp = (int64_t)random_below(r, 4) * 1500 - 3000,
        .seq = (int64_t)random_below(r, 3) - 1,
        .agent_version = any_text(r, false),
        .workflow_run_id = any_text(r, true),
        .duration_ms = any_number(r),
        .records_processed = any_number(r),
        .error_type = any_text(r, true),
        .error_message = any_text(r, true),
        .message = any_text(r, false),
    };
}

static void write_summary(struct run_summary *summary, struct buf *out)
{
    buf_clear(out);
    shape_write_json(&run_summary_shape, summary, out);
}

TEST(a_state_is_what_its_events_say)
{
    struct buf actual, expected;

    buf_init(&actual, MIB(1));
    buf_init(&expected, MIB(1));
    for (uint64_t seed = 0; seed < 20000; seed++) {
        struct telemetry_event events[EVENTS_MAX];
        struct run_summary summary = { 0 }, told;
        struct random random = { seed };
        size_t n = 1 + random_below(&random, EVENTS_MAX);
        struct run_state run;

        run_state_init(&run);
        for (size_t i = 0; i < n; i++) {
            events[i] = any_event(&random);
            run_state_add(&run, &events[i]);
        }
        expect(events, n, &told);
        run_state_summary(&run, &summary);
        write_summary(&summary, &actual);
        write_summary(&told, &expected);
        if (!str_eq(buf_str(&actual), buf_str(&expected)))
            fail_msg("seed %d: %.*s but should be %.*s", (int)seed, STR_ARG(actual),
                     STR_ARG(expected));
    }
    buf_done(&actual);
    buf_done(&expected);
}

/* Where no two events are of one moment, arrival decides nothing (but which workflow was named
 * first). */
TEST(the_order_of_arrival_does_not_matter_where_times_differ)
{
    struct buf first, other;

    buf_init(&first, MIB(1));
    buf_init(&other, MIB(1));
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct telemetry_event events[EVENTS_MAX];
        struct random random = { seed };
        struct buf *out = &first;

        for (int i = 0; i < EVENTS_MAX; i++) {
            events[i] = any_event(&random);
            events[i].timestamp = i / 2;
            events[i].seq = i % 2;
            events[i].workflow_run_id = STR_NULL;
        }
        for (int order = 0; order < 5; order++, out = &other) {
            struct run_summary summary = { 0 };
            struct run_state run;

            run_state_init(&run);
            for (size_t i = 0; i < EVENTS_MAX; i++)
                run_state_add(&run, &events[i]);
            run_state_summary(&run, &summary);
            write_summary(&summary, out);
            CHECK(order == 0 || str_eq(buf_str(&first), buf_str(&other)));
            for (size_t i = EVENTS_MAX - 1; i > 0; i--) {
                size_t k = random_below(&random, i + 1);
                struct telemetry_event kept = events[i];

                events[i] = events[k];
                events[k] = kept;
            }
        }
    }
    buf_done(&first);
    buf_done(&other);
}
