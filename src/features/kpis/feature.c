/* feature.c - totals of KPIs: built at the first start, gathered in each transaction. */
#include "engine/feature.h"

#include "engine/engine.h"
#include "features/features.h"
#include "features/kpis/rollups.h"
#include "features/kpis/routes.h"

static int kpis_open(struct engine *e, void **ret_state, struct error *err)
{
    (void)ret_state;
    return store_rollups_build(engine_open_db(e), err);
}

static void kpis_txn_open(struct engine *e, struct txn *txn)
{
    (void)e;
    txn->rollups = rollups_new();
}

static void kpis_txn_close(struct txn *txn)
{
    rollups_free(txn->rollups);
}

static int kpis_txn_settle(struct txn *txn, struct error *err)
{
    return rollups_settle(txn->rollups, txn->db, err);
}

static void kpis_txn_reset(struct txn *txn)
{
    rollups_forget(txn->rollups);
}

const struct feature kpis_feature = {
    .name = "kpis",
    .about = "Business KPIs: reports, catalog, totals, series and breakdowns.",
    .routes = { kpi_report_routes, kpi_routes },
    .open = kpis_open,
    .txn = { .open = kpis_txn_open,
             .close = kpis_txn_close,
             .settle = kpis_txn_settle,
             .committed = kpis_txn_reset,
             .rolled_back = kpis_txn_reset },
};
