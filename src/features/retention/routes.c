/* routes.c - how long a tenant's data is kept. */
#include "features/retention/retention.h"

#include "api/call.h"
#include "features/access/retention_shapes.h"
#include "features/access/shapes.h"
#include "features/retention/routes.h"

static int show_retention(struct api_call *call, struct db *db, struct error *err)
{
    return retention_show(db, call->tenant_id, call->answer, err);
}

static int set_retention(struct api_call *call, struct db *db, struct error *err)
{
    const struct retention_limits *limits = call->body;
    struct buf detail;

    buf_init(&detail, KIB(1));
    shape_write_json(&retention_shape, limits, &detail);
    call->audit_detail = arena_copy(call->arena, buf_str(&detail));
    buf_done(&detail);
    if (retention_set(db, call->tenant_id, limits, err) != 0)
        return -1;
    return show_retention(call, db, err);
}

/* clang-format off */
const struct route retention_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/retention", MEMBER, 200), .read = show_retention, .params = &tenant_path_shape, .answer = &retention_shape,
      .id = "get_retention", .summary = "Get how long a workspace's data is kept",
      .description = "Null days mean that nothing is deleted." },
    { ROUTE(PUT, "/api/v1/tenants/{slug}/retention", ADMIN, 200), .change = set_retention, .topic = CHANGE_NOTHING, .params = &tenant_path_shape, .body = &retention_shape, .answer = &retention_shape, .audit = "retention.set",
      .id = "set_retention", .summary = "Replace how long a workspace's data is kept",
      .description = "Older data is deleted within minutes and cannot be restored. Totals of KPIs and LLM usage stay." },
    { 0 },
};
/* clang-format on */
