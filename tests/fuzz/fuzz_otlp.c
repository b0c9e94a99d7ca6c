/* fuzz_otlp.c - any bytes as an OTLP request: malformed, or events within the limits of events.
 *
 * The first letter picks the encoding and the kind of record.
 */
#include <yyjson.h>

#include "features/otlp/intake.h"
#include "fuzz.h"
#include "shape/problems.h"

static const struct {
    enum otlp_records what;
    enum otlp_encoding encoding;
} readers[] = { { OTLP_SPANS, OTLP_PROTOBUF },   { OTLP_LOGS, OTLP_PROTOBUF },
                { OTLP_SPANS, OTLP_JSON },       { OTLP_LOGS, OTLP_JSON },
                { OTLP_METRICS, OTLP_PROTOBUF }, { OTLP_METRICS, OTLP_JSON } };

static bool fuzz_on_metric(void *ctx, size_t n_points)
{
    (void)ctx;
    FUZZ_CHECK(n_points < MIB(64));
    return true;
}

/* What was made of a record is what an agent could have sent. */
static void check_event(const struct telemetry_event *event)
{
    struct problems *problems;
    struct telemetry_event again;
    struct arena arena;
    struct buf text;

    arena_init(&arena);
    buf_init(&text, MIB(64));
    shape_write_json(&telemetry_event_shape, event, &text);
    problems = problems_new(&arena, "body");
    FUZZ_CHECK(shape_read_json(&telemetry_event_shape, buf_str(&text), &arena, &again, problems) ==
               0);
    FUZZ_CHECK(str_eq(again.event_id, event->event_id));
    buf_done(&text);
    arena_done(&arena);
}

static void check_intake(struct intake *in)
{
    const struct telemetry_event *events;
    const struct intake_usage *usages;
    const struct intake_origin *origins;
    size_t n_events = 0;

    (void)intake_close(in);
    events = in->events.items;
    usages = in->usages.items;
    origins = in->origins.items;
    for (size_t i = 0; i < in->origins.n; i++) {
        FUZZ_CHECK(origins[i].first_event + origins[i].n_events <= in->events.n);
        n_events += origins[i].n_events;
    }
    FUZZ_CHECK(n_events == in->events.n && in->bytes <= in->bytes_max);
    FUZZ_CHECK(in->n_refused <= in->n_records && in->n_records <= in->records_max);
    for (size_t i = 0; i < in->events.n; i++)
        check_event(&events[i]);
    for (size_t i = 0; i < in->usages.n; i++) {
        const struct llm_usage *usage = &usages[i].usage;

        FUZZ_CHECK(usage->input_tokens >= 0 && usage->output_tokens >= 0);
        FUZZ_CHECK(usage->cache_read_tokens >= 0 && usage->cache_write_tokens >= 0);
        FUZZ_CHECK(usage->model.len > 0 && usage->agent_name.len > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str body = str_from((const char *)data, size);
    const size_t pick = fuzz_pick(&body, COUNT_OF(readers));
    struct arena arena;
    struct intake in = { .arena = &arena,
                         .slug = STR_LIT("acme"),
                         .bound_to = STR_NULL,
                         .received_at = 1750000000000000,
                         .records_max = 20,
                         .bytes_max = KIB(64) };
    struct str why = STR_NULL;
    const struct otlp_sink sink = {
        &in, &arena, intake_on_span, intake_on_log, fuzz_on_metric, &why
    };

    arena_init(&arena);
    intake_open(&in);
    if (otlp_read(readers[pick].what, readers[pick].encoding, body, &sink) == OTLP_READ)
        check_intake(&in);
    else
        intake_drop(&in);
    arena_done(&arena);
    return 0;
}
