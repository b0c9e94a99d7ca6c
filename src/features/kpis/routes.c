/* routes.c - business KPIs as front ends read them. */
#include "features/kpis/kpis.h"

#include "api/call.h"
#include "api/handlers.h"
#include "base/clock.h"
#include "features/access/registry.h"
#include "features/kpis/shapes.h"

static struct kpi_reader reader_of(struct api_call *call, struct db *db)
{
    return (struct kpi_reader){
        .db = db, .tenant_id = call->tenant->id, .now = clock_wall_us(), .arena = call->arena
    };
}

/* What was found out only while reading is refused as what the query's shape refuses. */
static int refuse(struct api_call *call, int r, const struct kpi_refusal *refusal)
{
    if (refusal->name != NULL)
        call_refuse_query(call, refusal->name, refusal->value, refusal->sentence);
    return r;
}

static int read_catalog(struct api_call *call, struct db *db, struct error *err)
{
    const struct kpi_reader reader = reader_of(call, db);

    return kpis_catalog(&reader, call->answer, err);
}

void get_kpi_catalog(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct kpi_catalog);
    call_read(call, read_catalog);
}

static int read_summary(struct api_call *call, struct db *db, struct error *err)
{
    const struct kpi_reader reader = reader_of(call, db);

    return kpis_summary(&reader, call->query, call->answer, err);
}

void get_kpi_summary(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct kpi_summary);
    call_read(call, read_summary);
}

static int read_series(struct api_call *call, struct db *db, struct error *err)
{
    const struct kpi_reader reader = reader_of(call, db);
    struct kpi_refusal refusal = { 0 };

    return refuse(call, kpis_series(&reader, call->query, call->answer, &refusal, err), &refusal);
}

void get_kpi_series(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct kpi_series_answer);
    call_read(call, read_series);
}

static int read_breakdown(struct api_call *call, struct db *db, struct error *err)
{
    const struct kpi_reader reader = reader_of(call, db);
    struct kpi_refusal refusal = { 0 };

    return refuse(call, kpis_breakdown(&reader, call->query, call->answer, &refusal, err),
                  &refusal);
}

void get_kpi_breakdown(struct api_call *call)
{
    call->answer = ARENA_NEW(call->arena, struct kpi_breakdown);
    call_read(call, read_breakdown);
}
