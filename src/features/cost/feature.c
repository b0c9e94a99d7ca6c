/* feature.c - the price book, and what a transaction adds to the sums of usage. */
#include "engine/feature.h"

#include "engine/engine.h"
#include "features/cost/llm_totals.h"
#include "features/cost/prices.h"
#include "features/cost/routes.h"
#include "features/cost/usage.h"
#include "features/events/run_spending.h"
#include "features/features.h"

struct prices *cost_prices(const struct engine *e)
{
    return engine_state(e, &cost_feature);
}

static int cost_open(struct engine *e, void **ret_state, struct error *err)
{
    *ret_state = prices_new();
    events_on_spending(e, cost_of_runs);
    return built_in_prices_add(engine_open_db(e), err);
}

static void cost_close(void *state)
{
    prices_free(state);
}

static void cost_txn_open(struct engine *e, struct txn *txn)
{
    (void)e;
    txn->totals = llm_totals_new();
}

static void cost_txn_close(struct txn *txn)
{
    llm_totals_free(txn->totals);
}

static int cost_txn_settle(struct txn *txn, struct error *err)
{
    return llm_totals_save(txn->totals, txn->db, err);
}

static void cost_txn_reset(struct txn *txn)
{
    llm_totals_clear(txn->totals);
}

const struct feature cost_feature = {
    .name = "cost",
    .about = "LLM usage, prices of models, and what usage costs.",
    .routes = { llm_report_routes, usage_routes, price_routes },
    .commands = { cost_commands },
    .open = cost_open,
    .close = cost_close,
    .txn = { .open = cost_txn_open,
             .close = cost_txn_close,
             .settle = cost_txn_settle,
             .committed = cost_txn_reset,
             .rolled_back = cost_txn_reset },
};
