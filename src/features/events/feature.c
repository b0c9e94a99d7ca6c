/* feature.c - the event log, and the batch of events of each transaction. */
#include "engine/feature.h"

#include <stdlib.h>

#include "base/mem.h"
#include "engine/engine.h"
#include "features/events/event_log.h"
#include "features/events/ingest.h"
#include "features/events/routes.h"
#include "features/events/runs.h"
#include "features/features.h"

struct events {
    struct event_log *log;
    run_spending_fn *spending; /* or NULL */
};

struct event_log *events_log(const struct engine *e)
{
    const struct events *events = engine_state(e, &events_feature);

    return events->log;
}

void events_on_spending(const struct engine *e, run_spending_fn *fn)
{
    struct events *events = engine_state(e, &events_feature);

    events->spending = fn;
}

int events_spending(const struct engine *e, struct db *db, struct run_spending *of,
                    struct error *err)
{
    const struct events *events = engine_state(e, &events_feature);

    return events->spending == NULL ? 0 : events->spending(e, db, of, err);
}

static int events_open(struct engine *e, void **ret_state, struct error *err)
{
    struct events *events = mem_new(sizeof(*events));

    *events = (struct events){ 0 };
    *ret_state = events;
    return event_log_new(engine_open_db(e), &events->log, err);
}

static void events_close(void *state)
{
    struct events *events = state;

    if (events == NULL)
        return;
    if (events->log != NULL)
        events->log->methods->free(events->log);
    free(events);
}

static void events_txn_open(struct engine *e, struct txn *txn)
{
    txn_set_part(txn, event_batch_part, event_batch_new(events_log(e)));
}

static void events_txn_close(struct txn *txn)
{
    event_batch_free(event_batch_of(txn));
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
             .settle = event_batch_settle,
             .committed = event_batch_committed,
             .rolled_back = event_batch_rolled_back,
             .changed = event_batch_changed },
};
