/* feature.c - business KPIs as front ends read them; their totals, gathered in each transaction. */
#include "engine/feature.h"

#include "api/call.h"
#include "features/access/shapes.h"
#include "features/features.h"
#include "features/kpis/kpi_reads.h"
#include "features/kpis/kpis.h"
#include "features/kpis/reports.h"
#include "features/kpis/rollups.h"
#include "features/kpis/shapes.h"

static int read_run_kpis(struct api_call *call, struct db *db, struct error *err)
{
    const struct run_kpis_path *path = call->params;
    struct listing *answer = call->answer;

    return kpi_reads_of_run(db, call->tenant_id, path->run_id, call->arena, &answer->list, err);
}

/* clang-format off */
static const struct route kpi_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/business/catalog", READ, 200), .read = kpis_catalog, .params = &tenant_path_shape, .answer = &kpi_catalog_shape, .tagged = true,
      .id = "get_kpi_catalog", .summary = "List declared KPIs",
      .description = "Label, unit and aggregation of every KPI, as each agent declared it at registration." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/business/summary", READ, 200), .read = kpis_read_summary, .params = &tenant_path_shape, .query = &summary_query_shape, .answer = &kpi_summary_shape, .tagged = true,
      .id = "get_kpi_summary", .summary = "Summarize KPIs over a time range",
      .description = "One row per agent and key, aggregated as declared, with the value of the preceding range of the same length. Undeclared keys have a null label, unit and aggregation." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/business/series", READ, 200), .read = kpis_series, .params = &tenant_path_shape, .query = &series_query_shape, .answer = &kpi_series_shape, .tagged = true,
      .id = "get_kpi_series", .summary = "Get one KPI over time",
      .description = "One point per bucket that has a value, at most 1,500 buckets. Without `agent_name` it covers all agents that report the key, which must then aggregate it in the same way." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/business/breakdown", READ, 200), .read = kpis_breakdown, .params = &tenant_path_shape, .query = &breakdown_query_shape, .answer = &kpi_breakdown_shape, .tagged = true,
      .id = "get_kpi_breakdown", .summary = "Break one KPI down by dimensions",
      .description = "`by` is a comma-separated list of dimensions. At most 1,000 rows, largest first; `truncated` says that there are more." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/business/reports", READ, 200), .read = kpis_reports, .params = &tenant_path_shape, .query = &kpi_reports_query_shape, .answer = &kpi_reports_shape, .tagged = true,
      .id = "get_kpi_reports", .summary = "List the runs that reported a KPI",
      .description = "The values of one KPI of one agent, newest first: as many as `reports` of the summary says, while they are kept, but at most `limit`." },
    { ROUTE(GET, "/api/v1/tenants/{slug}/runs/{run_id}/business", READ, 200), .read = read_run_kpis, .params = &run_kpis_path_shape, .answer = &run_kpis_shape, .tagged = true,
      .id = "get_run_kpis", .summary = "Get the KPIs that a run reported",
      .description = "At most 1,000. A run that reported none, or that is not known, has none." },
    { 0 },
};
/* clang-format on */

static void kpis_txn_open(struct engine *e, struct txn *txn)
{
    (void)e;
    txn_set_part(txn, rollups_part, rollups_new());
}

static void kpis_txn_close(struct txn *txn)
{
    rollups_free(rollups_of(txn));
}

static int kpis_txn_settle(struct txn *txn, struct error *err)
{
    return rollups_settle(rollups_of(txn), txn->db, err);
}

static void kpis_txn_reset(struct txn *txn)
{
    rollups_forget(rollups_of(txn));
}

const struct feature kpis_feature = {
    .name = "kpis",
    .about = "Business KPIs: reports, catalog, totals, series and breakdowns.",
    .routes = { kpi_report_routes, kpi_routes },
    .txn = { .open = kpis_txn_open,
             .close = kpis_txn_close,
             .settle = kpis_txn_settle,
             .committed = kpis_txn_reset,
             .rolled_back = kpis_txn_reset },
};
