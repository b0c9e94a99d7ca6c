/* feature.c - the routes of OTLP, and the usage that waits in a transaction. */
#include "engine/feature.h"

#include "features/features.h"
#include "features/otlp/delivery.h"
#include "features/otlp/routes.h"

static void otlp_txn_open(struct engine *e, struct txn *txn)
{
    (void)e;
    txn->otlp = otlp_notes_new();
}

static void otlp_txn_close(struct txn *txn)
{
    otlp_notes_free(txn->otlp);
}

const struct feature otlp_feature = {
    .name = "otlp",
    .about = "OpenTelemetry: spans and log records by OTLP/HTTP.",
    .routes = { otlp_routes },
    .txn = { .open = otlp_txn_open,
             .close = otlp_txn_close,
             .prepare = otlp_notes_prepare,
             .committed = otlp_notes_clear,
             .rolled_back = otlp_notes_rolled_back },
};
