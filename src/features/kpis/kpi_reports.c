/* kpi_reports.c - the values of one KPI, with the runs that reported them. */
#include "db/db.h"
#include "db/name_key.h"
#include "features/kpis/kpi_totals.h"
#include "features/kpis/run_kpis_store.h"
#include "features/kpis/shapes.h"

static int read_reports(const struct kpi_reader *reader, const struct kpi_reports_query *query,
                        struct kpi_reports_span *span, struct kpi_reports *ret, struct error *err)
{
    if (kpi_find_agent(reader, query->agent_name, &span->agent_id, err) != 0)
        return -1;
    return store_kpi_reports(reader->db, span, reader->arena, ret, err);
}

int kpis_reports(const struct kpi_reader *reader, const struct kpi_reports_query *query,
                 struct kpi_reports *ret, struct kpi_refusal *refusal, struct error *err)
{
    struct kpi_reports_span span = { .tenant_id = reader->tenant_id,
                                     .key = store_name_key(query->key, reader->arena).key,
                                     .limit = query->limit };
    const char *problem = timerange_parse(query->time_range, reader->now, &span.range);
    int r;

    if (problem != NULL)
        return kpi_refuse(refusal, "time_range", query->time_range, problem, err);
    if (db_begin(reader->db, err) != 0)
        return -1;
    r = read_reports(reader, query, &span, ret, err);
    db_rollback(reader->db);
    return r;
}
