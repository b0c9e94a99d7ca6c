/* routes.c - live updates as server-sent events, and the feed's place in every transaction. */
#include "engine/feature.h"

#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "features/access/auth.h"
#include "features/access/registry.h"
#include "features/access/shapes.h"
#include "features/features.h"
#include "features/live/feed.h"
#include "http/exchange.h"

enum { SESSION_CHECK_S = 3 };

struct live_call {
    struct feed_listener listener;
    struct api_call *call;
    struct budget *budget; /* that it counts for */
    bool begun;
    int64_t checked_us; /* monotonic: when the session was last checked */
};

static void begin(struct live_call *live)
{
    /* or nginx would buffer updates that must be seen at once */
    const struct http_header unbuffered = { STR_LIT("X-Accel-Buffering"), STR_LIT("no") };

    live->begun = true;
    call_stream_begin(live->call, "text/event-stream", &unbuffered, 1, STREAM_ENDLESS);
}

static bool live_push(struct feed_listener *listener, struct str text)
{
    struct live_call *live = CONTAINER_OF(listener, struct live_call, listener);
    struct buf part;

    if (!live->begun)
        begin(live);
    if (!auth_may_go_on(live->call, &live->checked_us, SESSION_CHECK_S))
        return false;
    if (text.len == 0)
        return true;
    buf_init(&part, text.len);
    buf_add(&part, text);
    return http_stream_offer(live->call->exchange, &part);
}

static void live_gone(struct feed_listener *listener)
{
    struct live_call *live = CONTAINER_OF(listener, struct live_call, listener);

    budget_give(live->budget, BUDGET_STREAMS, 1);
    if (live->begun)
        http_stream_end(live->call->exchange, true);
    else
        call_reply(live->call, &(struct error){ .code = ERR_BUSY });
}

/* The operator's streams count for the tenant. */
static struct budget *budget_of(const struct api_call *call)
{
    struct budget *of_caller = call->exchange->charge.budget;

    return of_caller != NULL ? of_caller : tenant_budget(call->tenant);
}

static int stream_updates(struct api_call *call, struct error *err)
{
    struct live_call *live = ARENA_NEW(call->arena, struct live_call);
    struct str last_id = http_header_get(&call->exchange->request, "last-event-id");
    const struct budget *full;

    live->call = call;
    live->budget = budget_of(call);
    live->checked_us = clock_mono_us();
    live->listener = (struct feed_listener){ .tenant_id = call->tenant_id,
                                             .push = live_push,
                                             .gone = live_gone };
    full = budget_try(live->budget, BUDGET_STREAMS, 1);
    if (full != NULL)
        return call_refuse_share(call, err, full, BUDGET_STREAMS);
    if (feed_listen(live_feed(call->api->engine), &live->listener, last_id, err) == 0)
        return 0;
    budget_give(live->budget, BUDGET_STREAMS, 1);
    return call_refuse(call, err, 503, "Too many live update streams are open; retry later");
}

/* clang-format off */
static const char *const live_media[] = { "text/event-stream", NULL };

static const struct route live_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/stream", READ, 200), .handler = stream_updates, .params = &tenant_path_shape, .media = live_media,
      .sample = "id: 1a2b3c-17\nevent: agent\ndata: {\"agent_name\":\"invoice-reader\"}\n\n",
      .id = "stream_updates", .summary = "Stream live updates of runs, agents and alerts",
      .description = "Server-sent events, at most one per second for each run and agent. `Last-Event-ID` resumes; after a `reset` message load everything again." },
    { 0 },
};
/* clang-format on */

struct feed *live_feed(const struct engine *e)
{
    return engine_state(e, &live_feature);
}

static int live_open(struct engine *e, void **ret_state, struct error *err)
{
    (void)err;
    *ret_state = feed_new(engine_is_shared(e), engine_listens, e);
    return 0;
}

static void live_close(void *state)
{
    feed_free(state);
}

static void live_receive(struct engine *e, struct str text)
{
    feed_receive(live_feed(e), text);
}

static bool live_take_changed(struct engine *e, struct buf *ret)
{
    return feed_take_changed(live_feed(e), ret);
}

static void live_txn_open(struct engine *e, struct txn *txn)
{
    txn_set_part(txn, feed_part, live_feed(e));
}

const struct feature live_feature = {
    .name = "live",
    .about = "Live updates as server-sent events.",
    .routes = { live_routes },
    .open = live_open,
    .close = live_close,
    .notified = live_receive,
    .notify = live_take_changed,
    .txn = { .open = live_txn_open },
};
