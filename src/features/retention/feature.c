/* feature.c - the sweep of what is too old, and the size of what is stored. */
#include "engine/feature.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "db/size.h"
#include "engine/engine.h"
#include "features/events/event_log.h"
#include "features/features.h"
#include "features/retention/erasure.h"
#include "features/retention/retention.h"
#include "features/retention/routes.h"
#include "features/retention/sweep.h"

enum { SIZE_PERIOD_TICKS = 10 };

struct retention {
    struct sweep *sweep;         /* NULL: this engine serves no agents */
    struct erasure *erasure;     /* the same */
    unsigned ticks;              /* the watcher's */
    _Atomic int64_t store_bytes; /* when last measured */
};

int64_t retention_store_bytes(const struct engine *e)
{
    const struct retention *retention = engine_state(e, &retention_feature);

    return atomic_load(&retention->store_bytes);
}

static int retention_open(struct engine *e, void **ret_state, struct error *err)
{
    (void)e;
    (void)err;
    *ret_state = NEW(struct retention);
    return 0;
}

static void measure(struct engine *e, struct retention *retention)
{
    int64_t bytes;

    if (store_size(engine_watch_db(e), &bytes, NULL) == 0)
        atomic_store(&retention->store_bytes, bytes);
}

static int retention_start(struct engine *e, struct error *err)
{
    struct retention *retention = engine_state(e, &retention_feature);
    const struct sweep_options options = { engine_watch_db(e), engine_writer(e), events_log(e),
                                           engine_is_shared(e) };
    const struct erasure_options erasure = { engine_watch_db(e), engine_writer(e), events_log(e),
                                             engine_is_shared(e) };
    const struct tick now = engine_now(e, true);

    (void)err;
    measure(e, retention);
    if (engine_serves(e)) {
        retention->sweep = sweep_new(&options, now.wall_us, now.mono_us);
        retention->erasure = erasure_new(&erasure);
    }
    return 0;
}

static int retention_tick(struct engine *e, const struct tick *tick, struct error *err)
{
    struct retention *retention = engine_state(e, &retention_feature);

    if (retention->ticks++ % SIZE_PERIOD_TICKS == 0 && tick->healthy)
        measure(e, retention);
    if (retention->sweep == NULL || !tick->healthy)
        return 0;
    if (erasure_tick(retention->erasure, tick->wall_us, err) != 0)
        return -1;
    return sweep_tick(retention->sweep, tick->wall_us, tick->mono_us, err);
}

static void retention_close(void *state)
{
    struct retention *retention = state;

    if (retention == NULL)
        return;
    sweep_free(retention->sweep);
    erasure_free(retention->erasure);
    free(retention);
}

const struct feature retention_feature = {
    .name = "retention",
    .about = "How long data is kept.",
    .routes = { retention_routes },
    .commands = { retention_commands, backup_commands, recount_commands },
    .open = retention_open,
    .start = retention_start,
    .tick = retention_tick,
    .close = retention_close,
};
