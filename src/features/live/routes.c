/* routes.c - live updates as server-sent events. */
#include "features/live/routes.h"
#include "api/api.h"
#include "api/call.h"
#include "api/queries.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "features/access/registry.h"
#include "features/access/users/sessions.h"
#include "features/live/feed.h"
#include "http/stream.h"

enum { LOOK_S = 5 };

struct live_call {
    struct feed_listener listener;
    struct api_call *call;
    bool begun;
    int64_t looked_us; /* monotonic: when the session was last looked at */
};

static void begin(struct live_call *live)
{
    /* nginx would gather what is to be seen at once */
    const struct http_header unbuffered = { STR_LIT("X-Accel-Buffering"), STR_LIT("no") };

    live->begun = true;
    call_stream_begin(live->call, "text/event-stream", &unbuffered, 1, STREAM_ENDLESS);
}

/* Who has lost the right to listen hears no more, at the latest with the next heartbeat: a key that
 * was revoked, has expired or is beyond its grace, a session that ended, a person who is not of the
 * tenant any more. An open stream is no use of a session. */
static bool may_listen(struct live_call *live)
{
    const struct api_call *call = live->call;
    int64_t now_us = clock_mono_us();

    if (call->key != NULL)
        return key_is_good(call->key, clock_wall_us());
    if (call->user == NULL || now_us - live->looked_us < (int64_t)LOOK_S * USEC_PER_SEC)
        return true;
    live->looked_us = now_us;
    return sessions_may_look_up(engine_sessions(call->api->engine), &call->user->session,
                                call->tenant->id, clock_wall_us());
}

static bool push(struct feed_listener *listener, struct str text)
{
    struct live_call *live = CONTAINER_OF(listener, struct live_call, listener);
    struct buf part;

    if (!live->begun)
        begin(live);
    if (!may_listen(live))
        return false;
    buf_init(&part, text.len);
    buf_add(&part, text);
    return http_stream_offer(live->call->exchange, &part);
}

static void gone(struct feed_listener *listener)
{
    struct live_call *live = CONTAINER_OF(listener, struct live_call, listener);

    if (live->begun)
        http_stream_end(live->call->exchange, true);
    else
        call_reply_failure(live->call, &(struct error){ .code = ERR_BUSY });
}

static void get_live(struct api_call *call)
{
    struct live_call *live = ARENA_NEW(call->arena, struct live_call);
    struct str last_id = http_header_get(&call->exchange->request, "last-event-id");
    struct error err = { 0 };

    live->call = call;
    live->looked_us = clock_mono_us();
    live->listener =
        (struct feed_listener){ .tenant_id = call->tenant->id, .push = push, .gone = gone };
    if (feed_listen(engine_feed(call->api->engine), &live->listener, last_id, &err) != 0)
        call_reply_error(call, 503, "Too many listen to live updates; please try again later");
}

/* clang-format off */
static const char *const live_media[] = { "text/event-stream", NULL };

const struct route live_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/stream", READ, 200), .handler = get_live, .params = &tenant_path_shape, .media = live_media,
      .summary = "Live updates of runs, agents and alerts, as server-sent events" },
    { 0 },
};
/* clang-format on */
