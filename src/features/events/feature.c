/* feature.c - the event log, and the batch of events of each transaction. */
#include "engine/feature.h"

#include "engine/engine.h"
#include "features/events/commands.h"
#include "features/events/event_batch.h"
#include "features/events/event_log.h"
#include "features/events/routes.h"
#include "features/features.h"

struct event_log *events_log(const struct engine *e)
{
    return engine_state(e, &events_feature);
}

static int events_open(struct engine *e, void **ret_state, struct error *err)
{
    struct event_log *log;

    if (event_log_new(engine_open_db(e), &log, err) != 0)
        return -1;
    *ret_state = log;
    return 0;
}

static void events_close(void *state)
{
    struct event_log *log = state;

    if (log != NULL)
        log->methods->free(log);
}

static void events_txn_open(struct engine *e, struct txn *txn)
{
    txn->events = event_batch_new(events_log(e));
}

static void events_txn_close(struct txn *txn)
{
    event_batch_free(txn->events);
}

const struct feature events_feature = {
    .name = "events",
    .about = "Events of runs as agents report them, and the runs made of them.",
    .routes = { telemetry_routes, run_routes },
    .commands = { event_commands },
    .open = events_open,
    .close = events_close,
    .txn = { .open = events_txn_open,
             .close = events_txn_close,
             .prepare = event_batch_prepare,
             .committed = event_batch_committed,
             .rolled_back = event_batch_rolled_back,
             .changed = event_batch_changed },
};
