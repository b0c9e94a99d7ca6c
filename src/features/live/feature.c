/* feature.c - the feed of live updates, and its place in every transaction. */
#include "engine/feature.h"

#include "engine/engine.h"
#include "features/features.h"
#include "features/live/feed.h"
#include "features/live/routes.h"

struct feed *live_feed(const struct engine *e)
{
    return engine_state(e, &live_feature);
}

static int live_open(struct engine *e, void **ret_state, struct error *err)
{
    (void)err;
    *ret_state = feed_new(engine_is_shared(e), engine_hears, e);
    return 0;
}

static void live_close(void *state)
{
    feed_free(state);
}

static void live_hear(struct engine *e, struct str text)
{
    feed_hear(live_feed(e), text);
}

static bool live_tell(struct engine *e, struct buf *ret)
{
    return feed_tell(live_feed(e), ret);
}

static void live_txn_open(struct engine *e, struct txn *txn)
{
    txn->feed = live_feed(e);
}

const struct feature live_feature = {
    .name = "live",
    .about = "Live updates as server-sent events.",
    .routes = { live_routes },
    .open = live_open,
    .close = live_close,
    .hear = live_hear,
    .tell = live_tell,
    .txn = { .open = live_txn_open },
};
