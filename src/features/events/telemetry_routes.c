/* telemetry_routes.c - run events from agents, one at a time or in batches. */
#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/agents/report.h"
#include "features/events/ingest.h"
#include "features/events/routes.h"
#include "features/events/shapes.h"
#include "http/exchange.h"

/* Events on their way through the writer; call->answer is one of these until there is another. */
struct telemetry_call {
    struct ingest_request request;
    struct api_call *call;
    call_end_fn *end;
};

static void stored(struct ingest_request *request, const struct error *err)
{
    struct telemetry_call *t = CONTAINER_OF(request, struct telemetry_call, request);

    call_resume(t->call, err, t->end);
}

static void submit(struct api_call *call, const struct telemetry_event *events, size_t n,
                   call_end_fn *end)
{
    struct telemetry_call *t = ARENA_NEW(call->arena, struct telemetry_call);
    struct error err = { 0 };

    t->call = call;
    t->end = end;
    call->answer = t;
    t->request = (struct ingest_request){ .tenant = call->key->tenant,
                                          .events = events,
                                          .n = n,
                                          .bytes = call->exchange->request.body.len,
                                          .received_at = clock_wall_us(),
                                          .verdicts = ARENA_ARRAY(call->arena, enum verdict, n),
                                          .done = stored };
    if (ingest_submit(engine_writer(call->api->engine), &t->request, &err) != 0)
        call_reply_failure(call, &err);
}

static void answer_event(struct api_call *call)
{
    const struct telemetry_call *t = call->answer;
    const struct telemetry_event *event = t->request.events;
    struct event_verdict answer = { .event_id = event->event_id, .run_id = event->run_id };
    struct report_words words;

    if (!report_words(call, t->request.verdicts[0], event->agent_name, &words))
        return;
    answer.status = words.status;
    answer.reason = words.reason;
    answer.detail = words.detail;
    call_reply_answer(call, &answer);
}

static void post_telemetry(struct api_call *call)
{
    const struct telemetry_event *event = call->body;

    if (auth_may_report(call, event->client_id, event->agent_name))
        submit(call, event, 1, answer_event);
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
    }
    counts->rejected++;
    return result;
}

static void answer_batch(struct api_call *call)
{
    const struct ingest_request *request = &((const struct telemetry_call *)call->answer)->request;
    struct batch_result *results = ARENA_ARRAY(call->arena, struct batch_result, request->n);
    struct batch_verdict answer = { 0 };

    for (size_t i = 0; i < request->n; i++) {
        results[i] = batch_result(&answer, request->verdicts[i]);
        results[i].index = (int64_t)i;
        results[i].event_id = request->events[i].event_id;
    }
    answer.results = (struct list){ results, request->n };
    call_reply_answer(call, &answer);
}

static void post_telemetry_batch(struct api_call *call)
{
    const struct telemetry_batch *batch = call->body;
    const struct telemetry_event *events = batch->events.items;

    for (size_t i = 0; i < batch->events.n; i++)
        if (!auth_may_report(call, events[i].client_id, events[i].agent_name))
            return;
    if (batch->events.n == 0)
        call_reply_answer(call, &(struct batch_verdict){ 0 });
    else
        submit(call, events, batch->events.n, answer_batch);
}

/* clang-format off */
const struct route telemetry_routes[] = {
    { ROUTE(POST, "/api/v1/telemetry", ANY_KEY, 202), .handler = post_telemetry, .body = &telemetry_event_shape, .answer = &event_verdict_shape,
      .summary = "Report one run event" },
    { ROUTE(POST, "/api/v1/telemetry/batch", ANY_KEY, 202), .handler = post_telemetry_batch, .body = &telemetry_batch_shape, .answer = &batch_verdict_shape, .limit = LIMIT_BATCH,
      .summary = "Report many run events at once" },
    { 0 },
};
/* clang-format on */
