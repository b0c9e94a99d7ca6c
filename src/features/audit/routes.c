/* routes.c - the audit log of a tenant, and of the platform. */
#include "features/audit/routes.h"
#include "api/call.h"
#include "api/queries.h"
#include "features/access/registry.h"
#include "features/audit/audit.h"
#include "features/audit/entries.h"
#include "features/audit/shapes.h"

/* The chain that the path names. */
static int64_t chain_of(const struct api_call *call)
{
    return call->tenant == NULL ? AUDIT_PLATFORM : call->tenant->id;
}

static int list_audit(struct api_call *call, struct db *db, struct error *err)
{
    return audit_list(db, chain_of(call), call->query, call->arena, call->answer, err);
}

static int verify_audit(struct api_call *call, struct db *db, struct error *err)
{
    return audit_verify(db, chain_of(call), call->answer, err);
}

/* clang-format off */
const struct route audit_routes[] = {
    { ROUTE(GET, "/api/v1/tenants/{slug}/audit", ADMIN, 200), .read = list_audit, .params = &tenant_path_shape, .query = &audit_query_shape, .answer = &audit_page_shape,
      .summary = "Audit log of a tenant, newest first" },
    { ROUTE(GET, "/api/v1/tenants/{slug}/audit/verify", ADMIN, 200), .read = verify_audit, .params = &tenant_path_shape, .answer = &audit_verdict_shape,
      .summary = "Is the audit log of a tenant as it was written" },
    { ROUTE(GET, "/api/v1/platform/audit", PLATFORM, 200), .read = list_audit, .query = &audit_query_shape, .answer = &audit_page_shape,
      .summary = "Audit log of the platform, newest first" },
    { ROUTE(GET, "/api/v1/platform/audit/verify", PLATFORM, 200), .read = verify_audit, .answer = &audit_verdict_shape,
      .summary = "Is the audit log of the platform as it was written" },
    { 0 },
};
/* clang-format on */
