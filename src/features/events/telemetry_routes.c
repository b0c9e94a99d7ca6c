/* telemetry_routes.c - run events from agents, one at a time or in batches. */
#include "api/call.h"
#include "base/clock.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/agents/report.h"
#include "features/events/ingest.h"
#include "features/events/routes.h"
#include "features/events/shapes.h"
#include "http/exchange.h"

static int submit_events(struct api_call *call, const struct telemetry_event *events, size_t n,
                         call_step_fn *fill, struct error *err)
{
    struct ingest_request *request = ARENA_NEW(call->arena, struct ingest_request);

    *request = (struct ingest_request){ .tenant = call->caller->key->tenant,
                                        .events = events,
                                        .n = n,
                                        .bytes = call->exchange->request.body.len,
                                        .received_at = clock_wall_us(),
                                        .over_quota = over_quota(call),
                                        .verdicts = ARENA_ARRAY(call->arena, enum verdict, n) };
    call->own = request;
    ingest_job_init(request);
    return call_submit(call, &request->job, fill, err);
}

static int fill_event_verdict(struct api_call *call, struct error *err)
{
    const struct ingest_request *request = call->own;
    const struct telemetry_event *event = request->events;
    struct event_verdict *answer = call->answer;
    struct report_words words;

    if (report_words(call, request->verdicts[0], event->agent_name, &words, err) != 0)
        return -1;
    *answer = (struct event_verdict){ .event_id = event->event_id,
                                      .run_id = event->run_id,
                                      .status = words.status,
                                      .reason = words.reason,
                                      .detail = words.detail };
    return 0;
}

static int report_event(struct api_call *call, struct error *err)
{
    const struct telemetry_event *event = call->body;

    if (auth_may_report(call, event->client_id, event->agent_name, err) != 0)
        return -1;
    return submit_events(call, event, 1, fill_event_verdict, err);
}

/* One event's line in the answer to a batch; adds it to the right count. */
static struct batch_result batch_result(struct batch_verdict *counts, enum verdict verdict)
{
    struct batch_result result = { .status = STR_LIT("rejected") };

    switch (verdict) {
    case VERDICT_ACCEPTED:
        counts->accepted++;
        result.status = STR_LIT("accepted");
        return result;
    case VERDICT_DUPLICATE:
        counts->duplicates++;
        result.status = STR_LIT("duplicate");
        return result;
    case VERDICT_AGENT_DISABLED:
        result.reason = STR_LIT("agent_disabled");
        break;
    case VERDICT_AGENT_CAP:
        result.reason = STR_LIT("agent_cap_reached");
        break;
    case VERDICT_OVER_QUOTA: /* the whole batch was refused */
        break;
    }
    counts->rejected++;
    return result;
}

static int fill_batch_verdict(struct api_call *call, struct error *err)
{
    const struct ingest_request *request = call->own;
    struct batch_result *results = ARENA_ARRAY(call->arena, struct batch_result, request->n);
    struct batch_verdict *answer = call->answer;

    if (ingest_has_no_room(request))
        return auth_refuse_quota(call, err);
    for (size_t i = 0; i < request->n; i++) {
        results[i] = batch_result(answer, request->verdicts[i]);
        results[i].index = (int64_t)i;
        results[i].event_id = request->events[i].event_id;
    }
    answer->results = (struct list){ results, request->n };
    return 0;
}

static int report_batch(struct api_call *call, struct error *err)
{
    const struct telemetry_batch *batch = call->body;
    const struct telemetry_event *events = batch->events.items;

    for (size_t i = 0; i < batch->events.n; i++)
        if (auth_may_report(call, events[i].client_id, events[i].agent_name, err) != 0)
            return -1;
    if (batch->events.n > 0)
        return submit_events(call, events, batch->events.n, fill_batch_verdict, err);
    call_reply(call, NULL);
    return 0;
}

/* clang-format off */
const struct route telemetry_routes[] = {
    { ROUTE(POST, "/api/v1/telemetry", REPORT, 202), .handler = report_event, .also = ALSO_QUOTA, .body = &telemetry_event_shape, .answer = &event_verdict_shape,
      .id = "report_event", .summary = "Report one run event",
      .description = "202 means that the event is durably stored. A repeated `event_id` is answered as `duplicate` and stored once, so retries are safe, also at the quota of the plan; a disabled agent is answered as `rejected`. An unknown agent is registered with its first event, within the agent cap of the plan." },
    { ROUTE(POST, "/api/v1/telemetry/batch", REPORT, 202), .handler = report_batch, .also = ALSO_QUOTA, .body = &telemetry_batch_shape, .answer = &batch_verdict_shape, .limit = LIMIT_BATCH,
      .id = "report_events", .summary = "Report many run events at once",
      .description = "All accepted events are stored in one transaction, and each event has a result in the order of the request. One malformed event makes the whole batch 422, and nothing is stored." },
    { 0 },
};
/* clang-format on */
