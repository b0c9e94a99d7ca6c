/* kpi_reports.c - the values of one KPI, with the runs that reported them. */
#include "api/call.h"
#include "db/db.h"
#include "db/name_key.h"
#include "features/kpis/kpi_reads_store.h"
#include "features/kpis/kpi_totals.h"
#include "features/kpis/routes.h"
#include "features/kpis/shapes.h"

int kpis_reports(struct api_call *call, struct db *db, struct error *err)
{
    const struct kpi_reader reader = kpi_reader_of(call, db);
    const struct kpi_reports_query *query = call->query;
    struct kpi_reports_span span = { .tenant_id = call->tenant_id,
                                     .key = store_name_key(query->key, call->arena).key,
                                     .limit = query->limit };
    const char *problem = timerange_parse(query->time_range, reader.now, &span.range);
    int r;

    if (problem != NULL)
        return kpi_refuse(&reader, "time_range", query->time_range, problem, err);
    if (db_begin(db, err) != 0)
        return -1;
    r = kpi_find_agent(&reader, query->agent_name, &span.agent_id, err);
    if (r == 0)
        r = store_kpi_reports(db, &span, call->arena, call->answer, err);
    db_rollback(db);
    return r;
}
