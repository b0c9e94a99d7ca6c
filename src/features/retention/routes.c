/* routes.c - how long a tenant's data is kept. */
#include "features/retention/routes.h"

#include "api/call.h"
#include "base/clock.h"
#include "features/access/registry.h"
#include "features/access/retention_store.h"
#include "features/access/shapes.h"
#include "features/access/stored_bytes.h"
#include "features/access/tenants.h"
#include "features/retention/shapes.h"

static int show_retention(struct api_call *call, struct db *db, struct error *err)
{
    return store_retention(db, call->tenant_id, call->answer, err);
}

static int set_retention(struct api_call *call, struct db *db, struct error *err)
{
    const struct retention_limits *limits = call->body;
    BUF_SCOPED(detail, KIB(1));

    shape_write_json(&retention_shape, limits, &detail);
    call->audit_detail = buf_take(&detail, call->arena);
    if (store_retention_set(db, call->tenant_id, limits, clock_wall_us(), err) != 0)
        return -1;
    return show_retention(call, db, err);
}

static int correct_bytes(struct api_call *call, struct db *db, struct error *err)
{
    const struct bytes_correction *found = call->body;

    call->audit_target = call->tenant->slug;
    call->audit_detail =
        arena_printf(call->arena, "{\"correction\":%lld}", (long long)found->correction);
    if (store_tenant_correct(db, call->tenant->id, found->correction, err) != 0)
        return -1;
    return tenants_show(call, db, err);
}

/* clang-format off */
const struct route retention_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/retention", MEMBER, 200), .read = show_retention, .params = &tenant_path_shape, .answer = &retention_shape,
      .id = "get_retention", .summary = "Get how long a workspace's data is kept",
      .description = "Null days mean that nothing is deleted." },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/retention", ADMIN, 200), .change = set_retention, .topic = CHANGE_NOTHING, .params = &tenant_path_shape, .body = &retention_shape, .answer = &retention_shape, .audit = "retention.set",
      .id = "set_retention", .summary = "Replace how long a workspace's data is kept",
      .description = "Older data is deleted within minutes and cannot be restored. Totals of KPIs and LLM usage stay." },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/bytes-correction", PLATFORM, 200), .change = correct_bytes, .topic = CHANGE_NOTHING, .params = &tenant_path_shape, .body = &bytes_correction_shape, .answer = &tenant_plan_shape, .audit = "tenant.recount",
      .id = "correct_stored_bytes", .summary = "Correct what a workspace's reports are counted for",
      .description = "What `muster tenant recount` found when it compared stored reports with their count. It replaces the correction before, so that sending it twice changes nothing." },
    { 0 },
};
/* clang-format on */
